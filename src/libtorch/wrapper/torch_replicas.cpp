// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/detail/torch_replicas.hpp"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include <ATen/autocast_mode.h>
#include <torch/nn/module.h>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "libtorch/device/call_generators.hpp"
#include "libtorch/device/device_memory.hpp"
#include "libtorch/gpu/caller_streams.hpp"
#include "libtorch/graph/replicated_parameters.hpp"
#include "libtorch/kernels/gpu_ops.hpp"
#include "libtorch/modules/followed_hooks.hpp"
#include "libtorch/modules/module_changes.hpp"
#include "libtorch/modules/node_order.hpp"
#include "libtorch/modules/replica_scope.hpp"
#include "libtorch/modules/shown_gradients.hpp"
#include "libtorch/modules/torch_source.hpp"
#include "libtorch/update/own_update.hpp"
#include "libtorch/wrapper/checked_options.hpp"
#include "parallel/update/mode_rules.hpp"
#include "runtime/gpu/gpu_device.hpp"
#include "runtime/gpu/gpu_stream.hpp"

namespace tandem::libtorch::detail {
namespace {

bool is_on_gpu(const torch::nn::Module* module) {
  if (module == nullptr) return false;
  const auto parameters = module->parameters();
  return !parameters.empty() && parameters.front().is_cuda();
}

}  // namespace

struct TorchReplicas::Parts {
  using Sources = std::vector<std::shared_ptr<TorchSource>>;

  Parts(std::shared_ptr<torch::nn::Module> m,
        MakeModule c,
        Ops p,
        const parallel::DataParallelOptions& o)
      : module(std::move(m)),
        copy(std::move(c)),
        ops(p),
        options(checked_options(o, is_on_gpu(module.get()))) {
    TANDEM_CHECK(module != nullptr, "DataParallel: there is no module; got a null pointer");
    build();
  }

  /// One for each device, with new copies of the module. @throws InvalidArgument  see TorchSource.
  Sources make_sources() const {
    Sources made;
    const auto syncs_of_norms = batch_norm_syncs(*module, ops.batch_norm);
    for (const Device device : options.devices) {
      auto replica = copy();
      follow_trained_buffers(*module, *replica);
      TorchSource::Ops own{
          BatchNorms(*replica, syncs_of_norms, ops.batch_norm), ops.dropout, meetings};
      if (!made.empty()) own.first = made.front();
      made.push_back(std::make_shared<TorchSource>(
          made.empty() ? module : nullptr, std::move(replica), device, std::move(own)));
    }
    return made;
  }

  /// Makes the replicas anew. Where they cannot be copies of the module, nothing has changed.
  void build() {
    const CallerStreams streams(options.devices);
    const c10::InferenceMode off(false);  // calls with grad will use them
    const at::AutoGradMode grad(true);
    Sources made = make_sources();
    ++generation;
    set.reset();  // completes its gradients
    sources = std::move(made);
    set = std::make_shared<parallel::ReplicaSet>(
        std::vector<std::shared_ptr<parallel::ReplicaSource>>(sources.begin(), sources.end()),
        options.devices,
        options,
        parallel::rules_of(options.mode));
    set->set_syncs(syncs);
    for (const auto& source : sources) {
      await_tensors(*source);
      source->settle();
    }
    changes = std::make_shared<ModuleChanges>(sources);
    gradients = ShownGradients(*sources.front());
    hooks = FollowedHooks(*sources.front());
    graph.reset();
  }

  parallel::ReplicaSet& existing_set() {
    if (set == nullptr) build();
    return *set;
  }

  /// Called before each call, in its CallerStreams.
  void follow_module() {
    meetings->await_all_left(options.deadline);
    const TorchSource& first = *sources.front();
    if (set == nullptr || !first.has_parts_of(*module) ||
        !ModuleChanges::has_same_tensors(*module, first))
      build();
    sources.front()->follow_mode(*module);  // the set sees to the others
    changes->tell_tandem();
    changes->find_unseen();
  }

  /// The job of a replica: f(module, replica) in PyTorch's state of the calling thread.
  template <class F>
  auto on_replica(const F& f) const {
    return [all = sources,
            caller = std::make_shared<const CallerState>(
                sources.front()->is_on_host() ? CallerState::of_host() : CallerState()),
            f,
            changes = changes,
            seed = seed](const parallel::Replica& r) {
      const auto& source = all[static_cast<std::size_t>(r.index)];
      context().frame->seed = seed;  // of masks by row
      context().frame->forward = 0;
      changes->tell_torch(static_cast<std::size_t>(r.index));  // before the scope sees versions
      const ReplicaScope scope(source, *caller);
      std::optional<GpuOps> told;
      if (source->device().type == DeviceType::cuda) told.emplace(GpuOps::Threads::calling);
      const NodeOrder order(caller->first_node);
      source->sink().clear();
      source->stopped().begin();
      try {
        if constexpr (std::is_void_v<decltype(f(source->module(), r))>) {
          f(source->module(), r);
          check_draws(source->device());
        } else {
          auto out = f(source->module(), r);
          check_draws(source->device());
          return out;
        }
      } catch (const c10::OutOfMemoryError& e) {
        throw_out_of_memory(source->device(), e);
      } catch (...) {
        source->stopped().rethrow();
        throw;
      }
    };
  }

  void forward(const std::vector<RowRange>& rows, const Body& body) {
    const CallerStreams streams(options.devices);
    follow_module();
    if (graph == nullptr)
      graph = std::make_unique<BroadcastParameters>(replicated_parameters(sources, ops.unused));
    graph->attach();
    CallGenerators generators(options.devices);
    seed = generators.seed();
    set->forward(rows, on_replica(body));
    finish(generators);
  }

  /// A call has taken effect.
  void finish(CallGenerators& generators) {
    generators.keep();
    if (ops.dropout != DropoutMask::by_row || has_warned || !generators.have_drawn()) return;
    has_warned = true;
    TORCH_WARN(
        "DataParallel: dropout is by_row, but another random op of ",
        module->name(),
        " has drawn from the devices' own generators, so that results depend on the devices and on "
        "the chunks; by_row holds for torch::nn::Dropout and torch::dropout of the batch's rows");
  }

  /// Where the gradients are after a call.
  enum class Gradients : std::uint8_t { on_first_device, in_shares };
  /// After a step.
  Gradients after_step(const GetOptimizer& optimizer) const {
    const bool shares = optimizer != nullptr && parallel::rules_of(options.mode).reduction.to ==
                                                    parallel::Reduction::To::shares;
    return shares ? Gradients::in_shares : Gradients::on_first_device;
  }
  /// Runs a call of the set: f(set, optimizer), where the optimizer may be null.
  template <class F>
  auto call(const GetOptimizer& get, Gradients after, F&& f) {
    const CallerStreams streams(options.devices);
    follow_module();
    if (graph != nullptr) graph->detach();  // the replicas' parameters are leaves again
    graph.reset();
    gradients.take();
    optim::Optimizer* const optimizer = get == nullptr ? nullptr : &get();
    CallGenerators generators(options.devices);
    seed = generators.seed();
    const CallEnd end(*this, after);
    auto result = f(*set, optimizer);
    finish(generators);
    return result;
  }

  /// The same for a step, or one without effect: f(set, work of the set).
  template <class F>
  auto call_step(const StepWork& work, F&& f) {
    const auto take = [&](parallel::ReplicaSet& all, optim::Optimizer* optimizer) {
      hooks.follow();
      return f(all, parallel::ReplicaSet::StepWork{work.batch, on_replica(work.loss), optimizer});
    };
    return call(work.optimizer, after_step(work.optimizer), take);
  }

  /// Shows PyTorch what a call has written, whether it has failed or not.
  struct CallEnd {
    CallEnd(Parts& parts, Gradients after) : parts_(parts), after_(after) {}
    ~CallEnd() { parts_.end_call(after_); }
    CallEnd(const CallEnd&) = delete;
    CallEnd& operator=(const CallEnd&) = delete;

   private:
    Parts& parts_;
    Gradients after_;
  };
  void end_call(Gradients after) noexcept {
    for (const auto& source : sources)
      end_exchange(*source);
    try {
      if (after == Gradients::in_shares)
        gradients.hide();
      else if (syncs == parallel::GradientSync::off)
        gradients.show_as_they_lie();
      else
        gradients.show();
    } catch (...) {  // a device is lost; the next call says so
    }
    changes->tell_torch();
    at::autocast::clear_cache();  // has casts of parameters, which an update may have changed
  }

  /// The program may use the tensors from now on.
  static void end_exchange(const TorchSource& source) noexcept {
    try {
      await_tensors(source);
    } catch (...) {  // a stream cannot be told to wait, so the host does; the next call tries again
      if (const GpuDevice* gpu = logical_device(source.device()).gpu()) gpu->side_stream()->drain();
    }
  }

  std::shared_ptr<torch::nn::Module> module;
  MakeModule copy;
  Ops ops;
  parallel::DataParallelOptions options;
  const std::shared_ptr<BackwardMeetings> meetings = std::make_shared<BackwardMeetings>();
  Sources sources;
  std::shared_ptr<parallel::ReplicaSet> set;  // null: it could not be made anew
  parallel::GradientSync syncs = parallel::GradientSync::on;
  std::shared_ptr<ModuleChanges> changes;  // kept by jobs, which may outlive a call
  ShownGradients gradients;
  FollowedHooks hooks;
  std::unique_ptr<BroadcastParameters> graph;  // of the last calls of dp(x); null after a step
  std::uint64_t generation = 0;
  std::uint64_t seed = 0;   // of the call that runs
  bool has_warned = false;  // of draws by device
};

bool is_out_of_memory(const std::exception& e) noexcept {
  return dynamic_cast<const c10::OutOfMemoryError*>(&e) != nullptr;
}

TorchReplicas::TorchReplicas(std::shared_ptr<torch::nn::Module> module,
                             MakeModule copy,
                             Ops ops,
                             const parallel::DataParallelOptions& options)
    : parts_(std::make_unique<Parts>(std::move(module), std::move(copy), ops, options)) {}

TorchReplicas::~TorchReplicas() {
  if (parts_->set != nullptr) parts_->set->cancel();
}

const std::vector<Device>& TorchReplicas::devices() const noexcept {
  return parts_->options.devices;
}

std::vector<RowRange> TorchReplicas::plan(std::int64_t rows) {
  return parts_->existing_set().plan(rows);
}

const parallel::ChunkPolicy& TorchReplicas::policy() {
  return parts_->existing_set().policy();
}

std::size_t TorchReplicas::parameter_nbytes() {
  return parts_->existing_set().parameter_nbytes();
}

torch::nn::Module& TorchReplicas::replica(int index) {
  const CallerStreams streams(devices());
  parts_->follow_module();
  const auto& source = parts_->sources.at(static_cast<std::size_t>(index));
  source->follow_mode(*parts_->module);
  return source->module();
}

parallel::StepResult TorchReplicas::step(const StepWork& work,
                                         const parallel::StepOptions& options) {
  return parts_->call_step(
      work, [&](parallel::ReplicaSet& set, const auto& own) { return set.step(own, options); });
}

parallel::StepModel TorchReplicas::measure(const StepWork& work) {
  return parts_->call_step(
      work, [](parallel::ReplicaSet& set, const auto& own) { return set.measure(own); });
}

std::optional<parallel::StepProbe> TorchReplicas::try_batch(const StepWork& work) {
  return parts_->call_step(
      work, [](parallel::ReplicaSet& set, const auto& own) { return set.try_batch(own); });
}

void TorchReplicas::forward(const std::vector<RowRange>& rows, const Body& body) {
  parts_->forward(rows, body);
}

bool TorchReplicas::is_on_host() const noexcept {
  return parts_->sources.front()->is_on_host();
}

void TorchReplicas::run_own_update(RowRange rows, const std::function<void()>& step) {
  const auto place = is_on_host() ? ParameterPlace::host : ParameterPlace::device;
  libtorch::run_own_update({.index = 0, .device = devices().front(), .rows = rows}, place, step);
}

void TorchReplicas::update(const GetOptimizer& optimizer) {
  constexpr auto kAfter = Parts::Gradients::on_first_device;
  parts_->call(optimizer, kAfter, [&](parallel::ReplicaSet&, optim::Optimizer* update) {
    parts_->gradients.take_written();
    update->step();
    return true;
  });
}

void TorchReplicas::sync() {
  constexpr auto kAfter = Parts::Gradients::on_first_device;
  parts_->call(nullptr, kAfter, [](parallel::ReplicaSet& set, optim::Optimizer*) {
    set.sync();
    return true;
  });
}

std::uint64_t TorchReplicas::generation() const noexcept {
  return parts_->generation;
}

std::optional<optim::NamedParameter> TorchReplicas::find_parameter(const at::Tensor& x) const {
  for (const TorchSource::Slot& slot : parts_->sources.front()->slots()) {
    if (slot.kind == nn::TensorKind::parameter && slot.own.is_same(x))
      return optim::NamedParameter{slot.name, slot.shown};
  }
  return std::nullopt;
}

void TorchReplicas::set_syncs(parallel::GradientSync sync) {
  parts_->syncs = sync;
  if (parts_->set != nullptr) parts_->set->set_syncs(sync);
}

parallel::GradientSync TorchReplicas::syncs() const noexcept {
  return parts_->syncs;
}

}  // namespace tandem::libtorch::detail
