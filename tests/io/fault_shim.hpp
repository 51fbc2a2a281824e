// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tandem::testing {

/// While it lives, the `nth` call (from 1) of the system's `call` fails with `code`; one thread at
/// a time.
///
/// Calls: "open", "write", "fsync", "rename", "renameat2". A `code` of 0 makes a write take half of
/// its bytes only.
class FaultShim {
 public:
  FaultShim(const std::string& call, int nth, int code);
  ~FaultShim();
  FaultShim(const FaultShim&) = delete;
  FaultShim& operator=(const FaultShim&) = delete;

  /// The fault has happened.
  bool fired() const;
  /// The calls since the start, in order.
  const std::vector<std::string>& journal() const;
};

}  // namespace tandem::testing
