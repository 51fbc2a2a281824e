// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/device/module_source.hpp"

#include "tandem/core/check.hpp"
#include "tandem/nn/batch_norm.hpp"
#include "tandem/nn/replicate.hpp"

#include "parallel/replicas/device/check_unwrapped.hpp"

namespace tandem::parallel {

std::vector<Tensor> ModuleSource::equal_buffers() {
  std::vector<Tensor> buffers;
  for (nn::Module* part : module_.modules()) {
    const auto* norm = dynamic_cast<const nn::BatchNorm*>(part);
    if (norm == nullptr || norm->options().sync == BatchNormSync::per_replica) continue;
    for (const Tensor& x : {norm->running_mean, norm->running_var, norm->num_batches_tracked})
      if (x.defined()) buffers.push_back(x);
  }
  return buffers;
}

void ModuleSource::check_unwrapped() {
  parallel::check_unwrapped(
      module_,
      {"DataParallel",
       "use that DataParallel, or destroy it and the results of its calls first",
       "Wrap a clone (nn::clone), or destroy that DataParallel and the results of its calls "
       "first"});
}

void ModuleSource::mark_wrapped(const std::shared_ptr<const void>& wrapper) {
  for (nn::Module* part : module_.modules())
    nn::detail::Wrapping::mark(*part, wrapper);
}

void ModuleSource::follow(ReplicaSource& original) {
  const std::vector<nn::Module*> own = dynamic_cast<ModuleSource&>(original).module_.modules();
  const std::vector<nn::Module*> copy = module_.modules();
  TANDEM_CHECK(copy.size() == own.size(),
               "DataParallel: the module had ",
               copy.size(),
               " parts when it was wrapped, but now has ",
               own.size(),
               "; destroy this DataParallel and wrap the module again");
  for (std::size_t i = 0; i < own.size(); ++i)
    nn::detail::Wrapping::follow(*copy[i], *own[i]);
}

}  // namespace tandem::parallel
