// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tandem::comm {

/// Why a group refuses calls. Each thread makes its own exception from it; none is shared.
struct Failure {
  enum class Kind : std::uint8_t { aborted, desync };
  Kind kind;
  std::string text;
  /// A rank has gone while an exception unwinds its stack. What that says is told in a moment, and
  /// is the better reason.
  bool is_provisional = false;

  /// @param what  the call that fails, for the text.
  /// @throws Desync, CommAborted
  [[noreturn]] void raise(const std::string& what) const;
};

}  // namespace tandem::comm
