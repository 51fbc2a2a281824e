// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/device/check_unwrapped.hpp"

#include <string>

#include "tandem/core/check.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/optim/arena.hpp"

namespace tandem::parallel {

void check_unwrapped(nn::Module& module, const WrapperWords& words) {
  for (const nn::NamedModule& part : module.named_modules()) {
    TANDEM_CHECK(!nn::detail::Wrapping::is_wrapped(*part.module),
                 words.name,
                 ": ",
                 part.name.empty() ? "the module" : "'" + part.name + "'",
                 " (",
                 part.module->type_name(),
                 ") is already wrapped, or is a replica; ",
                 words.for_module);
  }
  // A plain copy is another module, but its tensors are the same ones.
  nn::visit_tensors(module, [&](const std::string& name, Tensor& x, nn::TensorKind) {
    const auto arena = optim::Arena::of(x);
    TANDEM_CHECK(arena == nullptr || !arena->is_claimed(),
                 words.name,
                 ": '",
                 name,
                 "' is a tensor of a module that is already wrapped; a plain copy of a module "
                 "shares its tensors. ",
                 words.for_a_tensor);
  });
}

}  // namespace tandem::parallel
