// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/libtorch/detail/checked_outputs.hpp"
#include "tandem/libtorch/detail/gradient_gate.hpp"
#include "tandem/libtorch/detail/module_copy.hpp"
#include "tandem/libtorch/detail/replica_loss.hpp"
#include "tandem/libtorch/detail/scattered_inputs.hpp"
#include "tandem/libtorch/detail/torch_replicas.hpp"
#include "tandem/libtorch/module_options.hpp"
#include "tandem/libtorch/nest.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/parallel/detail/nest_rows.hpp"
#include "tandem/parallel/detail/no_sync.hpp"
#include "tandem/parallel/distributed.hpp"
#include "tandem/parallel/largest_batch.hpp"
#include "tandem/parallel/options.hpp"
#include "tandem/parallel/scatter_gather.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"

namespace tandem::libtorch {

/// A loss before the division that makes it a mean, so that the parts of several replicas can be
/// added up: `return WeightedSum{sum, n};`
///
/// @tparam Sum     at::Tensor: a scalar on the replica's graph.
/// @tparam Weight  a number, or a scalar at::Tensor: what the sum is a sum over.
template <class Sum, class Weight>
struct WeightedSum {
  Sum sum;
  Weight weight;
};

namespace detail {

/// Whether a call of a module's forward compiles.
template <class M, class... Parts>
concept HasForward = requires(M& module, Parts&... parts) {
  module.forward(parts...);
};

/// A libtorch::Optimizer, whose update is a part of a step.
template <class Optimizer>
concept SharedOptimizer = requires(Optimizer& optimizer) {
  optimizer.shared_by(std::shared_ptr<TorchReplicas>());
};

}  // namespace detail

/// Trains one module of PyTorch on several devices. An existing program changes one line.
///
///     tandem::libtorch::DataParallel dp(net, {.devices = configure_devices("cpu:4")});
///     const auto result = dp.step(batch, loss, optimizer);
///
/// Without options.devices they are all GPUs for a module on one. The user's module stays on the
/// first device, or with virtual ones on PyTorch's `cpu`, and keeps its parameters: an optimizer
/// made before goes on. Each device has a copy of the module, device 0 too, which runs in its
/// place. Parameters, buffers, modes, requires_grad and loaded states are followed before each
/// call; tensors or parts that were replaced make the copies anew. Other members stay as they are.
///
/// The options are those of parallel::DataParallel, and so is what a call promises: whatever the
/// chunks, the result is the whole batch's, and a call that fails has no effect. To be used by one
/// thread at a time.
///
/// Batch norms in training use the statistics of the whole batch, unless ModuleOptions or
/// convert_sync_batchnorm say otherwise; in a copy they seem to be in evaluation meanwhile. Those
/// without running statistics, and torch::batch_norm, refuse a replica with one value per channel.
///
/// @tparam M  the module's class (NetImpl of TORCH_MODULE(Net)).
template <class M>
class DataParallel {
  static_assert(std::is_base_of_v<torch::nn::Module, M>,
                "DataParallel wraps a module whose class is derived from torch::nn::Module. A "
                "scripted module (torch::jit::Module) has no such class: write the module in C++. "
                "A wrapper is no module either: wrap what it has wrapped, once it has ended. Put a "
                "torch::nn::AnyModule into a torch::nn::Sequential");

 public:
  /// @param module  a std::shared_ptr<M>, or a holder of TORCH_MODULE.
  /// @throws InvalidArgument  the module cannot be copied (give ModuleOptions::make), is wrapped
  ///                          already, or has a tensor on another device; devices are
  ///                          of several kinds, or one is listed twice; options contradict each
  ///                          other.
  explicit DataParallel(std::shared_ptr<M> module,
                        const parallel::DataParallelOptions& options = {},
                        ModuleOptions<M> module_options = {})
      : dim_(options.dim),
        scalars_(options.scalars),
        output_device_(options.output_device),
        module_(std::move(module)),
        replicas_(std::make_shared<detail::TorchReplicas>(
            module_,
            detail::copies_of<M>(module_, std::move(module_options.make)),
            detail::TorchReplicas::Ops{
                module_options.batch_norm, module_options.dropout, module_options.unused},
            options)) {}
  template <class Holder>
  requires std::convertible_to<decltype(std::declval<const Holder&>().ptr()), std::shared_ptr<M>>
  explicit DataParallel(const Holder& module,
                        const parallel::DataParallelOptions& options = {},
                        ModuleOptions<M> module_options = {})
      : DataParallel(std::shared_ptr<M>(module.ptr()), options, std::move(module_options)) {}

  M& module() const noexcept { return *module_; }
  M* operator->() const noexcept { return module_.get(); }
  /// The copy of the module on a device.
  M& replica(int index) { return static_cast<M&>(replicas_->replica(index)); }
  const std::vector<Device>& devices() const { return replicas_->devices(); }
  /// How many rows of a batch each device gets.
  std::vector<RowRange> plan(std::int64_t rows) const { return replicas_->plan(rows); }
  std::size_t parameter_nbytes() const { return replicas_->parameter_nbytes(); }
  /// How batches are divided; a planned policy has its model after the first step.
  const parallel::ChunkPolicy& policy() const { return replicas_->policy(); }

  /// Until the end of its scope, gradients are accumulated in the replicas and not exchanged; the
  /// next backward after it reduces all of them. See parallel::DataParallel::no_sync.
  [[nodiscard]] parallel::NoSync<detail::TorchReplicas> no_sync() {
    return parallel::NoSync<detail::TorchReplicas>(replicas_);
  }
  /// Reduces gradients that have not been reduced, shows them in `p.grad()`, and copies changed
  /// parameters and buffers to all devices.
  void sync() { replicas_->sync(); }

  /// Scatters the arguments, runs every replica on its rows, and gathers the outputs, all in one
  /// graph of PyTorch: `loss(dp(x), y).backward()` fills the gradients of the module's parameters
  /// and of the inputs, and hooks, torch::autograd::grad, create_graph and retain_graph work as for
  /// the module itself. Outputs are on the module's own device, or on options.output_device.
  ///
  /// @param arguments  nests of at::Tensor, split along options.dim, or marked. If there is nothing
  ///                   to split, or there are no rows, the first replica runs once.
  /// @throws InvalidArgument  arguments differ in rows.
  /// @throws ReplicaError     a replica failed; the call has no effect.
  template <parallel::Argument... Args>
  auto operator()(const Args&... arguments) {
    return gather(distributed_if(detail::GatherCheck{}, arguments...));
  }

  /// Joins the parts of a call of `distributed` where its outputs would be: what dp(...) returns.
  template <TensorNest T>
  T gather(const parallel::Distributed<T>& parts) const {
    const ContextScope scope(&in_gather);
    return to_home(parts.gather());
  }
  /// Tensors of any devices where outputs of dp(...) are, moved by one node of PyTorch's graph.
  std::vector<at::Tensor> to_output_device(const std::vector<at::Tensor>& tensors) const {
    const ContextScope scope(&in_gather);
    const Device device = output_device_.value_or(devices().front());
    return to_home(parallel::LeafOps<at::Tensor>::all_to(tensors, device));
  }

  /// The same, but the outputs stay on the replicas' devices, to compute with there, and to gather
  /// or reduce later: on options.output_device, the first device, or the one that is asked for.
  ///
  /// @return a parallel::Distributed of what forward returns.
  template <parallel::Argument... Args>
  auto distributed(const Args&... arguments) {
    return distributed_if([](const auto&, const auto&) {}, arguments...);
  }

  /// The same, if the outputs are accepted. Otherwise the call has no effect, and throws what
  /// `check` has thrown.
  ///
  /// @param check  (std::vector<Output*> by part, GatherOptions) -> void; called on the thread of
  ///               the last replica. It may change the outputs.
  template <class Check, parallel::Argument... Args>
  auto distributed_if(const Check& check, const Args&... arguments) {
    static_assert(detail::HasForward<M, parallel::detail::PartOf<Args>...>,
                  "the module's class has no forward for these arguments: wrap a pointer to the "
                  "class that has one");
    using Output = std::decay_t<decltype(module_->forward(
        std::declval<parallel::detail::PartOf<Args>&>()...))>;
    const std::optional<std::int64_t> count = parallel::find_rows(dim_, arguments...);
    const std::vector<RowRange> rows =
        count ? replicas_->plan(*count) : parallel::detail::rows_of_one_run(devices().size());
    auto outputs = std::make_shared<std::vector<std::optional<Output>>>(rows.size());
    const auto inputs = std::make_shared<detail::ScatteredInputs>(devices(), rows);
    const parallel::GatherOptions options =
        detail::gather_options(rows, dim_, count ? scalars_ : parallel::Combine::sum);
    const auto checked = std::make_shared<detail::CheckedOutputs>(options.rows.size());
    const auto check_all = [outputs, check, options] {
      std::vector<Output*> returned;
      for (auto& output : *outputs)
        if (output) returned.push_back(&*output);
      check(returned, options);
    };
    const auto body =
        [outputs, inputs, checked, check_all, all = std::make_tuple(arguments...), dim = dim_](
            auto& replica, const parallel::Replica& r) {
          const auto run = [&](const auto&... whole) {
            auto parts = inputs->take(dim, r, whole...);
            const auto forward = [&](auto&... part) {
              return static_cast<M&>(replica).forward(part...);
            };
            return std::apply(forward, parts);
          };
          Output output = std::apply(run, all);
          auto gated = leave_replica(leaves(output));
          auto next = gated.begin();
          for_each_leaf(output, [&](auto& x) { x = std::move(*next++); });
          (*outputs)[static_cast<std::size_t>(r.index)] = std::move(output);
          checked->note_return(check_all);
        };
    try {
      replicas_->forward(rows, body);
    } catch (...) {
      checked->rethrow();
      throw;
    }
    return parallel::Distributed<Output>(
        parts_of(*outputs, rows), output_device_.value_or(devices().front()), options);
  }

  /// One step with the loss computed in the replicas: forward, loss and backward. Gradients are
  /// added to those of the module's parameters, for the caller's optimizer.
  ///
  /// @param batch  a nest of at::Tensor, split along options.dim, or marked (parallel/marks.hpp).
  /// @param loss   (M& replica, const Batch& part) -> WeightedSum (exact under any chunking), or a
  ///               scalar at::Tensor, which counts as the mean over the part's rows.
  /// @throws ReplicaError  a replica failed; it names device, rows and phase. Parameters, buffers,
  ///                       gradients and random numbers are as before.
  template <class Batch, class Loss>
  parallel::StepResult step(const Batch& batch, Loss loss) {
    return replicas_->step(work_of(batch, std::move(loss), nullptr), {});
  }
  /// The same with an update. Gradients start from nothing.
  ///
  /// @param optimizer  a libtorch::Optimizer: its update is part of the step, as with
  ///                   parallel::DataParallel, and in mode sharded `p.grad()` is undefined
  ///                   afterwards. Any other optimizer of PyTorch runs after the step, on the
  ///                   module's own parameters and the calling thread. If it throws there, the
  ///                   ReplicaError's phase is update, and its update may be made in part.
  template <class Batch, class Loss, class Optimizer>
  requires requires(Optimizer& optimizer) {
    optimizer.zero_grad();
    optimizer.step();
  }
  parallel::StepResult step(const Batch& batch,
                            Loss loss,
                            Optimizer& optimizer,
                            const parallel::StepOptions& options = {}) {
    if constexpr (detail::SharedOptimizer<Optimizer>) {
      return replicas_->step(work_of(batch, std::move(loss), shared(optimizer)), options);
    } else {
      TANDEM_CHECK(options.scaler == nullptr,
                   "step: a scaler needs an optimizer whose update it can leave out; use "
                   "tandem::libtorch::Optimizer");
      optimizer.zero_grad();
      auto result = step(batch, std::move(loss));
      if (!result.skipped)
        replicas_->run_own_update({0, result.rows.front()}, [&] { optimizer.step(); });
      return result;
    }
  }

  /// See parallel::DataParallel::step_model.
  template <class Batch, class Loss>
  parallel::StepModel step_model(const Batch& batch, Loss loss) {
    return replicas_->measure(work_of(batch, std::move(loss), nullptr));
  }
  /// The same for steps with that optimizer, whose state counts.
  template <class Batch, class Loss, detail::SharedOptimizer Optimizer>
  parallel::StepModel step_model(const Batch& batch, Loss loss, Optimizer& optimizer) {
    return replicas_->measure(work_of(batch, std::move(loss), shared(optimizer)));
  }
  /// See parallel::DataParallel::find_largest_batch.
  template <class Make, class Loss>
  parallel::LargestBatch find_largest_batch(const Make& make,
                                            const Loss& loss,
                                            std::int64_t most = std::int64_t{1} << 30) {
    return search_largest_batch(make, loss, nullptr, most);
  }
  /// The same for steps with that optimizer, whose state counts.
  template <class Make, class Loss, detail::SharedOptimizer Optimizer>
  parallel::LargestBatch find_largest_batch(const Make& make,
                                            const Loss& loss,
                                            Optimizer& optimizer,
                                            std::int64_t most = std::int64_t{1} << 30) {
    return search_largest_batch(make, loss, shared(optimizer), most);
  }

 private:
  static void in_gather(Context& c) {
    c.phase = Phase::gather;
    c.category = Category::output;
  }
  /// The outputs of the devices that have run, with their rows.
  template <class Output>
  std::vector<typename parallel::Distributed<Output>::Part> parts_of(
      std::vector<std::optional<Output>>& outputs, const std::vector<RowRange>& rows) const {
    std::vector<typename parallel::Distributed<Output>::Part> parts;
    for (std::size_t d = 0; d < rows.size(); ++d) {
      if (!outputs[d]) continue;
      const parallel::Replica replica{static_cast<int>(d), devices()[d], rows[d]};
      parts.push_back({replica, std::move(*outputs[d])});
    }
    return parts;
  }
  /// Outputs on PyTorch's `cpu`, if the module is there and nothing else was asked for.
  template <TensorNest T>
  T to_home(T gathered) const {
    if (!output_device_ && replicas_->is_on_host())
      for_each_leaf(gathered, [](auto& x) {
        if (x.defined()) x = x.cpu();
      });
    return gathered;
  }
  template <class Batch>
  parallel::BatchSize size_of(const Batch& batch) const {
    parallel::BatchSize size{.rows = parallel::count_rows(dim_, batch), .nbytes = {}};
    for (const Device d : devices())
      size.nbytes.push_back(parallel::detail::split_nbytes(batch, d));
    return size;
  }
  template <class Batch, class Loss>
  detail::TorchReplicas::StepWork work_of(const Batch& batch,
                                          Loss loss,
                                          detail::TorchReplicas::GetOptimizer optimizer) const {
    return {size_of(batch), loss_body(batch, std::move(loss)), std::move(optimizer)};
  }
  template <class Optimizer>
  detail::TorchReplicas::GetOptimizer shared(Optimizer& optimizer) const {
    return [this, &optimizer]() -> optim::Optimizer& { return optimizer.shared_by(replicas_); };
  }
  template <class Make, class Loss>
  parallel::LargestBatch search_largest_batch(const Make& make,
                                              const Loss& loss,
                                              const detail::TorchReplicas::GetOptimizer& optimizer,
                                              std::int64_t most) {
    return parallel::detail::search_largest_batch(
        devices(), most, [&](std::int64_t rows) -> std::optional<parallel::StepProbe> {
          try {
            const auto batch = make(rows);
            return replicas_->try_batch(work_of(batch, loss, optimizer));
          } catch (const std::exception& e) {
            if (!detail::is_out_of_memory(e)) throw;
            return std::nullopt;  // the batch itself does not fit
          }
        });
  }
  template <class Batch, class Loss>
  detail::TorchReplicas::LossBody loss_body(const Batch& batch, Loss loss) const {
    return [batch, loss = std::move(loss), dim = dim_](auto& replica,
                                                       const parallel::Replica& r) mutable {
      const auto part = parallel::detail::scatter_part(batch, dim, r);
      const auto value = loss(static_cast<M&>(replica), part);
      if constexpr (requires { value.weight; })
        return detail::record_loss(value.sum, value.weight);
      else
        return detail::record_mean_loss(value, r.rows);
    };
  }

  int dim_;
  parallel::Combine scalars_;
  std::optional<Device> output_device_;
  std::shared_ptr<M> module_;
  std::shared_ptr<detail::TorchReplicas> replicas_;
};

namespace detail {
template <class T>
concept PointsToModule = requires(const T& x) {
  *x;
};
}  // namespace detail

template <class M, class... Options>
DataParallel(std::shared_ptr<M>, Options...) -> DataParallel<M>;
/// For the message of the static_assert.
template <class Other>
requires(!detail::PointsToModule<Other>)
    DataParallel(const Other&, const parallel::DataParallelOptions& = {})
->DataParallel<Other>;
template <detail::PointsToModule Holder>
DataParallel(const Holder&)
    -> DataParallel<std::remove_reference_t<decltype(*std::declval<const Holder&>().ptr())>>;
template <detail::PointsToModule Holder>
DataParallel(const Holder&, parallel::DataParallelOptions)
    -> DataParallel<std::remove_reference_t<decltype(*std::declval<const Holder&>().ptr())>>;
template <detail::PointsToModule Holder>
DataParallel(const Holder&,
             parallel::DataParallelOptions,
             ModuleOptions<std::remove_reference_t<decltype(*std::declval<const Holder&>().ptr())>>)
    -> DataParallel<std::remove_reference_t<decltype(*std::declval<const Holder&>().ptr())>>;

}  // namespace tandem::libtorch
