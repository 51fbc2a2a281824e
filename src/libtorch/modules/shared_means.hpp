// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_map>

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

namespace tandem::libtorch {

/// The running means of batch norms, in replicas, whose statistics are those of the whole batch: by
/// them such a batch norm is known where no replica is, as in a backward.
///
/// Thread-safe. Lives until the process ends.
class SharedMeans {
 public:
  static SharedMeans& get() {
    static SharedMeans& all = *new SharedMeans;
    return all;
  }
  /// A forward has used it, with statistics of the whole batch or of its own rows.
  void note(const at::Tensor& mean, bool is_shared) {
    const std::scoped_lock lock(mutex_);
    if (!is_shared) {
      known_.erase(mean.unsafeGetTensorImpl());
      return;
    }
    known_.try_emplace(mean.unsafeGetTensorImpl(), mean.getIntrusivePtr());
    if (known_.size() < 2 * kept_ + kFew) return;
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    kept_ = known_.size();
  }
  bool has(const at::Tensor& mean) {
    const std::scoped_lock lock(mutex_);
    return known_.contains(mean.unsafeGetTensorImpl());
  }

 private:
  using Impl = c10::TensorImpl;
  static constexpr std::size_t kFew = 256;

  std::mutex mutex_;  // guards what follows
  /// A weak pointer keeps the address from being another tensor's.
  std::unordered_map<const Impl*, c10::weak_intrusive_ptr<Impl, c10::UndefinedTensorImpl>> known_;
  std::size_t kept_ = 0;  // when it was last looked through
};

}  // namespace tandem::libtorch
