// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/update/own_update.hpp"

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/runtime.hpp"

#include "libtorch/device/device_memory.hpp"

namespace tandem::libtorch {
namespace {

/// What was allocated for the update and is still there is state.
void keep_state(LogicalDevice& device) {
  constexpr auto kWorkspace = static_cast<std::size_t>(Category::workspace);
  if (device.memory_stats().by_category[kWorkspace] == 0) return;
  for (const Holding& h : device.holdings()) {
    if (h.category != Category::workspace) continue;
    if (Buffer* block = buffer_at(h.data)) block->recategorise(Category::optimizer);
  }
}

/// The step, with the devices' OutOfMemory in place of PyTorch's.
void run_step(Device first, const std::function<void()>& step) {
  try {
    step();
  } catch (const c10::OutOfMemoryError& e) {
    throw_out_of_memory(first, e);
  }
}

void run_at(Device first, ParameterPlace place, const std::function<void()>& step) {
  const ContextScope scope([](Context& c) {
    c.phase = Phase::update;
    c.category = Category::workspace;
  });
  LogicalDevice& device = logical_device(first);
  if (place == ParameterPlace::device) {  // each kernel is a piece of work
    run_step(first, step);
    return keep_state(device);
  }
  const Work work{.kind = Work::Kind::optimizer, .name = "optimizer"};
  const tandem::detail::WorkScope one(device.stream(), work);
  step();
}

}  // namespace

void run_own_update(const parallel::Replica& first,
                    ParameterPlace place,
                    const std::function<void()>& step) {
  try {
    run_at(first.device, place, step);
  } catch (...) {
    throw parallel::ReplicaError(
        first.device,
        first.index,
        first.rows,
        Phase::update,
        "PyTorch's optimizer failed, so that its update may be made in part; restore a "
        "checkpoint: " +
            describe(std::current_exception()),
        {});
  }
}

}  // namespace tandem::libtorch
