// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/modules/batch_norms.hpp"

#include <torch/nn/modules/batchnorm.h>

#include "tandem/core/check.hpp"

#include "libtorch/modules/batch_norm_module.hpp"
#include "libtorch/modules/sync_marks.hpp"

namespace tandem::libtorch {
namespace {

template <class Norm>
std::optional<RunningState> state_as(const torch::nn::Module& module) {
  const auto* const norm = module.as<Norm>();
  if (norm == nullptr) return std::nullopt;
  return RunningState{norm->running_mean, norm->num_batches_tracked, norm->options.momentum()};
}

/// None if the module is not a batch norm.
std::optional<RunningState> running_state_of(const torch::nn::Module& module) {
  if (const auto* const norm = dynamic_cast<const BatchNormModule*>(&module))
    return norm->running_state();
  if (auto state = state_as<torch::nn::BatchNorm1dImpl>(module)) return state;
  if (auto state = state_as<torch::nn::BatchNorm2dImpl>(module)) return state;
  return state_as<torch::nn::BatchNorm3dImpl>(module);
}

}  // namespace

bool is_batch_norm(const torch::nn::Module& module) {
  return running_state_of(module).has_value();
}

std::vector<BatchNormSync> batch_norm_syncs(torch::nn::Module& module, BatchNormSync fallback) {
  std::vector<BatchNormSync> syncs;
  for (const auto& part : module.modules())
    if (is_batch_norm(*part)) syncs.push_back(SyncMarks::get().find(*part, fallback));
  return syncs;
}

BatchNorms::BatchNorms(torch::nn::Module& copy,
                       const std::vector<BatchNormSync>& syncs,
                       BatchNormSync fallback)
    : fallback_(fallback) {
  for (const auto& item : copy.named_modules("", /*include_self=*/true)) {
    if (!is_batch_norm(*item.value())) continue;
    const std::size_t next = parts_.size();
    const BatchNormSync sync = next < syncs.size() ? syncs[next] : fallback;
    parts_.push_back({item.value().get(), sync});
    if (sync == BatchNormSync::per_replica) continue;
    for (const auto& buffer : item.value()->named_buffers(/*recurse=*/false))
      equal_buffers_.push_back(item.key().empty() ? buffer.key() : item.key() + "." + buffer.key());
  }
  TANDEM_CHECK(parts_.size() == syncs.size(),
               "DataParallel: the module has ",
               syncs.size(),
               " batch norms, but its copy has ",
               parts_.size(),
               "; let clone() or .make give the same parts");
}

const BatchNorms::Training* BatchNorms::find(const at::Tensor& running_mean) const {
  for (const Training& norm : training_)
    if (norm.running.mean.is_same(running_mean)) return &norm;
  return nullptr;
}

void BatchNorms::begin() {
  for (const Part& part : parts_) {
    if (!part.module->is_training()) continue;
    RunningState running = *running_state_of(*part.module);
    if (!running.mean.defined()) continue;
    training_.push_back({std::move(running), part.sync});
    part.module->eval();
    disguised_.push_back(part.module);
  }
}

void BatchNorms::end() {
  for (torch::nn::Module* norm : disguised_)
    norm->train();
  disguised_.clear();
  training_.clear();
}

}  // namespace tandem::libtorch
