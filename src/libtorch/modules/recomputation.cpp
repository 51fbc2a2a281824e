// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/modules/recomputation.hpp"

#include <memory>
#include <mutex>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/engine.h>

#include "tandem/autograd/row_group.hpp"

#include "libtorch/device/backward_context.hpp"
#include "libtorch/device/call_generators.hpp"
#include "libtorch/modules/replica_scope.hpp"

namespace tandem::libtorch {
namespace {

/// A replica's job on a thread of PyTorch's engine, from one call of recompute_from to the next.
class Recomputation {
 public:
  explicit Recomputation(const ForwardPlace& place)
      : source_(place.source()), context_(place.in_backward()), scope_(place.source()) {}
  ~Recomputation() = default;
  Recomputation(const Recomputation&) = delete;
  Recomputation& operator=(const Recomputation&) = delete;

  /// What it has written to buffers comes to the module, as on one device; within a call the call
  /// sees to that.
  void keep_buffers() const {
    const auto& group = current_row_group();
    if (is_backward_outside_of_calls() && (group == nullptr || group->rank() == 0))
      source_->keep_buffers();
  }

 private:
  std::shared_ptr<TorchSource> source_;
  BackwardScope backward_;  // whose deadline and end the context takes over
  ContextScope context_;
  ReplicaScope scope_;
};

thread_local std::unique_ptr<Recomputation> current_recomputation;

bool is_in_backward() {
  return torch::autograd::get_current_graph_task_id() >= 0;
}

/// The host's generator as it was before threads of a backward began to compute again.
class HostGenerator {
 public:
  static HostGenerator& get() {
    static auto& generator = *new HostGenerator;
    return generator;
  }
  void enter() {
    const std::scoped_lock lock(mutex_);
    if (threads_++ == 0) before_ = state_of(at::detail::getDefaultCPUGenerator());
  }
  void leave() {
    const std::scoped_lock lock(mutex_);
    if (--threads_ == 0) set_state(at::detail::getDefaultCPUGenerator(), before_);
  }

 private:
  std::mutex mutex_;  // guards what follows
  int threads_ = 0;
  at::Tensor before_;
};

thread_local bool keeps_host_generator = false;

}  // namespace

std::shared_ptr<const ForwardPlace> ForwardPlace::current() {
  const ReplicaScope* const scope = ReplicaScope::find();
  if (scope == nullptr) {
    if (is_in_backward() && !std::exchange(keeps_host_generator, true))
      HostGenerator::get().enter();
    return nullptr;
  }
  return std::make_shared<const ForwardPlace>(scope->source(), share_context());
}

ForwardPlace::ForwardPlace(std::shared_ptr<TorchSource> source,
                           std::shared_ptr<const Context> context)
    : source_(std::move(source)), context_(std::move(context)) {
  if (context_->frame != nullptr) frame_ = *context_->frame;
}

std::shared_ptr<const Context> ForwardPlace::in_backward() const {
  const auto context = forward_in_backward(*context_);
  context->frame = std::make_shared<ForwardFrame>(frame_);
  return context;
}

void recompute_from(const std::shared_ptr<const ForwardPlace>& place) {
  if (const auto ended = std::move(current_recomputation)) ended->keep_buffers();
  if (place != nullptr && is_in_backward())
    current_recomputation = std::make_unique<Recomputation>(*place);
  if (place == nullptr && std::exchange(keeps_host_generator, false)) HostGenerator::get().leave();
}

}  // namespace tandem::libtorch
