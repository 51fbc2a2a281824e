// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/detail/shared_update.hpp"

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"

#include "libtorch/gpu/caller_streams.hpp"
#include "libtorch/update/updated_parameter.hpp"

namespace tandem::libtorch::detail {

struct SharedUpdate::Attached {
  std::weak_ptr<TorchReplicas> replicas;
  std::uint64_t generation = 0;
  std::vector<UpdatedParameter> parameters;
  std::unique_ptr<optim::Optimizer> update;

  /// Whether the update is for the tensors that the replicas have now.
  bool is_for(const TorchReplicas& wanted) const {
    return replicas.lock().get() == &wanted && wanted.generation() == generation;
  }
  void read_options(const OptimizerView& user) const {
    const std::vector<OptimizerView::Group> groups = user.groups();
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (const auto& [name, value] : groups[g].options)
        update->param_groups()[g].set(name, value);
  }
  void store(OptimizerView& user) const {
    const optim::OptimizerState state = update->state_dict();
    for (const UpdatedParameter& parameter : parameters)
      user.write(state, parameter);
  }
  void restore(const OptimizerView& user) const {
    optim::OptimizerState state = update->state_dict();
    state.tensors.clear();
    std::erase_if(state.numbers,
                  [](const auto& entry) { return !entry.first.starts_with("param_groups."); });
    for (const UpdatedParameter& parameter : parameters)
      user.read(parameter, state);
    update->load_state_dict(state);
  }
};

SharedUpdate::SharedUpdate() = default;
SharedUpdate::~SharedUpdate() = default;

optim::Optimizer& SharedUpdate::attach(const std::shared_ptr<TorchReplicas>& replicas,
                                       OptimizerView& user) {
  if (attached_ == nullptr || !attached_->is_for(*replicas)) {
    store(user);
    auto attached =
        std::make_unique<Attached>(Attached{replicas, replicas->generation(), {}, nullptr});
    std::vector<optim::GroupSpec> specs;
    std::unordered_set<const c10::TensorImpl*> seen;
    for (const OptimizerView::Group& group : user.groups()) {
      std::vector<optim::NamedParameter> named;
      for (const at::Tensor& x : group.parameters) {
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
      specs.push_back({std::move(named), group.options});
    }
    attached->update = user.make(specs);
    attached->restore(user);
    attached_ = std::move(attached);
  }
  attached_->read_options(user);
  return *attached_->update;
}

bool SharedUpdate::is_attached(OptimizerView& user) {
  if (attached_ == nullptr) return false;
  if (!attached_->replicas.expired()) return true;
  store(user);
  attached_.reset();
  return false;
}

void SharedUpdate::step(OptimizerView& user) {
  const auto replicas = attached_->replicas.lock();
  replicas->update([&]() -> optim::Optimizer& { return attach(replicas, user); });
}

void SharedUpdate::store(OptimizerView& user) const {
  if (attached_ == nullptr) return;
  const auto replicas = attached_->replicas.lock();
  const CallerStreams streams(replicas != nullptr ? replicas->devices() : std::vector<Device>());
  attached_->store(user);
}

void SharedUpdate::restore(OptimizerView& user) {
  if (attached_ == nullptr) return;
  const auto replicas = attached_->replicas.lock();
  const CallerStreams streams(replicas != nullptr ? replicas->devices() : std::vector<Device>());
  attached_->restore(user);
  attached_->read_options(user);
}

}  // namespace tandem::libtorch::detail
