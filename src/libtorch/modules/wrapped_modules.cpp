// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/modules/wrapped_modules.hpp"

#include <string>

#include <torch/nn/module.h>

#include "tandem/core/check.hpp"

namespace tandem::libtorch {

WrappedModules& WrappedModules::get() {
  static WrappedModules& all = *new WrappedModules;
  return all;
}

void WrappedModules::check(torch::nn::Module& module) {
  const std::scoped_lock lock(mutex_);
  for (const auto& part : module.named_modules("", /*include_self=*/true)) {
    const auto found = wrappers_.find(part.value().get());
    TANDEM_CHECK(found == wrappers_.end() || found->second.expired(),
                 "DataParallel: ",
                 part.key().empty() ? "the module" : "'" + part.key() + "'",
                 " (",
                 part.value()->name(),
                 ") is already wrapped, or is a replica; use that DataParallel, or destroy it and "
                 "the results of its calls first");
  }
}

void WrappedModules::mark(torch::nn::Module& module, const std::shared_ptr<const void>& wrapper) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(wrappers_, [](const auto& entry) { return entry.second.expired(); });
  for (const auto& part : module.modules())
    wrappers_[part.get()] = wrapper;
}

}  // namespace tandem::libtorch
