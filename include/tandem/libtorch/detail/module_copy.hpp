// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <utility>

namespace torch::nn {
class Module;
}

namespace tandem::libtorch::detail {

/// Makes a module.
using MakeModule = std::function<std::shared_ptr<torch::nn::Module>()>;

/// Makes a copy by the module's clone(); null if it has none.
///
/// @throws InvalidArgument  clone() has failed for another reason.
std::shared_ptr<torch::nn::Module> try_clone(const torch::nn::Module& module);
/// Puts each part of a copy into training or evaluation, as the module's part is.
///
/// @throws InvalidArgument  the copy has more or fewer parts.
void copy_mode(const torch::nn::Module& module, const torch::nn::Module& copy);
/// Whether `made` has as many parts as `module`: a container's constructor gives none.
bool has_parts_of(const torch::nn::Module& made, const torch::nn::Module& module);
/// @throws InvalidArgument  always: names the module's class and the remedy.
[[noreturn]] void refuse_copy(const torch::nn::Module& module);

/// The same as `make`, but PyTorch's generator of the host is afterwards as it was before: what a
/// constructor draws for values that do not matter must not change the numbers of a program that is
/// wrapped.
MakeModule without_draws(MakeModule make);

/// What makes copies of `module` for the devices.
///
/// @param make  the user's way; null: clone(), else the constructor without arguments.
template <class M>
MakeModule copies_of(std::shared_ptr<M> module, std::function<std::shared_ptr<M>()> make) {
  if (make != nullptr) return without_draws(make);
  return without_draws([module = std::move(module)]() -> std::shared_ptr<torch::nn::Module> {
    if (auto copy = try_clone(*module)) return copy;
    if constexpr (std::default_initializable<M>) {
      auto made = std::make_shared<M>();
      if (has_parts_of(*made, *module)) return made;
    }
    refuse_copy(*module);
  });
}

}  // namespace tandem::libtorch::detail
