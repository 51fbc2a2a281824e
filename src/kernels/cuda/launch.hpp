// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tandem/runtime/stream.hpp"

#include "kernels/cuda/reduce_range.hpp"
#include "kernels/for_each.hpp"
#include "kernels/workspace.hpp"
#include "runtime/cuda/backend.hpp"

// How a functor becomes a CUDA kernel: the two ways that all .cu files of kernels go. The tests'
// stand-in for CUDA has a header of this name that runs the same functors on the host.
//
// A kernel reads its functor where the launch has put it, in constant memory. A copy of a functor
// with an array that is indexed at run time would be in local memory, which each thread would have
// to fill first.
namespace tandem::kernels {
namespace detail {

inline constexpr int kThreads = 256;  ///< of a block
inline constexpr int kResident = 3;   ///< blocks of an SM at least: registers before spills
inline constexpr std::int64_t kEachBlocks = 1LL << 16;  ///< more elements are a loop

template <class F>
__global__ void __launch_bounds__(kThreads, kResident)
    each(std::int64_t n, const __grid_constant__ F f) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += step)
    f(i);
}

}  // namespace detail

/// Calls `f(i)` for i in [0, n), in any order. `f` is copied: it refers to nothing of the host.
/// @throws DeviceError  the kernel was refused.
template <class F>
void for_each(const CudaStream& s, std::int64_t n, const F& f) {
  if (n <= 0) return;
  const std::int64_t blocks =
      std::min((n + detail::kThreads - 1) / detail::kThreads, detail::kEachBlocks);
  detail::each<<<static_cast<unsigned>(blocks), detail::kThreads, 0, s.native>>>(n, f);
  cuda::check_launch("cudaLaunchKernel");
}

namespace detail {

inline constexpr int kWarp = 32;
inline constexpr int kWarps = kThreads / kWarp;           ///< of a block
inline constexpr std::int64_t kSerialDepth = 16;          ///< up to it a thread reduces an output
inline constexpr std::int64_t kWarpDepth = 2 * kThreads;  ///< up to it a warp does
inline constexpr std::int64_t kMinPart = 1024;    ///< elements of a part, where there are several
inline constexpr std::int64_t kMaxBlocks = 1024;  ///< enough for any GPU: more parts pay no more
inline constexpr std::int64_t kMaxGridX = INT32_MAX;
inline constexpr std::int64_t kMaxGridY = 65535;

/// Where the totals of parts go: to their place in the workspace, or, of one part, to the output.
template <class Op>
struct PartTotals {
  Op op;
  std::int64_t first;  // output of a launch
  std::int64_t outputs, depth;
  std::int64_t part;           // elements of one
  std::int64_t parts;          // of an output
  typename Op::Total* totals;  // (parts, outputs); null where there is one part

  TANDEM_HD std::int64_t begin(std::int64_t p) const { return p * part; }
  TANDEM_HD std::int64_t end(std::int64_t p) const {
    return p * part + part < depth ? p * part + part : depth;
  }
  TANDEM_HD void put(std::int64_t output, std::int64_t p, const typename Op::Total& total) const {
    if (totals == nullptr)
      op.store(output, total);
    else
      totals[p * outputs + output] = total;
  }
};

/// The value of the thread that is `delta` lanes on.
template <class T>
__device__ T shuffle_down(const T& value, int delta) {
  unsigned words[(sizeof(T) + sizeof(unsigned) - 1) / sizeof(unsigned)] = {};
  memcpy(words, &value, sizeof(T));
  for (unsigned& word : words)
    word = __shfl_down_sync(0xFFFFFFFF, word, delta);
  T other = value;
  memcpy(&other, words, sizeof(T));
  return other;
}

/// Reduces an output by a warp, or by a whole block: threads are (lane, warp).
template <class Op>
__global__ void __launch_bounds__(kThreads, kResident)
    reduce_along(bool by_block, const __grid_constant__ PartTotals<Op> to) {
  using Total = typename Op::Total;
  const std::int64_t own = to.first + (by_block ? std::int64_t{blockIdx.x}
                                                : std::int64_t{blockIdx.x} * kWarps + threadIdx.y);
  const std::int64_t output = own < to.outputs ? own : to.outputs - 1;  // all lanes shuffle
  const int thread = static_cast<int>(by_block ? threadIdx.y * kWarp + threadIdx.x : threadIdx.x);
  Total total = reduce_range(to.op,
                             output,
                             to.begin(blockIdx.y) + thread,
                             own < to.outputs ? to.end(blockIdx.y) : 0,
                             by_block ? kThreads : kWarp);
  for (int delta = kWarp / 2; delta > 0; delta /= 2)
    total = to.op.join(total, shuffle_down(total, delta));
  if (!by_block) {
    if (threadIdx.x == 0 && own < to.outputs) to.put(output, blockIdx.y, total);
    return;
  }
  // Bytes: a Total need not have a trivial constructor.
  __shared__ alignas(Total) unsigned char bytes[kWarps * sizeof(Total)];
  Total* const totals = reinterpret_cast<Total*>(bytes);
  if (threadIdx.x == 0) totals[threadIdx.y] = total;
  __syncthreads();
  if (thread != 0) return;
  for (int w = 1; w < kWarps; ++w)
    total = to.op.join(total, totals[w]);
  to.put(output, blockIdx.y, total);
}

/// Reduces as many outputs as a warp has lanes: each warp of the block its share of the elements.
template <class Op>
__global__ void __launch_bounds__(kThreads, kResident)
    reduce_across(const __grid_constant__ PartTotals<Op> to) {
  using Total = typename Op::Total;
  __shared__ alignas(Total) unsigned char bytes[kThreads * sizeof(Total)];
  Total* const totals = reinterpret_cast<Total*>(bytes);
  const std::int64_t own = to.first + std::int64_t{blockIdx.x} * kWarp + threadIdx.x;
  const std::int64_t output = own < to.outputs ? own : to.outputs - 1;
  Total total = reduce_range(to.op,
                             output,
                             to.begin(blockIdx.y) + threadIdx.y,
                             own < to.outputs ? to.end(blockIdx.y) : 0,
                             kWarps);
  totals[threadIdx.y * kWarp + threadIdx.x] = total;
  __syncthreads();
  if (threadIdx.y != 0 || own >= to.outputs) return;
  for (int w = 1; w < kWarps; ++w)
    total = to.op.join(total, totals[w * kWarp + threadIdx.x]);
  to.put(output, blockIdx.y, total);
}

/// One thread reduces an output.
template <class Op>
struct ReduceSerial {
  Op op;
  std::int64_t depth;
  TANDEM_HD void operator()(std::int64_t output) const {
    op.store(output, reduce_range(op, output, 0, depth, 1));
  }
};

/// One thread joins the parts of an output, in their order.
template <class Op>
struct JoinParts {
  PartTotals<Op> from;
  TANDEM_HD void operator()(std::int64_t output) const {
    auto total = from.totals[output];
    for (std::int64_t p = 1; p < from.parts; ++p)
      total = from.op.join(total, from.totals[p * from.outputs + output]);
    from.op.store(output, total);
  }
};

}  // namespace detail

/// For each output o in [0, outputs): op.store(o, total of its elements i in [0, depth)).
///
/// `Op` is copied, and has `Run run(o)`, with which one thread adds up elements of an output;
/// `Total join(Total, Total)`, associative and commutative but for rounding; and `void store(o,
/// Total)`. A `Run` has `void add(i)`, called once for an element, and `Total total()`: it is asked
/// for after at most kRunElements elements, or none, so that a run may add up in the elements'
/// type. The order of joins depends on sizes alone: the same bits in every run.
/// @throws DeviceError  the kernel was refused.
template <class Op>
void reduce_each(
    const CudaStream& s, std::int64_t outputs, std::int64_t depth, Walk walk, const Op& op) {
  using namespace detail;
  if (outputs <= 0) return;
  if (depth <= kSerialDepth) return for_each(s, outputs, ReduceSerial<Op>{op, depth});
  const bool by_block = depth > kWarpDepth;
  const std::int64_t together = walk == Walk::across ? kWarp : by_block ? 1 : kWarps;
  const std::int64_t blocks = (outputs + together - 1) / together;
  const std::int64_t most = std::clamp<std::int64_t>(
      kMaxBlocks / blocks, 1, std::min(kMaxGridY, std::max<std::int64_t>(1, depth / kMinPart)));
  const std::int64_t part = (depth + most - 1) / most;
  const std::int64_t parts = (depth + part - 1) / part;
  PartTotals<Op> to{op, 0, outputs, depth, part, parts, nullptr};
  using Total = typename Op::Total;
  const Workspace<Total> workspace(s.device, parts > 1 ? parts * outputs : 0);
  to.totals = workspace.data();
  const dim3 block(kWarp, kWarps);
  for (std::int64_t done = 0; done < blocks; done += kMaxGridX) {
    const dim3 grid(static_cast<unsigned>(std::min(blocks - done, kMaxGridX)),
                    static_cast<unsigned>(parts));
    to.first = done * together;
    if (walk == Walk::along)
      reduce_along<<<grid, block, 0, s.native>>>(by_block, to);
    else
      reduce_across<<<grid, block, 0, s.native>>>(to);
    cuda::check_launch("cudaLaunchKernel");
  }
  if (parts > 1) for_each(s, outputs, JoinParts<Op>{to});
}

}  // namespace tandem::kernels
