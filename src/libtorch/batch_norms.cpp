// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/batch_norms.hpp"

#include <torch/nn/modules/batchnorm.h>

#include "tandem/core/check.hpp"

#include "libtorch/sync_marks.hpp"

namespace tandem::libtorch {
namespace {

/// Calls f(norm) if the module is a batch norm. @return whether it is one
template <class F>
bool visit(torch::nn::Module& module, const F& f) {
  const auto try_as = [&](auto* norm) {
    if (norm != nullptr) f(*norm);
    return norm != nullptr;
  };
  return try_as(module.as<torch::nn::BatchNorm1dImpl>()) ||
         try_as(module.as<torch::nn::BatchNorm2dImpl>()) ||
         try_as(module.as<torch::nn::BatchNorm3dImpl>());
}

}  // namespace

bool is_batch_norm(torch::nn::Module& module) {
  return visit(module, [](const auto&) {});
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
    if (norm.running_mean.is_same(running_mean)) return &norm;
  return nullptr;
}

void BatchNorms::begin() {
  for (const Part& part : parts_) {
    visit(*part.module, [&](auto& norm) {
      if (!norm.is_training() || !norm.running_mean.defined()) return;
      training_.push_back(
          {norm.running_mean, norm.num_batches_tracked, norm.options.momentum(), part.sync});
      norm.eval();
      disguised_.push_back(&norm);
    });
  }
}

void BatchNorms::end() {
  for (torch::nn::Module* norm : disguised_)
    norm->train();
  disguised_.clear();
  training_.clear();
}

}  // namespace tandem::libtorch
