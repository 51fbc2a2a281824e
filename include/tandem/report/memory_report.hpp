// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "tandem/profile/memory_profile.hpp"

/// What programs print of a profile: the component report of tandem's package, which is a library
/// of its own (tandem::report).
namespace tandem::report {

/// Why devices are full: `std::cout << report::MemoryReport(memory).text();`
class MemoryReport {
 public:
  explicit MemoryReport(profile::MemoryProfile memory) : memory_(std::move(memory)) {}

  /// For a terminal: of each device its peak by cause as bars, and its largest owners; then how
  /// unequal the devices are, and what helps.
  std::string text() const;
  /// The same as one JSON object with a "schema_version": peaks by category, phase and owner, and
  /// what is held at the end.
  std::string json() const;
  /// A page that needs nothing else, for a file that a browser opens: pictures of the peaks, and of
  /// the memory through the record.
  std::string html() const;

 private:
  profile::MemoryProfile memory_;
};

}  // namespace tandem::report
