// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/device/backward_context.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <torch/csrc/autograd/graph_task.h>

#include "tandem/runtime/runtime.hpp"

#include "libtorch/versions/torch_differences.hpp"

namespace tandem::libtorch {
namespace {

constexpr std::string_view kSlotName = "tandem's context";
constexpr c10::DebugInfoKind kSlot = debug_info_kind(&kSlotName);

struct Carried final : c10::DebugInfoBase {
  std::shared_ptr<const Context> context = share_context();
};

/// The context of a backward that no call of a wrapper has begun. Lives until the process ends.
const std::shared_ptr<const Context>& outside_of_calls() {
  static const auto& context = *[] {
    auto made = std::make_shared<Context>();
    made->phase = Phase::backward;
    made->module_path = std::make_shared<const std::string>("autograd");
    return new std::shared_ptr<const Context>(std::move(made));
  }();
  return context;
}

/// The engine's record of the backward that the thread works for; null: none. The engine shows one
/// member of it, from whose place the others follow: PyTorch's header has them all.
const torch::autograd::GraphTask* current_task() {
  using torch::autograd::GraphTask;
  const auto* const member = torch::autograd::get_current_graph_task_exec_info();
  if (member == nullptr) return nullptr;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // its compilers have it for any class
  constexpr std::size_t kPlace = offsetof(GraphTask, exec_info_);
#pragma GCC diagnostic pop
  return reinterpret_cast<const GraphTask*>(reinterpret_cast<const std::byte*>(member) - kPlace);
}

/// Null: the thread's own.
std::shared_ptr<const Context> context_of_backward() {
  if (torch::autograd::get_current_graph_task_id() < 0) return nullptr;
  const bool is_own = context().phase != Phase::none;
  const bool is_observed = Runtime::instance().observers() != nullptr;
  if (is_own && !is_observed) return nullptr;
  std::shared_ptr<const Context> base;
  if (is_own)
    base = share_context();
  else if (const auto* carried = c10::ThreadLocalDebugInfo::get(kSlot))
    base = static_cast<const Carried*>(carried)->context;
  else
    base = outside_of_calls();
  if (!is_observed) return base;
  const auto node = torch::autograd::get_current_node();
  if (node == nullptr) return base;  // it adds up what several nodes have given
  auto named = std::make_shared<Context>(*base);
  named->module_path = std::make_shared<const std::string>(node->name());
  return named;
}

}  // namespace

CarriedContext::CarriedContext() : guard_(kSlot, std::make_shared<Carried>()) {}

BackwardScope::BackwardScope() {
  if (auto context = context_of_backward()) scope_.emplace(std::move(context));
}

std::shared_ptr<Context> forward_in_backward(const Context& forward) {
  const Context& now = context();
  auto c = std::make_shared<Context>(forward);
  c->deadline = now.deadline;
  c->abort = is_backward_outside_of_calls() ? abort_of_backward() : now.abort;
  c->phase = now.phase;
  return c;
}

bool is_backward_outside_of_calls() {
  return torch::autograd::get_current_graph_task_id() >= 0 &&
         c10::ThreadLocalDebugInfo::get(kSlot) == nullptr;
}

bool is_backward_within_backward() {
  const auto* const task = current_task();
  return task != nullptr && task->reentrant_depth_ > 0;
}

std::shared_ptr<const AbortToken> abort_of_backward() {
  const auto* const task = current_task();
  if (task == nullptr) return nullptr;
  return std::make_shared<AbortToken>(
      [kept = task->weak_from_this()] {
        const auto alive = kept.lock();
        return alive != nullptr && alive->future_completed_;  // not before all nodes, but by errors
      },
      "another node of this backward has failed");
}

}  // namespace tandem::libtorch
