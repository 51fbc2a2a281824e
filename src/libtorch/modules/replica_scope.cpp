// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/modules/replica_scope.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include <ATen/autocast_mode.h>

#include "tandem/core/check.hpp"
#include "tandem/libtorch/detail/torch_device.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/access.hpp"

#include "libtorch/modules/module_changes.hpp"

namespace tandem::libtorch {
namespace {

thread_local const ReplicaScope* current_scope = nullptr;

/// PyTorch sets OpenMP's number when a thread asks for it the first time: before tandem does.
int after_first_use(int threads) {
  at::get_num_threads();
  return threads;
}

/// How often PyTorch has counted a write to each of the copy's buffers.
std::vector<std::uint32_t> buffer_versions(const TorchSource& source) {
  std::vector<std::uint32_t> versions;
  for (const TorchSource::Slot& slot : source.slots())
    if (slot.kind == nn::TensorKind::buffer) versions.push_back(version_of(slot.copy));
  return versions;
}

}  // namespace

std::uint64_t CallerState::count() noexcept {
  static std::atomic<std::uint64_t> calls{0};
  return ++calls;
}

CallerState CallerState::of_host() {
  namespace autocast = at::autocast;
  const bool follows =
      autocast::is_autocast_enabled(at::kCPU) && !autocast::is_autocast_enabled(at::kPrivateUse1);
  if (!follows) return {};
  const at::ScalarType before = autocast::get_autocast_dtype(at::kPrivateUse1);
  autocast::set_autocast_dtype(at::kPrivateUse1, autocast::get_autocast_dtype(at::kCPU));
  autocast::set_autocast_enabled(at::kPrivateUse1, true);
  CallerState of_replicas;
  autocast::set_autocast_enabled(at::kPrivateUse1, false);
  autocast::set_autocast_dtype(at::kPrivateUse1, before);
  return of_replicas;
}

ThreadLimit::ThreadLimit(int threads) : threads_(after_first_use(threads)) {}

ReplicaScope::ReplicaScope(std::shared_ptr<TorchSource> source, const CallerState& caller)
    : source_(std::move(source)),
      state_(std::in_place, caller.state),
      streams_(std::in_place, streams_for(source_->device(), caller.streams)),
      device_(torch_device(source_->device())),
      trains_(source_->is_training()),
      buffers_before_(buffer_versions(*source_)),
      batch_norms_(source_->ops().batch_norms),
      threads_(std::in_place, std::min(caller.threads, context().threads)),
      module_([&](Context& c) { c.module_path = source_->class_name(); }),
      before_(current_scope) {
  if (const auto& frame = context().frame; frame != nullptr) frame->call = caller.call;
  await_tensors(*source_);
  current_scope = this;  // last, since a scope that fails to begin does not end
}

ReplicaScope::ReplicaScope(std::shared_ptr<TorchSource> source)
    : source_(std::move(source)),
      device_(torch_device(source_->device())),
      trains_(source_->is_training()),
      buffers_before_(buffer_versions(*source_)),
      batch_norms_(source_->ops().batch_norms),
      module_([](Context&) {}),
      before_(current_scope) {
  current_scope = this;
}

ReplicaScope::~ReplicaScope() {
  current_scope = before_;
  auto before = buffers_before_.begin();
  for (const TorchSource::Slot& slot : source_->slots()) {
    if (slot.kind != nn::TensorKind::buffer) continue;
    if (version_of(slot.copy) != *before++ || trains_) count_write(slot.shown);
  }
}

const ReplicaScope& ReplicaScope::current() {
  TANDEM_CHECK(current_scope != nullptr,
               "DataParallel: the loss of a replica is recorded outside of a step's loss function");
  return *current_scope;
}

const ReplicaScope* ReplicaScope::find() noexcept {
  return current_scope;
}

void await_tensors(const TorchSource& source) {
  for (const TorchSource::Slot& slot : source.slots()) {
    Transits& transits = slot.shown.buffer().transits();
    if (!transits.any()) continue;
    const auto [begin, end] = byte_range(slot.shown);
    transits.await(begin, end, Direction::read_write);
  }
}

}  // namespace tandem::libtorch
