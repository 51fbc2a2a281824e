// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/detail/module_copy.hpp"

#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn/module.h>

#include "tandem/core/check.hpp"

namespace tandem::libtorch::detail {
namespace {

/// What PyTorch says of a module whose class is not derived from Cloneable.
constexpr std::string_view kNotCloneable = "clone() has not been implemented";

/// Puts PyTorch's generator of the host back where it was.
class KeptDraws {
 public:
  KeptDraws() {
    const std::scoped_lock lock(host_.mutex());
    before_ = host_.get_state();
  }
  ~KeptDraws() {
    const std::scoped_lock lock(host_.mutex());
    host_.set_state(before_);
  }
  KeptDraws(const KeptDraws&) = delete;
  KeptDraws& operator=(const KeptDraws&) = delete;

 private:
  at::Generator host_ = at::detail::getDefaultCPUGenerator();
  at::Tensor before_;
};

}  // namespace

std::shared_ptr<torch::nn::Module> try_clone(const torch::nn::Module& module) {
  try {
    return module.clone();
  } catch (const c10::Error& e) {
    const std::string text = e.what_without_backtrace();
    if (text.find(kNotCloneable) != std::string::npos) return nullptr;
    throw InvalidArgument("DataParallel: " + module.name() + " cannot be cloned: " + text);
  }
}

MakeModule without_draws(MakeModule make) {
  return [make = std::move(make)] {
    const KeptDraws kept;
    return make();
  };
}

void copy_mode(const torch::nn::Module& module, const torch::nn::Module& copy) {
  const auto parts = module.modules(), copied = copy.modules();
  TANDEM_CHECK(parts.size() == copied.size(),
               module.name(),
               " has ",
               parts.size(),
               " parts, but its copy has ",
               copied.size(),
               "; let clone() or .make register the same ones");
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i]->is_training() != copied[i]->is_training())
      copied[i]->train(parts[i]->is_training());
}

bool has_parts_of(const torch::nn::Module& made, const torch::nn::Module& module) {
  return made.children().size() == module.children().size();
}

void refuse_copy(const torch::nn::Module& module) {
  throw InvalidArgument(
      "DataParallel: " + module.name() +
      " is not derived from torch::nn::Cloneable, or a part of it is not, and it has no "
      "constructor without arguments that gives its parts; say how to make a copy: DataParallel "
      "dp(net, options, "
      "{.make = [] { return std::make_shared<Net>(config); }})");
}

}  // namespace tandem::libtorch::detail
