// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace tandem::libtorch {

/// While one lives, what PyTorch does on the calling thread is tandem's own work, of which tandem
/// itself tells observers.
class OwnCall {
 public:
  OwnCall() noexcept : before_(std::exchange(is_under_way_, true)) {}
  ~OwnCall() { is_under_way_ = before_; }
  OwnCall(const OwnCall&) = delete;
  OwnCall& operator=(const OwnCall&) = delete;

  static bool is_under_way() noexcept { return is_under_way_; }

 private:
  inline static thread_local bool is_under_way_ = false;
  bool before_;
};

}  // namespace tandem::libtorch
