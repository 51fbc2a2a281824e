// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include <cub/block/block_reduce.cuh>
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>

#include "tandem/runtime/stream.hpp"

#include "kernels/for_each.hpp"
#include "kernels/workspace.hpp"

// How a functor becomes a CUDA kernel: the two ways that all .cu files of kernels go. The tests'
// stand-in for CUDA has a header of this name that runs the same functors on the host.
namespace tandem::kernels {

/// Calls `f(i)` for i in [0, n), in any order. `f` is copied: it refers to nothing of the host.
template <class F>
void for_each(const CudaStream& s, std::int64_t n, F f) {
  if (n <= 0) return;
  thrust::for_each_n(
      thrust::cuda::par_nosync.on(s.native), thrust::counting_iterator<std::int64_t>(0), n, f);
}

/// Which elements of a reduction are neighbours in memory.
enum class Walk : std::uint8_t {
  along,   ///< those of one output
  across,  ///< those of neighbouring outputs
};

namespace detail {

inline constexpr int kAlongThreads = 256;
inline constexpr int kAcrossColumns = 32;
inline constexpr int kAcrossRows = 8;
inline constexpr std::int64_t kSerialDepth = 16;  ///< up to it a thread reduces an output alone
inline constexpr std::int64_t kMinPart = 1024;    ///< elements of a part, where there are several
inline constexpr std::int64_t kMaxBlocks = 1024;  ///< enough for any GPU: more parts pay no more
inline constexpr std::int64_t kMaxGridY = 65535;

/// Part `p` of an output's elements.
struct PartRange {
  std::int64_t begin, end;
  TANDEM_HD PartRange(std::int64_t depth, std::int64_t parts, std::int64_t p)
      : begin(depth * p / parts), end(depth * (p + 1) / parts) {}
};

/// Where the totals of parts go: to their place in the workspace, or, of one part, to the output.
template <class Op>
struct PartTotals {
  Op op;
  std::int64_t outputs, depth, parts;
  typename Op::Total* totals;  // (parts, outputs); null where there is one part

  TANDEM_HD void put(std::int64_t output, std::int64_t part, typename Op::Total total) const {
    if (totals == nullptr)
      op.store(output, total);
    else
      totals[part * outputs + output] = total;
  }
};

template <class Op>
__global__ void reduce_along(PartTotals<Op> to) {
  using Total = typename Op::Total;
  using Block = cub::BlockReduce<Total, kAlongThreads>;
  __shared__ typename Block::TempStorage storage;
  const std::int64_t output = blockIdx.x;
  const PartRange range(to.depth, to.parts, blockIdx.y);
  Total total = to.op.total();
  for (std::int64_t i = range.begin + threadIdx.x; i < range.end; i += kAlongThreads)
    total = to.op.join(total, to.op.at(output, i));
  const Op op = to.op;
  total = Block(storage).Reduce(total, [op](Total a, Total b) { return op.join(a, b); });
  if (threadIdx.x == 0) to.put(output, blockIdx.y, total);
}

template <class Op>
__global__ void reduce_across(PartTotals<Op> to) {
  using Total = typename Op::Total;
  // Bytes: a Total need not have a trivial constructor.
  __shared__ alignas(Total) unsigned char bytes[kAcrossRows * kAcrossColumns * sizeof(Total)];
  Total* const totals = reinterpret_cast<Total*>(bytes);
  const std::int64_t output = std::int64_t{blockIdx.x} * kAcrossColumns + threadIdx.x;
  const PartRange range(to.depth, to.parts, blockIdx.y);
  Total total = to.op.total();
  if (output < to.outputs) {
    for (std::int64_t i = range.begin + threadIdx.y; i < range.end; i += kAcrossRows)
      total = to.op.join(total, to.op.at(output, i));
  }
  totals[threadIdx.y * kAcrossColumns + threadIdx.x] = total;
  __syncthreads();
  if (threadIdx.y != 0 || output >= to.outputs) return;
  for (int r = 1; r < kAcrossRows; ++r)
    total = to.op.join(total, totals[r * kAcrossColumns + threadIdx.x]);
  to.put(output, blockIdx.y, total);
}

/// One thread reduces an output.
template <class Op>
struct ReduceSerial {
  Op op;
  std::int64_t depth;
  TANDEM_HD void operator()(std::int64_t output) const {
    auto total = op.total();
    for (std::int64_t i = 0; i < depth; ++i)
      total = op.join(total, op.at(output, i));
    op.store(output, total);
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

/// For each output o in [0, outputs): op.store(o, the join of op.at(o, i) for i in [0, depth)).
///
/// `Op` is copied, and has `Total total()` (of nothing), `Total at(o, i)`, `Total join(Total,
/// Total)`, associative and commutative but for rounding, and `void store(o, Total)`. The order of
/// joins depends on sizes alone: the same bits in every run.
template <class Op>
void reduce_each(
    const CudaStream& s, std::int64_t outputs, std::int64_t depth, Walk walk, const Op& op) {
  using namespace detail;
  if (outputs <= 0) return;
  if (depth <= kSerialDepth) return for_each(s, outputs, ReduceSerial<Op>{op, depth});
  const bool along = walk == Walk::along;
  const std::int64_t blocks = along ? outputs : (outputs + kAcrossColumns - 1) / kAcrossColumns;
  const std::int64_t parts = std::clamp<std::int64_t>(
      kMaxBlocks / blocks, 1, std::min(kMaxGridY, std::max<std::int64_t>(1, depth / kMinPart)));
  PartTotals<Op> to{op, outputs, depth, parts, nullptr};
  using Total = typename Op::Total;
  const Workspace<Total> workspace(s.device, parts > 1 ? parts * outputs : 0);
  to.totals = workspace.data();
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(parts));
  if (along)
    reduce_along<<<grid, kAlongThreads, 0, s.native>>>(to);
  else
    reduce_across<<<grid, dim3(kAcrossColumns, kAcrossRows), 0, s.native>>>(to);
  if (parts > 1) for_each(s, outputs, JoinParts<Op>{to});
}

}  // namespace tandem::kernels
