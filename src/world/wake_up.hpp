// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/io/file.hpp"

namespace tandem::world {

/// What ends the wait of a thread that polls descriptors: its own is readable from call() on.
///
/// call() may be used from any thread.
class WakeUp {
 public:
  /// @param who  what the error says: "store".
  /// @throws CommError  the system has no descriptor left.
  explicit WakeUp(const char* who);

  int fd() const noexcept { return fd_.get(); }
  void call() const noexcept;

 private:
  tandem::detail::Descriptor fd_;
};

}  // namespace tandem::world
