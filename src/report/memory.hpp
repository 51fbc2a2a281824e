// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tandem/profile/memory_profile.hpp"

#include "report/recording.hpp"

namespace tandem::report {

/// What is known of a device besides its memory.
struct MemoryNote {
  std::optional<std::int64_t> rows = std::nullopt;  ///< of a batch
  std::optional<std::size_t> planned_bytes = std::nullopt;
};

/// For each device its peak by cause as bars, and its largest owners; then how unequal they are,
/// and what helps.
///
/// @param notes  of the devices, in their order; fewer: nothing is known of the others.
std::string text(const profile::MemoryProfile& memory,
                 const std::vector<MemoryNote>& notes,
                 const Remedies& remedies);
/// The same devices as JSON: peaks by category, phase and owner, and what is held at the end.
nlohmann::json to_json(const profile::MemoryProfile& memory);

}  // namespace tandem::report
