// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/autograd/tape_context.hpp"
#include "tandem/nn/module.hpp"
#include "tandem/parallel/detail/gathered.hpp"
#include "tandem/parallel/detail/nest_rows.hpp"
#include "tandem/parallel/detail/replica_set.hpp"
#include "tandem/parallel/largest_batch.hpp"
#include "tandem/parallel/options.hpp"

namespace tandem::parallel {

namespace detail {

/// The options, with the default devices if they name none.
DataParallelOptions with_devices(DataParallelOptions options);
/// The rows of a call that has nothing to split: it runs once, on device 0.
std::vector<RowRange> rows_of_one_run(std::size_t devices);
/// What a loss function returned, as a sum and its weight. A plain scalar counts as the mean over
/// `rows`.
WeightedSum weighted(const WeightedSum& loss, RowRange rows);
WeightedSum weighted(const Tensor& loss, RowRange rows);

}  // namespace detail

/// Trains one module on several devices: write `dp(x)` in place of `net(x)`, and change nothing
/// else.
///
///     parallel::DataParallel dp(net, {.devices = configure_devices("cpu:4"), .gpu0_bsz = 40});
///     const auto result = dp.step(batch, loss, &optimizer);   // or: loss(dp(x), y).backward();
///     optimizer.step();
///
/// Replica 0 is the user's module, which must outlive the wrapper. The replicas on the other
/// devices follow its parameters, buffers, mode and hooks. Anything else that a forward stores in
/// its module stays in that replica from call to call and is not merged; read it with replica(i).
/// The chunk policy divides a batch among the devices. However it does so, the result of a step is
/// the whole batch's. Each call is a transaction: if it fails, it throws ReplicaError and has no
/// effect.
///
/// To be used by one thread at a time: a call made while another one runs is refused. Several
/// wrappers may work on the same devices at once. If the wrapper is destroyed while another thread
/// is in a call, it makes that call fail and waits for at most two seconds; the module must outlive
/// the call. A moved-from wrapper, or one in the child of a fork, refuses all calls.
template <std::derived_from<nn::Module> M>
class DataParallel {
  static_assert(!std::is_abstract_v<M>,
                "DataParallel: the class of the module is not finished: end it with "
                "TANDEM_MODULE(Name, members...), which names its parameters and modules");
  static_assert(
      std::copy_constructible<M> || std::is_abstract_v<M>,
      "DataParallel copies the module to each further device: give it a copy constructor, or hold "
      "members that have none in a std::shared_ptr");

 public:
  /// @throws InvalidArgument  a tensor of the module is not on the first device, a device is listed
  ///                          twice, or options contradict each other.
  /// @throws OutOfMemory      nothing has changed.
  explicit DataParallel(M& module, const DataParallelOptions& options = {})
      : module_(module),
        options_(detail::with_devices(options)),
        replicas_(std::make_shared<std::vector<M>>(options_.devices.size() - 1, module)),
        set_(std::make_shared<ReplicaSet>(modules(), options_.devices, options_)) {}

  M& module() noexcept { return module_; }
  M* operator->() noexcept { return &module_; }
  /// The replica of the module on a device; replica 0 is the user's own module.
  M& replica(int index) {
    set_.get();
    return index == 0 ? module_ : replicas_->at(static_cast<std::size_t>(index) - 1);
  }
  const std::vector<Device>& devices() const { return set_.get()->devices(); }
  /// How many rows of a batch each device gets.
  std::vector<RowRange> plan(std::int64_t rows) const { return set_.get()->plan(rows); }
  std::size_t parameter_nbytes() const { return set_.get()->parameter_nbytes(); }

  /// Until the end of its scope, gradients are accumulated in the replicas and not exchanged. The
  /// next backward after it reduces all of them (like torch's DistributedDataParallel.no_sync).
  /// Reading a gradient before that, as an optimizer does, reduces them then.
  ///
  ///     { const auto scope = dp.no_sync(); loss(dp(x1), y1).backward(); }
  ///     loss(dp(x2), y2).backward();
  ///     optimizer.step();
  [[nodiscard]] NoSync<ReplicaSet> no_sync() { return NoSync<ReplicaSet>(set_.get()); }
  /// Synchronises the module and its replicas now: reduces gradients that have not been reduced,
  /// and copies changed parameters and buffers to all devices. Calls do this themselves when they
  /// need it; use it before you inspect replica(i) yourself.
  /// @throws ReplicaError, Timeout
  void sync() {
    const auto set = set_.get();
    set->sync();
  }

  void train(nn::Mode mode = nn::Mode::training) { module_.train(mode); }
  void eval() { module_.eval(); }

  /// Scatters the arguments, runs every replica on its rows, and gathers on the output device.
  ///
  /// Arguments are nests, split along options.dim, or marked (see marks.hpp): replicate(x),
  /// split(x, dim), rows(vector), scatter_by(x, f). A field of a struct may have a mark as its
  /// type. If there is nothing to split, or there are no rows, replica 0 runs once. backward() of
  /// anything that depends on the result fills the grad() of the module's parameters and of the
  /// inputs.
  /// @throws InvalidArgument  arguments differ in rows: all are listed, by place and field.
  /// @throws ReplicaError     a replica failed; the call has no effect.
  template <Argument... Args>
  auto operator()(const Args&... arguments) {
    return run([](auto& call, auto& outputs) { return call.finish(outputs); }, arguments...);
  }

  /// The same, but the outputs stay on the replicas' devices.
  ///
  /// @return the parts, to compute with there, and to gather or reduce later.
  template <Argument... Args>
  auto distributed(const Args&... arguments) {
    return run([](auto& call, auto& outputs) { return call.finish_distributed(outputs); },
               arguments...);
  }

  /// One step with the loss computed in the replicas: forward, loss, backward and, if `optimizer`
  /// is given, the update.
  ///
  /// With options.accumulate the batch is cut into micro-batches, which go forward and backward one
  /// after the other. Nothing is reduced before the last one. Gradients and dropout are those of
  /// the whole batch; batch norm uses the statistics of each micro-batch, as in PyTorch.
  ///
  /// Under Autocast the replicas run in mixed precision; with f16, pass the scaler too.
  /// @param batch      a nest, split along options.dim, or marked; its fields may be marked too.
  /// @param loss       (M& replica, const Batch& part) -> WeightedSum (exact under any chunking),
  ///                   or a scalar Tensor, which counts as the mean over the part's rows. Replicas
  ///                   with weights wait for each other between forward and backward.
  /// @param optimizer  null: gradients are added to the module's, and the caller does the update.
  ///                   Otherwise gradients start from nothing, and the step ends with the update.
  /// @throws ReplicaError  a replica failed, met a NaN that is an error, or has drifted (see
  ///                       DataParallelOptions); parameters, state, buffers and random numbers are
  ///                       as before.
  template <Argument Batch, class Loss>
  StepResult step(const Batch& batch,
                  Loss loss,
                  optim::Optimizer* optimizer = nullptr,
                  const StepOptions& options = {}) {
    const auto set = set_.get();
    return set->step(work_of(batch, std::move(loss), optimizer), options);
  }

  /// Measures how much memory steps of any size need on each device: `.plan(rows)` divides a batch
  /// so that the largest peak is as small as possible, `.predict(chunk_sizes)` says what a given
  /// division needs, and `.largest_batch()` says what the limits allow. Nothing is trained. The
  /// only changes are that gradients are dropped and that the optimizer creates its state, as in
  /// its next step. The loss and hooks run in these steps.
  ///
  /// @param batch  at least two rows per device, ideally as large as the batches that you will ask
  ///               about. If it does not fit, only its first rows are used.
  /// @throws InvalidArgument, ReplicaError
  /// @cost  usually five to eight steps of up to the batch's rows. Resets the devices' peaks
  ///        (MemoryStats).
  template <Argument Batch, class Loss>
  StepModel step_model(const Batch& batch, Loss loss, optim::Optimizer* optimizer = nullptr) {
    const auto set = set_.get();
    return set->measure(work_of(batch, std::move(loss), optimizer));
  }
  /// The largest batch whose step fits the devices' limits, divided as the policy would divide it.
  /// This batch was tried, and so was one with one more row. Nothing is trained, as with
  /// step_model.
  ///
  /// @param make  (std::int64_t rows) -> Batch; its contents do not matter.
  /// @param most  no batch larger than this is tried.
  /// @throws InvalidArgument  a host device has no limit.
  /// @throws ReplicaError     a step failed for another reason than memory.
  /// @cost  about ten steps of up to that batch; with planned chunks, six to nine steps for each.
  template <class Make, class Loss>
  LargestBatch find_largest_batch(const Make& make,
                                  const Loss& loss,
                                  optim::Optimizer* optimizer = nullptr,
                                  std::int64_t most = std::int64_t{1} << 30) {
    const auto set = set_.get();
    return detail::search_largest_batch(
        devices(), most, [&](std::int64_t rows) -> std::optional<StepProbe> {
          try {
            const auto batch = make(rows);
            return set->try_batch(work_of(batch, loss, optimizer));
          } catch (const OutOfMemory&) {  // the batch itself does not fit
            return std::nullopt;
          }
        });
  }
  /// How batches are divided; a planned policy has its model after the first step.
  const ChunkPolicy& policy() const { return set_.get()->policy(); }

 private:
  template <class Batch>
  BatchSize size_of(const Batch& batch) const {
    BatchSize size{.rows = count_rows(options_.dim, batch), .nbytes = {}};
    for (const Device d : options_.devices)
      size.nbytes.push_back(detail::split_nbytes(batch, d));
    return size;
  }
  template <class Batch, class Loss>
  ReplicaSet::StepWork work_of(const Batch& batch, Loss loss, optim::Optimizer* optimizer) {
    return {size_of(batch), loss_body(batch, std::move(loss)), optimizer};
  }
  /// Computes the loss of a replica's part.
  template <class Batch, class Loss>
  ReplicaSet::LossBody loss_body(const Batch& batch, Loss loss) {
    return [this_replicas = replicas_, own = &module_, batch, loss, dim = options_.dim](
               const Replica& r) mutable {
      M& replica = r.index == 0 ? *own : (*this_replicas)[static_cast<std::size_t>(r.index) - 1];
      const auto part = detail::scatter_part(batch, dim, r);
      return detail::weighted(loss(replica, part), r.rows);
    };
  }
  /// The user's module, then the replicas.
  std::vector<nn::Module*> modules() {
    std::vector<nn::Module*> all{&module_};
    for (M& replica : *replicas_)
      all.push_back(&replica);
    return all;
  }
  template <class Finish, class... Args>
  auto run(Finish finish, const Args&... arguments) {
    using Output = std::decay_t<decltype(module_(std::declval<detail::PartOf<Args>>()...))>;
    static_assert(!std::is_void_v<Output>,
                  "forward returns nothing: return what the replica computes from its rows");
    static_assert(std::is_void_v<Output> || TensorNest<Output>,
                  "what forward returns cannot be gathered: return tensors, numbers, containers of "
                  "these, or a struct that lists its members by TANDEM_FIELDS");
    const auto set = set_.get();
    const std::optional<std::int64_t> count = find_rows(options_.dim, arguments...);
    const std::vector<RowRange> rows =
        count ? set->plan(*count) : detail::rows_of_one_run(devices().size());
    auto outputs = std::make_shared<std::vector<std::optional<Output>>>(rows.size());
    detail::GatheredCall call(set, rows, options_);
    if (!count) call.keep_scalars();
    auto inputs = std::make_tuple(call.track(arguments)...);
    std::optional<decltype(finish(call, *outputs))> result;
    set->forward(
        rows,
        [this_replicas = replicas_,
         own = &module_,
         outputs,
         inputs,
         tapes = call.tapes(),
         checkpoints = autograd::tape_context().checkpoint != nullptr,
         dim = options_.dim](const Replica& r) {
          M& replica =
              r.index == 0 ? *own : (*this_replicas)[static_cast<std::size_t>(r.index) - 1];
          std::apply(
              [&](const auto&... tracked) {
                (*outputs)[static_cast<std::size_t>(r.index)] = detail::call_replica(
                    replica, this_replicas, *tapes, r, checkpoints, tracked.part(dim, r)...);
              },
              inputs);
        },
        [&] { result.emplace(finish(call, *outputs)); });
    return *std::move(result);
  }

  M& module_;
  DataParallelOptions options_;
  std::shared_ptr<std::vector<M>> replicas_;
  ReplicaSetOwner set_;  // destroyed first, which ends a call under way
};

}  // namespace tandem::parallel
