// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/parallel/nest_rows.hpp"
#include "tandem/parallel/options.hpp"
#include "tandem/parallel/replica_set.hpp"

namespace tandem::parallel::detail {

/// The inputs and outputs of the replicas in one call of `dp(x)`, which backward goes through.
struct ReplicaTapes {
  struct Input {
    Tensor whole;  // the user's
    int dim = 0;
    bool split = true;          // else every replica has all of it
    std::vector<Tensor> parts;  // by device: leaves of the replicas' tapes
  };
  std::vector<Input> inputs;                 // those that require grad
  std::vector<std::vector<Tensor>> outputs;  // by device
};

/// An argument whose tensors are off the tape, with the slots of those that require grad.
template <class T>
struct Tracked {
  T argument;
  std::vector<int> slots;  // by leaf; -1: no gradient
  std::shared_ptr<ReplicaTapes> tapes;

  /// The replica's part.
  auto part(int dim, const Replica& replica) const {
    const ContextScope scope([](Context& c) { c.phase = Phase::scatter; });
    auto value = take_part(argument, dim, replica.rows, replica.device);
    std::size_t leaf = 0;
    for_each_leaf(value, [&](Tensor& x) {
      const int slot = slots[leaf++];
      if (slot < 0) return;
      x.requires_grad_();
      tapes->inputs[static_cast<std::size_t>(slot)].parts[static_cast<std::size_t>(replica.index)] =
          x;
    });
    return value;
  }
};

/// One device's part of a batch.
template <Nest Batch>
Batch scatter_part(const Batch& batch, int dim, const Replica& replica) {
  const ContextScope scope([](Context& c) { c.phase = Phase::scatter; });
  return take_part(batch, dim, replica.rows, replica.device);
}

/// What a call of `dp(x)` does around the replicas' forward: tracks inputs, gathers outputs, and
/// puts the whole on the caller's tape as one op.
class GatheredCall {
 public:
  /// Where each device's part stands in a gathered tensor.
  struct Place {
    bool scalar = false;  // stacked: one entry for each part
    int dim = 0;
    std::vector<RowRange> rows;  // by device
  };

  GatheredCall(std::shared_ptr<ReplicaSet> set,
               std::vector<RowRange> rows,
               const DataParallelOptions& options,
               std::vector<Tensor> parameters);

  template <class T>
  Tracked<T> track(const T& argument) {
    if constexpr (is_replicated<T>) {
      auto [value, slots] = track_leaves(argument.value, 0, Whole::yes);
      return {T{std::move(value)}, std::move(slots), tapes_};
    } else if constexpr (is_split<T>) {
      auto [value, slots] = track_leaves(argument.value, argument.dim, Whole::no);
      return {T{std::move(value), argument.dim}, std::move(slots), tapes_};
    } else {
      auto [value, slots] = track_leaves(argument, dim_, Whole::no);
      return {std::move(value), std::move(slots), tapes_};
    }
  }

  /// Gathers what the replicas returned.
  template <Nest Output>
  Output finish(std::vector<std::optional<Output>>& outputs) {
    std::vector<std::vector<std::string>> constants_of_parts;
    std::optional<Output> result;
    for (std::size_t r = 0; r < outputs.size(); ++r) {
      if (!outputs[r]) continue;
      constants_of_parts.push_back(constants(*outputs[r]));
      tapes_->outputs[r] = leaves(*outputs[r]);
      if (!result) result = std::move(*outputs[r]);
      outputs[r].reset();
    }
    check_constants(constants_of_parts);
    const std::vector<Tensor> joined = join();
    std::size_t k = 0;
    for_each_leaf(*result, [&](Tensor& x) { x = joined[k++]; });
    return std::move(*result);
  }

 private:
  enum class Whole : std::uint8_t { no, yes };

  template <Nest T>
  std::pair<T, std::vector<int>> track_leaves(const T& value, int dim, Whole whole) {
    std::vector<int> slots;
    T plain = map_leaves(value, [&](const Tensor& x) {
      slots.push_back(add_input(x, dim, whole));
      return x.defined() ? x.detach() : x;
    });
    return {std::move(plain), std::move(slots)};
  }
  int add_input(const Tensor& x, int dim, Whole whole);
  /// Joins the replicas' outputs; on the output device's thread.
  std::vector<Place> gather_on_device(std::vector<Tensor>& joined) const;
  std::vector<Tensor> join();

  std::shared_ptr<ReplicaSet> set_;  // kept by the tape
  std::vector<RowRange> rows_;
  Device output_device_;
  int dim_;
  std::vector<Tensor> parameters_;
  std::shared_ptr<ReplicaTapes> tapes_;
};

}  // namespace tandem::parallel::detail
