// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/nn/module.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

struct ParallelApplyOptions {
  std::chrono::milliseconds deadline = std::chrono::minutes(5);
};

namespace detail {

/// Runs `job(i)` on the thread of devices[i], all at once, in the caller's context as replica i.
///
/// @throws ReplicaError  jobs failed: the first error, with the others attached; all jobs have
///                       ended.
/// @throws Timeout       a job did not end before the deadline; it is named, and may still run.
void run_on_devices(std::span<const Device> devices,
                    std::function<void(int)> job,
                    ParallelApplyOptions options);

}  // namespace detail

/// Calls each module with its own arguments on the thread of its device, all at once
/// (torch.nn.parallel.parallel_apply).
///
/// Grad mode and the rest of the context are the caller's. A device may be listed twice: its calls
/// run one after the other. Each module draws its own random numbers, the same in every run.
/// @param modules  not null; module i is on devices[i], and each module is listed only once.
/// @param inputs   one tuple of arguments per module, on its device.
/// @return the modules' results, in their order.
/// @throws InvalidArgument  the numbers of modules, inputs and devices differ.
/// @throws ReplicaError, Timeout
template <std::derived_from<nn::Module> M, class... Args>
auto parallel_apply(const std::vector<M*>& modules,
                    const std::vector<std::tuple<Args...>>& inputs,
                    const std::vector<Device>& devices,
                    ParallelApplyOptions options = {}) {
  using Output = std::decay_t<decltype(std::apply(*modules[0], inputs[0]))>;
  TANDEM_CHECK(modules.size() == inputs.size() && modules.size() == devices.size(),
               "parallel_apply: got ",
               modules.size(),
               " modules, ",
               inputs.size(),
               " inputs and ",
               devices.size(),
               " devices; give the same number of each");
  // Shared with the jobs, because a job that hangs outlives this call.
  const auto outputs = std::make_shared<std::vector<std::optional<Output>>>(modules.size());
  detail::run_on_devices(
      devices,
      [modules, inputs, outputs](int i) {
        const auto at = static_cast<std::size_t>(i);
        (*outputs)[at] = std::apply(*modules[at], inputs[at]);
      },
      options);
  std::vector<Output> results;
  for (std::optional<Output>& output : *outputs)
    results.push_back(std::move(*output));
  return results;
}

}  // namespace tandem::parallel
