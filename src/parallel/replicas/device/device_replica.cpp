// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/device/device_replica.hpp"

#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradient_source.hpp"
#include "tandem/runtime/runtime.hpp"

#include "autograd/leaf_hooks.hpp"
#include "autograd/outside_tensors.hpp"
#include "parallel/replicas/device/module_source.hpp"

namespace tandem::parallel {

std::vector<std::uint64_t> block_versions(const optim::Arena& arena) {
  std::vector<std::uint64_t> versions;
  for (const Tensor& block : arena.params())
    versions.push_back(block.buffer().version());
  return versions;
}

DeviceReplica::DeviceReplica(int index, Device device, std::shared_ptr<ReplicaSource> source)
    : index_(index),
      device_(device),
      source_(std::move(source)),
      realm_(Runtime::instance().next_sequence() + 1) {
  hold_nothing();
  buffers = parameters_;
}

DeviceReplica::DeviceReplica(int index, Device device, nn::Module& module)
    : DeviceReplica(index, device, std::make_shared<ModuleSource>(module)) {}

void DeviceReplica::bind_parameters(std::shared_ptr<optim::Arena> parameters) {
  parameters_ = std::move(parameters);
  received.parameters.clear();
}

void DeviceReplica::reduce_by(std::shared_ptr<const std::vector<Bucket>> buckets,
                              Reduction reduction) {
  reducer_ = std::make_unique<BucketReducer>(parameters_, std::move(buckets), reduction);
}

void DeviceReplica::let_sleep(std::shared_ptr<SleepingBlocks> blocks) {
  reducer_->set_shares(*blocks);
  blocks_ = std::move(blocks);
}

void DeviceReplica::watch_gradients(const std::function<void()>& then) {
  watches_ = true;
  for (const std::size_t p : parameters_->layout().place_indices()) {
    const Tensor x = parameters_->tensor(p);
    if (!x.requires_grad()) continue;
    autograd::mark_realm(x, realm_);
    autograd::set_part_hook(x, [this, p, then](const Tensor&) {
      if (then) then();
      reducer_->on_gradient(p);
    });
  }
}

void DeviceReplica::unwatch_gradients() noexcept {
  if (!std::exchange(watches_, false)) return;
  for (const std::size_t p : parameters_->layout().place_indices())
    if (const Tensor x = parameters_->tensor(p); x.defined()) autograd::set_part_hook(x, nullptr);
}

void DeviceReplica::release_parameters() {
  unwatch_gradients();
  blocks_ = std::make_shared<AwakeBlocks>();
  hold_nothing();
}

void DeviceReplica::hold_nothing() {
  parameters_ = optim::Arena::none(device_);
  reduce_by(std::make_shared<const std::vector<Bucket>>(), {});
}

void DeviceReplica::arm(const BucketReducer::Groups& groups,
                        std::int64_t backwards,
                        GradientTally::Used used) {
  if (index_ != 0 && used == GradientTally::Used::fresh) drop_gradients();
  if (blocks_->may_sleep() && used == GradientTally::Used::fresh)
    blocks_->begin_backward(blocks_with_gradients());
  reducer_->arm(groups, backwards, used);
}

std::vector<std::uint8_t> DeviceReplica::blocks_with_gradients() const {
  const optim::ArenaLayout& layout = parameters_->layout();
  std::vector<std::uint8_t> has(layout.blocks().size());
  for (const std::size_t p : layout.place_indices())
    if (autograd::stored_gradient(parameters_->tensor(p)).defined())
      has[static_cast<std::size_t>(layout.places()[p].block)] = 1;
  return has;
}

void DeviceReplica::drop_gradients() const {
  for (const std::size_t p : parameters_->layout().place_indices())
    parameters_->tensor(p).set_grad({});
}

void DeviceReplica::disarm() noexcept {
  reducer_->disarm();
}

}  // namespace tandem::parallel
