// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tandem/runtime/stream.hpp"

#include "kernels/cuda/reduce_range.hpp"
#include "kernels/for_each.hpp"
#include "kernels/workspace.hpp"
#include "runtime/cuda/check_launch.hpp"

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
inline constexpr int kWarps = kThreads / kWarp;             ///< of a block
inline constexpr std::int64_t kWarpDepth = 4 * kThreads;    ///< up to it a warp does
inline constexpr std::int64_t kMinLoads = 2 * kMostAtOnce;  ///< of a thread, to cut an output
inline constexpr std::int64_t kMaxBlocks = 1024;  ///< enough for any GPU: more parts pay no more
inline constexpr std::int64_t kMaxGridX = INT32_MAX;
inline constexpr std::int64_t kLongLine = 8192;

/// Threads of a block for a long line: the more they are, the fewer lines share the caches; but
/// wide elements need registers.
template <class Op>
inline constexpr int kLineThreads = sizeof(ValueOf<decltype(std::declval<const Op&>().run(0))>) <= 4
                                        ? 1024
                                        : 512;

/// Where the totals of parts go: to their place in the workspace, or, of one part, to the output.
template <class Op>
struct PartTotals {
  Op op;
  std::int64_t first;  // output of a launch
  std::int64_t outputs, depth;
  std::int64_t part;           // elements of one
  std::int64_t parts;          // of an output
  typename Op::Total* totals;  // (outputs, parts); null where there is one part

  TANDEM_HD std::int64_t begin(std::int64_t p) const { return p * part; }
  TANDEM_HD std::int64_t end(std::int64_t p) const {
    return p * part + part < depth ? p * part + part : depth;
  }
  TANDEM_HD void put(std::int64_t output, std::int64_t p, const typename Op::Total& total) const {
    if (totals == nullptr)
      op.store(output, total);
    else
      totals[output * parts + p] = total;
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

/// The join of what the lanes of a warp have, in the first lane.
template <class Op>
__device__ typename Op::Total join_lanes(const Op& op, typename Op::Total total) {
  for (int delta = kWarp / 2; delta > 0; delta /= 2)
    total = op.join(total, shuffle_down(total, delta));
  return total;
}

/// The join of what the first lanes of a block's warps have, in the first lane of each.
template <class Op>
__device__ typename Op::Total join_warps(const Op& op,
                                         std::int64_t output,
                                         const typename Op::Total& total) {
  using Total = typename Op::Total;
  // Bytes: a Total need not have a trivial constructor.
  __shared__ alignas(Total) unsigned char bytes[kWarp * sizeof(Total)];
  Total* const totals = reinterpret_cast<Total*>(bytes);
  if (threadIdx.x == 0) totals[threadIdx.y] = total;
  __syncthreads();
  return join_lanes(op,
                    threadIdx.x < blockDim.y ? totals[threadIdx.x] : Total(op.run(output).total()));
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
  total = join_lanes(to.op, total);
  if (by_block) total = join_warps(to.op, output, total);
  if (thread == 0 && own < to.outputs) to.put(output, blockIdx.y, total);
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

/// Reduces the totals of parts.
template <class Op>
struct JoinParts {
  using Total = typename Op::Total;
  PartTotals<Op> from;

  struct Run {
    const Op& op;
    const Total* totals;
    Total all;
    TANDEM_HD Total load(std::int64_t p) const { return totals[p]; }
    template <int kCount>
    TANDEM_HD void add(const Total (&values)[kCount]) {
      for (const Total& value : values)
        all = op.join(all, value);
    }
    TANDEM_HD const Total& total() const { return all; }
  };
  TANDEM_HD Run run(std::int64_t output) const {
    return {from.op, from.totals + output * from.parts, from.op.run(output).total()};
  }
  TANDEM_HD Total join(const Total& a, const Total& b) const { return from.op.join(a, b); }
  TANDEM_HD void store(std::int64_t output, const Total& total) const {
    from.op.store(output, total);
  }
};

/// Outputs of a block.
inline std::int64_t outputs_together(bool by_block, Walk walk) {
  return walk == Walk::across ? kWarp : by_block ? 1 : kWarps;
}

/// Elements of a part of an output. Where there are several, threads load as many at once as they
/// can.
inline std::int64_t part_of(std::int64_t outputs, std::int64_t depth, bool by_block, Walk walk) {
  const std::int64_t threads = walk == Walk::across ? kWarps : kThreads;  // of an output
  const std::int64_t together = outputs_together(by_block, walk);
  const std::int64_t blocks = (outputs + together - 1) / together;
  const std::int64_t most = std::min(kMaxBlocks / blocks, depth / (kMinLoads * threads));
  if (most <= 1) return depth;
  const std::int64_t once = kMostAtOnce * threads, part = (depth + most - 1) / most;
  return (part + once - 1) / once * once;
}

/// Launches a kernel for all outputs and parts.
template <Walk kWalk, class Op>
void launch_reduce(const CudaStream& s, bool by_block, PartTotals<Op> to) {
  const std::int64_t together = outputs_together(by_block, kWalk);
  const std::int64_t blocks = (to.outputs + together - 1) / together;
  for (std::int64_t done = 0; done < blocks; done += kMaxGridX) {
    const dim3 grid(static_cast<unsigned>(std::min(blocks - done, kMaxGridX)),
                    static_cast<unsigned>(to.parts));
    to.first = done * together;
    if constexpr (kWalk == Walk::along)
      reduce_along<<<grid, dim3(kWarp, kWarps), 0, s.native>>>(by_block, to);
    else
      reduce_across<<<grid, dim3(kWarp, kWarps), 0, s.native>>>(to);
    cuda::check_launch("cudaLaunchKernel");
  }
}

/// Reduces a line by a warp, or by a whole block, and puts its elements.
template <class Op>
__global__ void __launch_bounds__(kLineThreads<Op>, 1) each_line(bool by_block,
                                                                 std::int64_t lines,
                                                                 std::int64_t length,
                                                                 const __grid_constant__ Op op) {
  using Line = typename Op::Line;
  __shared__ alignas(Line) unsigned char bytes[kWarp * sizeof(Line)];
  const unsigned warp = by_block ? 0 : threadIdx.y;
  const std::int64_t own = std::int64_t{blockIdx.x} * (by_block ? 1 : blockDim.y) + warp;
  if (own >= lines) return;  // all lanes of the warp
  const int thread = static_cast<int>(by_block ? threadIdx.y * kWarp + threadIdx.x : threadIdx.x);
  const int threads = static_cast<int>(by_block ? blockDim.y * kWarp : kWarp);
  auto total = join_lanes(op, reduce_range(op, own, thread, length, threads));
  if (by_block) total = join_warps(op, own, total);
  Line* const line = reinterpret_cast<Line*>(bytes) + warp;
  if (thread == 0) *line = op.finish(own, total);
  if (by_block)
    __syncthreads();
  else
    __syncwarp();
  put_range(op.each(own, *line), thread, length, threads);
}

}  // namespace detail

/// For each output o in [0, outputs): op.store(o, total of its elements i in [0, depth)).
///
/// `Op` is copied, and has `Run run(o)`, with which one thread adds up elements of an output;
/// `Total join(Total, Total)`, associative and commutative but for rounding; and `void store(o,
/// Total)`. A `Run` has `load(i)`, called once for an element; `void add(const Loaded (&)[n])`; and
/// `Total total()`: it is asked for after at most kRunElements elements, or none, so that a run may
/// add up in the elements' type. The order of joins depends on sizes alone: the same bits in every
/// run.
/// @throws DeviceError  the kernel was refused.
template <class Op>
void reduce_each(
    const CudaStream& s, std::int64_t outputs, std::int64_t depth, Walk walk, const Op& op) {
  using namespace detail;
  if (outputs <= 0) return;
  if (depth <= kSerialDepth) return for_each(s, outputs, ReduceSerial<Op>{op, depth});
  const bool by_block = depth > kWarpDepth;
  const std::int64_t part = part_of(outputs, depth, by_block, walk);
  const std::int64_t parts = (depth + part - 1) / part;
  const Workspace<typename Op::Total> totals(s.device, parts > 1 ? parts * outputs : 0);
  const PartTotals<Op> to{op, 0, outputs, depth, part, parts, totals.data()};
  if (walk == Walk::along)
    launch_reduce<Walk::along>(s, by_block, to);
  else
    launch_reduce<Walk::across>(s, by_block, to);
  if (parts == 1) return;
  launch_reduce<Walk::along>(
      s, false, PartTotals<JoinParts<Op>>{{to}, 0, outputs, parts, parts, 1, nullptr});
}

/// For each line l in [0, lines): reduces its elements i in [0, length), as reduce_each does, and
/// then puts each of them.
///
/// `Op` has a `Run run(l)` and a `join` as for reduce_each; `Line finish(l, Total)`, called once
/// for a line, which may store; and `Each each(l, Line)`. An `Each` has `load(i)` and `void put(i,
/// loaded)`, called once for an element: it writes nothing that other elements are made of.
/// @param lines  as many as are in memory, not those of a view that repeats itself.
/// @throws DeviceError  the kernel was refused.
template <class Op>
void each_line(const CudaStream& s, std::int64_t lines, std::int64_t length, const Op& op) {
  using namespace detail;
  if (lines <= 0) return;
  if (length <= kSerialDepth) return for_each(s, lines, LineSerial<Op>{op, length});
  const bool by_block = length > kWarpDepth;
  const int warps = length > kLongLine ? kLineThreads<Op> / kWarp : kWarps;
  const std::int64_t blocks = by_block ? lines : (lines + warps - 1) / warps;
  detail::each_line<<<static_cast<unsigned>(blocks), dim3(kWarp, warps), 0, s.native>>>(
      by_block, lines, length, op);
  cuda::check_launch("cudaLaunchKernel");
}

}  // namespace tandem::kernels
