// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/detail/shared_update.hpp"

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include <torch/optim/optimizer.h>

#include "tandem/core/check.hpp"

#include "libtorch/optimizer_rules.hpp"

namespace tandem::libtorch::detail {

struct SharedUpdate::Attached {
  std::weak_ptr<TorchReplicas> replicas;
  std::uint64_t generation = 0;
  const OptimizerRule& rule;
  std::vector<UpdatedParameter> parameters;
  std::unique_ptr<optim::Optimizer> update;

  /// Whether the update is for the tensors that the replicas have now.
  bool is_for(const TorchReplicas& wanted) const {
    return replicas.lock().get() == &wanted && wanted.generation() == generation;
  }
  void read_options(torch::optim::Optimizer& user) const {
    for (std::size_t g = 0; g < user.param_groups().size(); ++g)
      for (const auto& [name, value] : rule.options(user.param_groups()[g]))
        update->param_groups()[g].set(name, value);
  }
  void store(torch::optim::Optimizer& user) const {
    const optim::OptimizerState state = update->state_dict();
    for (const UpdatedParameter& parameter : parameters) {
      auto& states = user.state();
      void* const key = parameter.own.unsafeGetTensorImpl();
      if (auto own = rule.write(state, parameter))
        states[key] = std::move(own);
      else
        states.erase(key);
    }
  }
  void restore(torch::optim::Optimizer& user) const {
    optim::OptimizerState state = update->state_dict();
    state.tensors.clear();
    std::erase_if(state.numbers, [](const auto& entry) { return entry.first.ends_with(".step"); });
    for (const UpdatedParameter& parameter : parameters) {
      const auto own = user.state().find(parameter.own.unsafeGetTensorImpl());
      if (own != user.state().end()) rule.read(*own->second, parameter, state);
    }
    update->load_state_dict(state);
  }
};

SharedUpdate::SharedUpdate() = default;
SharedUpdate::~SharedUpdate() = default;

optim::Optimizer& SharedUpdate::attach(const std::shared_ptr<TorchReplicas>& replicas,
                                       torch::optim::Optimizer& user,
                                       const std::type_info& rule) {
  if (attached_ == nullptr || !attached_->is_for(*replicas)) {
    store(user);
    auto attached = std::make_unique<Attached>(
        Attached{replicas, replicas->generation(), OptimizerRule::of(rule), {}, nullptr});
    std::vector<optim::GroupSpec> groups;
    std::unordered_set<const c10::TensorImpl*> seen;
    for (const auto& group : user.param_groups()) {
      std::vector<optim::NamedParameter> named;
      for (const at::Tensor& x : group.params()) {
        auto shown = replicas->find_parameter(x);
        TANDEM_CHECK(shown.has_value(),
                     "Optimizer: parameter ",
                     attached->parameters.size(),
                     ", which is ",
                     x.toString(),
                     " of ",
                     x.numel(),
                     " elements, is not one of the wrapped module's; give an optimizer of "
                     "PyTorch for the others");
        TANDEM_CHECK(x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble,
                     "Optimizer: '",
                     shown->name,
                     "' is ",
                     x.scalar_type(),
                     ", but devices share updates of f32 and f64; use the optimizer of PyTorch "
                     "itself, or keep parameters in f32 under autocast");
        const bool is_new = seen.insert(x.unsafeGetTensorImpl()).second;
        TANDEM_CHECK(is_new,
                     "Optimizer: '",
                     shown->name,
                     "' is listed twice, so that PyTorch's own would update it twice in a step; "
                     "list a tied parameter once");
        attached->parameters.push_back({x, *shown});
        named.push_back(*std::move(shown));
      }
      groups.push_back({std::move(named), attached->rule.options(group)});
    }
    attached->update = attached->rule.make(groups);
    attached->restore(user);
    attached_ = std::move(attached);
  }
  attached_->read_options(user);
  return *attached_->update;
}

bool SharedUpdate::is_attached(torch::optim::Optimizer& user) {
  if (attached_ == nullptr) return false;
  if (!attached_->replicas.expired()) return true;
  store(user);
  attached_.reset();
  return false;
}

void SharedUpdate::step(torch::optim::Optimizer& user, const std::type_info& rule) {
  const auto replicas = attached_->replicas.lock();
  replicas->update([&]() -> optim::Optimizer& { return attach(replicas, user, rule); });
}

void SharedUpdate::store(torch::optim::Optimizer& user) const {
  if (attached_ != nullptr) attached_->store(user);
}

void SharedUpdate::restore(torch::optim::Optimizer& user) {
  if (attached_ == nullptr) return;
  attached_->restore(user);
  attached_->read_options(user);
}

}  // namespace tandem::libtorch::detail
