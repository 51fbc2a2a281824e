// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/modules/sync_marks.hpp"

namespace tandem::libtorch {

SyncMarks& SyncMarks::get() {
  static SyncMarks& all = *new SyncMarks;
  return all;
}

void SyncMarks::set(const std::shared_ptr<torch::nn::Module>& module, BatchNormSync sync) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(marks_, [](const auto& entry) { return entry.second.module.expired(); });
  marks_[module.get()] = {module, sync};
}

BatchNormSync SyncMarks::find(const torch::nn::Module& module, BatchNormSync fallback) {
  const std::scoped_lock lock(mutex_);
  const auto found = marks_.find(&module);
  const bool is_marked = found != marks_.end() && !found->second.module.expired();
  return is_marked ? found->second.sync : fallback;
}

}  // namespace tandem::libtorch
