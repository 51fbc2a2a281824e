// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/wake_up.hpp"

#include <cstdint>
#include <string>

#include <sys/eventfd.h>
#include <unistd.h>

#include "tandem/core/error.hpp"

namespace tandem::world {

WakeUp::WakeUp(const char* who) : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_.get() < 0)
    throw CommError(std::string(who) + ": the system has no descriptor left; close some");
}

void WakeUp::call() const noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(fd_.get(), &one, sizeof one));
}

}  // namespace tandem::world
