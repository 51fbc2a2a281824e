// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/gpu_links.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "tandem/config.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/gpu/gpu_backend.hpp"

namespace tandem::comm {
namespace {

/// Says once that data goes through the host.
void tell_of_far_gpus(int gpu, int other) {
  static std::atomic_flag told;
  if (told.test_and_set()) return;
  std::fprintf(stderr,
               "tandem: GPUs %d and %d do not reach each other's memory, so collectives copy "
               "through the host; %s\n",
               gpu,
               other,
               has_nccl ? "backend nccl may be faster" : "a build with NCCL may be faster");
}

}  // namespace

const LogicalDevice& GpuLinks::device(int rank) const {
  return logical_device(ranks_.device(rank));
}

Stream& GpuLinks::side_stream(int rank) const {
  return logical_device(ranks_.device(rank)).side_stream();
}

int GpuLinks::gpu_of(int rank) const {
  return device(rank).gpu()->ordinal();
}

bool GpuLinks::reaches(int rank, int other) const {
  return gpu_backend().peers(gpu_of(rank), gpu_of(other));
}

bool GpuLinks::are_apart(const std::vector<int>& ranks) const {
  return std::ranges::none_of(ranks, [&](int rank) {
    return std::ranges::any_of(ranks,
                               [&](int other) { return other != rank && reaches(rank, other); });
  });
}

void GpuLinks::copy(
    const void* from, int from_rank, void* to, int to_rank, std::size_t nbytes) const {
  Stream& source = side_stream(from_rank);
  if (source.native()->cuda() != nullptr) tell_of_far_gpus(gpu_of(from_rank), gpu_of(to_rank));
  gpu_backend().copy_between(source, from, side_stream(to_rank), to, nbytes);
}

}  // namespace tandem::comm
