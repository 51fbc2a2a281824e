// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tandem/comm/group.hpp"
#include "tandem/runtime/event.hpp"

#include "comm/signature.hpp"
#include "kernels/sum_ranks.hpp"

namespace tandem::comm {

/// A rank's memory in a collective.
struct Part {
  const void* input = nullptr;
  void* output = nullptr;
  std::int64_t input_count = 0;
  std::int64_t output_count = 0;
  double factor = 1;                            ///< with premul_sum
  std::vector<std::int64_t> input_counts = {};  ///< of an all_to_all, by rank
  std::vector<std::int64_t> output_counts = {};
  void* scratch = nullptr;  ///< as large as the input, if the algorithm needs it
  int color = 0;            ///< of a split
  int key = 0;              ///< of a split
  std::shared_ptr<const Event> ready = nullptr;  ///< on a GPU: the memory may be used after it
  bool has_data = true;  ///< false: nothing can be moved from or to the memory
};
Part part_of(const Collective& collective);

/// A piece of the result. Each target gets the reduction of the sources, in rank order.
struct Piece {
  std::vector<const void*> sources;
  std::vector<void*> targets;
  std::vector<int> source_ranks;  ///< the ranks that own the sources' memory
  std::vector<int> target_ranks;
  std::vector<double> factors;  ///< by source, with premul_sum
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
  double divisor = 1;  ///< if not 1: divides the only source, which is also the target
  std::int64_t count = 0;
  std::size_t collective = 0;  ///< of several that are coalesced
  int step = 0;                ///< step of an algorithm; runs after the pieces of the step before
  std::int64_t first_slice = 0;
  std::int64_t after = 0;  ///< number of slices that must be done before

  void add_source(std::size_t rank, const void* data, double factor = 1);
  void add_target(std::size_t rank, void* data);
  std::size_t nbytes() const noexcept { return static_cast<std::size_t>(count) * itemsize(dtype); }
  /// Elements [begin, end), on the host.
  void run(std::int64_t begin, std::int64_t end) const;
};

/// Bytes from rank to rank, at [from * ranks + to].
using Traffic = std::vector<std::size_t>;

/// The work of coalesced collectives, cut into slices. Any thread may run any slice, once the
/// slices that the piece comes after are done.
struct CollectivePlan {
  std::vector<Piece> pieces = {};
  std::int64_t slices = 0;
  std::vector<Traffic> traffic = {};  ///< by collective; empty: as bytes_between says

  const Piece& piece_of(std::int64_t slice) const;
  void run(std::int64_t slice) const;
};

/// @param parts  by collective and rank: first all ranks of the first collective, and so on.
/// @throws Desync  the parts of a gather or scatter do not add up to the whole, or a rank's send
///                 count differs from its peer's receive count.
CollectivePlan make_collective_plan(std::span<const Signature> signatures,
                                    std::span<const Part> parts,
                                    const GroupOptions& options);
/// The plan of a message: one piece from `sender` to `receiver`.
CollectivePlan make_message_plan(
    const Signature& signature, const Part& sender, const Part& receiver, int from, int to);

/// Element `count` of an array; null if the array is null.
const void* element(const void* data, std::int64_t count, DType dtype) noexcept;
void* element(void* data, std::int64_t count, DType dtype) noexcept;

/// The reduction of values to which factors have been applied, and which are divided later.
ReduceOp undivided(ReduceOp op) noexcept;

/// The kernels' name for a reduction.
kernels::Reduction reduction_of(ReduceOp op) noexcept;

/// Bytes that rank `to` gets from rank `from`: the numbers under @cost in communicator.hpp.
///
/// @param parts  the parts of this collective, by rank.
std::size_t bytes_between(const Signature& signature,
                          std::span<const Part> parts,
                          int from,
                          int to);

}  // namespace tandem::comm
