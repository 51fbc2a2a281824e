// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/ranks/unchanged_module.hpp"

#include <string>
#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::parallel {
namespace {

constexpr const char* kWrapAClone =
    ", but the ranks' shares are laid out for the module as it was; in unsharded, make a clone of "
    "it (nn::clone), change that, and wrap it";

}  // namespace

UnchangedModule::UnchangedModule(ReplicaSource& module,
                                 std::shared_ptr<const optim::Arena> parameters)
    : module_(module), parameters_(std::move(parameters)) {
  for (const std::size_t p : parameters_->layout().place_indices())
    trained_.push_back(parameters_->tensor(p).requires_grad());
}

void UnchangedModule::check() const {
  std::vector<bool> seen(trained_.size());
  module_.visit_tensors([&](const std::string& name, Tensor& x, nn::TensorKind kind) {
    if (kind != nn::TensorKind::parameter) return;
    const auto place = parameters_->place_of(x);
    TANDEM_CHECK(place.has_value(),
                 "FullyShardedDataParallel: '",
                 name,
                 "' was added, replaced, resized or moved after wrapping",
                 kWrapAClone);
    TANDEM_CHECK(trained_[*place] || !x.requires_grad(),
                 "FullyShardedDataParallel: '",
                 name,
                 "' was frozen when it was wrapped, and requires a gradient now",
                 kWrapAClone);
    seen[*place] = true;
  });
  for (std::size_t p = 0; p < seen.size(); ++p)
    TANDEM_CHECK(seen[p],
                 "FullyShardedDataParallel: '",
                 parameters_->layout().places()[p].name,
                 "' was removed after wrapping",
                 kWrapAClone);
}

}  // namespace tandem::parallel
