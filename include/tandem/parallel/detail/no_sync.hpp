// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace tandem::parallel {

/// Whether a backward reduces its gradients.
enum class GradientSync : std::uint8_t { on, off };

/// Until the end of the scope, gradients are accumulated on the device that makes them (no_sync of
/// DataParallel and DistributedDataParallel).
///
/// @tparam Replicas  has syncs() and set_syncs(GradientSync).
template <class Replicas>
class NoSync {
 public:
  explicit NoSync(std::shared_ptr<Replicas> replicas)
      : replicas_(std::move(replicas)), before_(replicas_->syncs()) {
    replicas_->set_syncs(GradientSync::off);
  }
  /// Moves the scope to the new object, so that `std::optional<NoSync<...>>` makes it conditional.
  NoSync(NoSync&& other) noexcept = default;
  NoSync& operator=(NoSync&&) = delete;
  ~NoSync() {
    if (replicas_ != nullptr) replicas_->set_syncs(before_);
  }

 private:
  std::shared_ptr<Replicas> replicas_;
  GradientSync before_;
};

}  // namespace tandem::parallel
