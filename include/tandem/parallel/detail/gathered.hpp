// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/autograd/checkpoint.hpp"
#include "tandem/autograd/tape_context.hpp"
#include "tandem/parallel/detail/nest_rows.hpp"
#include "tandem/parallel/detail/outputs.hpp"
#include "tandem/parallel/detail/replica_set.hpp"
#include "tandem/parallel/distributed.hpp"
#include "tandem/parallel/options.hpp"

namespace tandem::parallel::detail {

/// The inputs and outputs of the replicas in one call of `dp(x)`; backward goes through them.
struct ReplicaTapes {
  struct Input {
    Tensor whole;  // the user's
    int dim = 0;
    bool split = true;          // false: every replica has all of it
    std::vector<Tensor> parts;  // by device: leaves of the replicas' tapes
  };
  std::vector<Input> inputs;                 // those that require grad
  std::vector<std::vector<Tensor>> outputs;  // by device
  std::uint64_t generation = 0;              // of the replicas' parameters
  // By device, by output: an earlier backward has gone through it without keeping the tape.
  std::vector<std::vector<std::uint8_t>> spent;
  std::vector<std::shared_ptr<autograd::OutsideTensors>> outside;  // by device; null: has not run
};

/// Calls a replica's module. If the caller is inside a checkpoint (autograd::checkpoint), the
/// replica runs inside a checkpoint of its own.
///
/// @param keep  owner of the module; the checkpoint keeps it alive.
template <class M, class Keep, class... Parts>
auto call_replica(M& replica,
                  const Keep& keep,
                  ReplicaTapes& tapes,
                  const Replica& r,
                  bool checkpoints,
                  const Parts&... parts) {
  tapes.outside[static_cast<std::size_t>(r.index)] = autograd::tape_context().outside;
  if (!checkpoints) return replica(parts...);
  return autograd::checkpoint([&replica, keep](const auto&... own) { return replica(own...); },
                              parts...);
}

/// (gradients of the op's outputs, device, k, target) -> the gradient of the device's k-th output,
/// on `target`; undefined if it has none.
using GradientOf = std::function<Tensor(
    const std::vector<Tensor>& dys, std::size_t device, std::size_t k, Device target)>;

/// Sets the phase to scatter while a replica takes its rows of a batch. After an error the phase
/// remains scatter, so that the error can report it.
class ScatterScope {
 public:
  explicit ScatterScope(const Replica& replica)
      : phase_(replica.phase), scope_([](Context& c) { c.phase = Phase::scatter; }) {
    if (phase_ != nullptr) before_ = phase_->exchange(Phase::scatter);
  }
  ~ScatterScope() {
    if (phase_ != nullptr && std::uncaught_exceptions() == errors_) phase_->store(before_);
  }
  ScatterScope(const ScatterScope&) = delete;
  ScatterScope& operator=(const ScatterScope&) = delete;

 private:
  std::atomic<Phase>* phase_;
  Phase before_{};
  int errors_ = std::uncaught_exceptions();
  ContextScope scope_;
};

/// An argument whose tensors are detached from the tape, with the slots of those that require grad.
template <class T>
struct Tracked {
  T argument;
  std::vector<std::pair<const TensorImpl*, int>> slots;  // by tensor of `argument`
  std::shared_ptr<ReplicaTapes> tapes;

  /// The replica's part.
  PartOf<T> part(int dim, const Replica& replica) const {
    const ScatterScope scope(replica);
    auto take = [&](const Tensor& whole, const LeafRule& rule, const Replica& r) {
      Tensor x = take_leaf(whole, rule, r);
      const auto slot =
          std::ranges::find(slots, whole.shared().get(), [](const auto& s) { return s.first; });
      if (slot == slots.end()) return x;
      x = x.detach();  // a leaf of the replica's own tape
      x.requires_grad_();
      tapes->inputs[static_cast<std::size_t>(slot->second)]
          .parts[static_cast<std::size_t>(r.index)] = x;
      return x;
    };
    return take_part(argument, dim, replica, take);
  }
};

/// What the user's function returned for an argument, by device.
template <class T>
struct TrackedParts {
  std::vector<std::optional<Tracked<Replicated<T>>>> parts;

  T part(int dim, const Replica& replica) const {
    return parts[static_cast<std::size_t>(replica.index)]->part(dim, replica);
  }
};

/// One device's part of a batch.
template <Argument Batch>
PartOf<Batch> scatter_part(const Batch& batch, int dim, const Replica& replica) {
  const ScatterScope scope(replica);
  return take_part(batch, dim, replica);
}

/// What a call of `dp(x)` does around the replicas' forward: tracks the inputs, gathers the
/// outputs, and records the whole call on the caller's tape as one op.
class GatheredCall {
 public:
  /// Where each device's part lies in a gathered tensor.
  struct Place {
    JoinRule rule;
    std::vector<std::size_t> part;  // by device: its index among the parts
    std::vector<RowRange> rows;     // by device: its rows of a tensor joined by rows
    std::size_t recorded = 0;       // its index among the outputs of the op on the tape
  };

  GatheredCall(std::shared_ptr<ReplicaSet> set,
               std::vector<RowRange> rows,
               const DataParallelOptions& options);

  template <class T>
  auto track(const T& argument) {
    if constexpr (is_scatter_by<T>) {
      return track_parts(argument);
    } else {
      Tracked<T> tracked{argument, {}, tapes_};
      track_leaves(tracked.argument, {.dim = dim_}, tracked.slots);
      return tracked;
    }
  }

  /// The replicas' jobs keep it, because they may outlive a call that timed out.
  const std::shared_ptr<ReplicaTapes>& tapes() const noexcept { return tapes_; }
  /// For a call that runs once: leaves outputs without dimensions as they are.
  void keep_scalars() noexcept { scalars_ = Combine::sum; }
  /// Gathers what the replicas returned.
  template <TensorNest Output>
  Output finish(std::vector<std::optional<Output>>& outputs) {
    std::vector<OutputParts> parts;
    std::optional<Output> result;
    for (std::size_t r = 0; r < outputs.size(); ++r) {
      if (!outputs[r]) continue;
      parts.push_back(take_apart(*outputs[r], dim_));
      tapes_->outputs[r] = parts.back().tensors;
      if (!result) result = std::move(*outputs[r]);
      outputs[r].reset();
    }
    check_parts(parts);
    const std::vector<Tensor> joined = join(parts);
    put_together(*result, joined, combine_numbers(parts, gather_options()));
    return std::move(*result);
  }
  /// Leaves the outputs on the replicas' devices.
  template <TensorNest Output>
  Distributed<Output> finish_distributed(std::vector<std::optional<Output>>& outputs) {
    std::vector<typename Distributed<Output>::Part> values;
    for (std::size_t r = 0; r < outputs.size(); ++r) {
      if (!outputs[r]) continue;
      tapes_->outputs[r] = take_apart(*outputs[r], dim_).tensors;
      const Replica replica{static_cast<int>(r), set_->devices()[r], rows_[r]};
      values.push_back({replica, std::move(*outputs[r])});
      outputs[r].reset();
    }
    const std::vector<std::vector<Tensor>> tensors = keep_distributed();
    for (auto& part : values)
      put_together(part.value, tensors[static_cast<std::size_t>(part.replica.index)], {});
    return Distributed<Output>(std::move(values), output_device_, gather_options());
  }

 private:
  /// Detaches the tensors of `value` from the tape.
  template <class T>
  void track_leaves(T& value,
                    LeafRule rule,
                    std::vector<std::pair<const TensorImpl*, int>>& slots) {
    auto f = [&](auto& part, const LeafRule& at, const LeafPath&) {
      using U = std::remove_cvref_t<decltype(part)>;
      if constexpr (std::derived_from<U, Tensor>) {
        Tensor& x = part;
        if (!x.defined()) return;
        const int slot = add_input(x, at);
        x = x.detach();
        if (slot >= 0) slots.emplace_back(x.shared().get(), slot);
      } else if constexpr (is_rows<U>) {
        using Element = typename decltype(part.value)::value_type;
        if constexpr (TensorNest<Element> && !tandem::detail::is_constant<Element>) {
          for (Element& element : part.value)
            track_leaves(element, {.whole = true}, slots);
        }
      }
    };
    visit_marked(value, rule, {}, f);
  }
  /// Calls the user's function for each replica, on the caller's tape.
  template <class T>
  TrackedParts<PartOf<T>> track_parts(const T& argument) {
    TrackedParts<PartOf<T>> tracked;
    tracked.parts.resize(rows_.size());
    const ContextScope scope([](Context& c) { c.phase = Phase::scatter; });
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (!is_active(rows_, r)) continue;
      const Replica replica{static_cast<int>(r), set_->devices()[r], rows_[r]};
      tracked.parts[r] = track(replicate(argument.scatter(argument.value, replica)));
    }
    return tracked;
  }
  int add_input(const Tensor& x, const LeafRule& rule);
  /// With the rows of each part; there is one part for each device that has rows.
  GatherOptions gather_options() const;
  /// Joins the replicas' outputs on the output device's thread.
  std::vector<Place> gather_on_device(std::vector<OutputParts>& parts,
                                      std::vector<Tensor>& joined) const;
  /// Runs `body` on the output device's thread, without a group or a transaction.
  void on_output_device(const std::function<void()>& body) const;
  std::vector<Tensor> join(std::vector<OutputParts>& parts);
  /// The replicas' outputs on the caller's tape, by device.
  std::vector<std::vector<Tensor>> keep_distributed();
  /// Records the call on the caller's tape as one op. @param gradient  see GradientOf.
  std::vector<Tensor> record(std::vector<Tensor> outputs, GradientOf gradient);

  std::shared_ptr<ReplicaSet> set_;  // kept by the tape
  std::vector<RowRange> rows_;
  Device output_device_;
  std::chrono::milliseconds deadline_;
  int dim_;
  Combine scalars_;
  std::vector<Tensor> parameters_;  // of the module, when the call began
  std::shared_ptr<ReplicaTapes> tapes_;
};

}  // namespace tandem::parallel::detail
