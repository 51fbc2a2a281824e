// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/options/check_options.hpp"

#include <algorithm>
#include <string>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/world/world.hpp"

#include "comm/group.hpp"
#include "parallel/update/mode_rules.hpp"
#include "runtime/gpu/step_memory.hpp"

namespace tandem::parallel {
namespace {

/// Steps without effect would have to be taken by all processes.
void check_processes(const ChunkPolicy& policy, const DataParallelOptions& options) {
  if (options.world == nullptr || options.world->size() == 1) return;
  TANDEM_CHECK(!policy.wants_model() && options.on_oom == OnOutOfMemory::error,
               "DataParallel: chunks are planned for one process, and ",
               options.world->size(),
               " train together; give chunk sizes, and leave out planned chunks and on_oom = "
               "replan");
  TANDEM_CHECK(
      options.bitwise_leaves == 0,
      "DataParallel: bitwise_leaves gives the same bits on any devices of one process, and ",
      options.world->size(),
      " train together; leave it at 0");
}

void check_offload(const DataParallelOptions& options, const std::vector<Device>& devices) {
  if (!options.sharding.offload) return;
  TANDEM_CHECK(rules_of(options.mode).gathers_values() && devices.size() > 1,
               "DataParallel: offload to ",
               *options.sharding.offload,
               " is for ",
               modes_that(&ModeRules::gathers_values),
               " on several devices, and this is ",
               name(options.mode),
               " on ",
               devices.size(),
               "; leave it out, or change the mode");
  TANDEM_CHECK(std::ranges::find(devices, *options.sharding.offload) == devices.end(),
               "DataParallel: offload is ",
               *options.sharding.offload,
               ", which is one of the group's devices; give one outside of it, such as cpu:",
               devices.size() + 1);
}

void check_prefetch(const DataParallelOptions& options) {
  const std::size_t prefetch = options.sharding.prefetch.value_or(0);
  TANDEM_CHECK(prefetch == 0 || rules_of(options.mode).gathers_values(),
               "DataParallel: prefetch of ",
               prefetch,
               " units is for ",
               modes_that(&ModeRules::gathers_values),
               ", and this is ",
               name(options.mode),
               "; leave it out, or change the mode");
}

void check_whole_tensors(const DataParallelOptions& options) {
  TANDEM_CHECK(!options.sharding.whole_tensors || rules_of(options.mode).has_units(),
               "DataParallel: whole_tensors is for ",
               modes_that(&ModeRules::has_units),
               ", and this is ",
               name(options.mode),
               "; leave it out, or change the mode");
}

/// Plans are made of what each device's memory is seen to need.
void check_memory(const ChunkPolicy& policy,
                  const DataParallelOptions& options,
                  const std::vector<Device>& devices) {
  if (!policy.wants_model() && options.on_oom == OnOutOfMemory::error) return;
  for (const Device device : devices) {
    const LogicalDevice& own = logical_device(device);
    TANDEM_CHECK(!shares_other_memory(own),
                 "DataParallel: ",
                 policy.wants_model() ? "chunks are planned" : "on_oom is replan",
                 " by the memory of each device, but ",
                 device,
                 " shares GPU ",
                 own.gpu()->ordinal(),
                 " with other devices, and PyTorch's memory there is that of all; give each device "
                 "a GPU, or leave it out and give chunk sizes");
  }
}

void check_backend(const DataParallelOptions& options, const std::vector<Device>& devices) {
  if (options.backend != comm::Backend::nccl) return;
  const std::string refusal = comm::backend_refusal(devices, options.backend);
  TANDEM_CHECK(refusal.empty(), "DataParallel: backend is nccl: ", refusal);
}

}  // namespace

std::vector<Device> checked(std::vector<Device> devices, const DataParallelOptions& options) {
  const ChunkPolicy policy = chunk_policy(options);
  TANDEM_CHECK(options.accumulate >= 1,
               "DataParallel: accumulate is ",
               options.accumulate,
               "; a step needs one micro-batch or more");
  TANDEM_CHECK(options.bitwise_leaves >= 0,
               "DataParallel: bitwise_leaves is ",
               options.bitwise_leaves,
               "; it must be 0 (off) or the number of leaves");
  TANDEM_CHECK(
      options.bitwise_leaves == 0 ||
          (!policy.wants_model() && options.on_oom == OnOutOfMemory::error),
      "DataParallel: with bitwise_leaves a device runs one leaf after the other, so its number of "
      "rows does not determine its memory; leave out planned chunks and on_oom = replan");
  TANDEM_CHECK(options.checks.straggler_ratio >= 1,
               "DataParallel: straggler_ratio is ",
               options.checks.straggler_ratio,
               "; give 1 or more, as a straggler takes longer than the others");
  TANDEM_CHECK(options.checks.drift_every >= 0,
               "DataParallel: drift_every is ",
               options.checks.drift_every,
               "; give a number of steps, or 0 for never");
  check_processes(policy, options);
  check_offload(options, devices);
  check_prefetch(options);
  check_whole_tensors(options);
  // A policy for another number of devices is refused now, not at the first batch.
  policy.plan(0, devices);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto again =
        std::find(devices.begin() + static_cast<std::ptrdiff_t>(i) + 1, devices.end(), devices[i]);
    TANDEM_CHECK(again == devices.end(), "DataParallel: ", devices[i], " is listed twice");
  }
  check_memory(policy, options, devices);
  check_backend(options, devices);
  return devices;
}

}  // namespace tandem::parallel
