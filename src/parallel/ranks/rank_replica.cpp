// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/detail/rank_replica.hpp"

#include <exception>
#include <string>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/tape_context.hpp"
#include "tandem/core/check.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/runtime/generator.hpp"

#include "parallel/ranks/rank_gradients.hpp"
#include "parallel/ranks/rank_units.hpp"
#include "parallel/ranks/row_weight.hpp"
#include "parallel/ranks/whole_parameters.hpp"
#include "parallel/replicas/call/rank_rows.hpp"
#include "parallel/replicas/device/check_unwrapped.hpp"
#include "parallel/replicas/device/module_move.hpp"
#include "parallel/replicas/device/module_source.hpp"
#include "parallel/replicas/device/same_module.hpp"

namespace tandem::parallel {
namespace {

using tandem::detail::concat;

/// Checks that a rank can train the module, which every rank has alike. @return the module
nn::Module& checked(nn::Module& module,
                    comm::Communicator& comm,
                    Device device,
                    const char* wrapper) {
  check_unwrapped(module,
                  {wrapper,
                   "use that wrapper, or end it first",
                   "Give each rank a module of its own (nn::clone), or end that wrapper first"});
  bool trains = false;
  nn::visit_tensors(module, [&](const std::string& name, Tensor& x, nn::TensorKind) {
    trains |= x.requires_grad();
    TANDEM_CHECK(x.device() == device,
                 wrapper,
                 ": '",
                 name,
                 "' is on ",
                 x.device(),
                 ", but ",
                 device == comm.device() ? "this rank is on " : "init_on is ",
                 device,
                 device == comm.device() ? "; call module.to(rank.device()) first"
                                         : "; move the module there first",
                 ". If ranks have plain copies of one module, the copies share their tensors; give "
                 "each rank a clone (nn::clone)");
  });
  TANDEM_CHECK(trains,
               wrapper,
               ": no parameter of the module requires a gradient; use the "
               "module itself");
  ModuleSource source(module);
  check_same_module(source, comm, wrapper);
  return module;
}

/// What errors call the wrapper.
const char* wrapper_name(const std::optional<RankSharding>& sharding) {
  return sharding ? RankUnits::kWrapper : WholeParameters::kWrapper;
}

/// Puts the module's parameters into an arena.
std::shared_ptr<RankParameters> bind_parameters(DeviceReplica& replica,
                                                comm::Communicator& comm,
                                                const DistributedDataParallelOptions& options,
                                                const std::optional<RankSharding>& sharding) {
  if (sharding) return RankUnits::bind(replica, comm, *sharding);
  return std::make_shared<WholeParameters>(replica, comm, options.exchange);
}

/// Moves the module's buffers to the replica's device.
void move_buffers(const DeviceReplica& replica) {
  auto entries = arena_entries(replica.source(), nn::TensorKind::buffer);
  if (!entries.empty())
    optim::Arena::obtain(std::move(entries),
                         {.category = Category::buffer, .device = replica.device()});
}

/// The place of a forward's random numbers, which is the same on all ranks.
std::shared_ptr<ForwardFrame> frame_of(const ForwardRows& forward) {
  return std::make_shared<ForwardFrame>(
      ForwardFrame{.seed = default_generator().seed(), .forward = forward.forwards});
}

}  // namespace

// Note [Joined ranks]: before each forward the ranks tell each other their rows, or that they have
// no more batches. A rank that has joined goes through the same exchanges as the others from there
// on: buffers, buckets (of zeros), flags of used parameters. What the ranks' forwards exchange is
// among those that are active: the group of their rows is made anew when one joins.

/// What a rank's wrapper is made of.
struct RankReplica::Parts {
  Parts(nn::Module& m,
        comm::Communicator& c,
        const DistributedDataParallelOptions& o,
        const std::optional<RankSharding>& sharding,
        const std::optional<Device>& init_on)
      : module(checked(m, c, init_on.value_or(c.device()), wrapper_name(sharding))),
        comm(c),
        options(o),
        replica(c.rank(), c.device(), m),
        move(replica.source(), c.device()),
        parameters(bind_parameters(replica, c, options, sharding)),
        gradients(replica, c, options, parameters),
        rows(c) {}

  nn::Module& module;
  comm::Communicator& comm;
  DistributedDataParallelOptions options;
  DeviceReplica replica;
  ModuleMove move;
  std::shared_ptr<RankParameters> parameters;
  RankGradients gradients;
  RankRows rows;
  std::shared_ptr<const int> token = std::make_shared<const int>(0);  // for the marks on the module
  double weight = 1;  // of this rank's outputs; 1 if all ranks have equally many rows
  std::shared_ptr<const ForwardFrame> frame;  // of a forward that counts, while it runs
  std::optional<JoinOptions> joining;
  int authority = 0;  // the first of the ranks that joined last
};

RankReplica::RankReplica(nn::Module& module,
                         comm::Communicator& comm,
                         const DistributedDataParallelOptions& options,
                         const std::optional<RankSharding>& sharding,
                         std::optional<Device> init_on)
    : parts_(std::make_unique<Parts>(module, comm, options, sharding, init_on)) {
  if (init_on) move_buffers(parts_->replica);
  send(0);
  for (nn::Module* part : module.modules())
    nn::detail::Wrapping::mark(*part, parts_->token);
  parts_->replica.parameters()->claim(parts_->token);
  parts_->move.complete();
}

RankReplica::~RankReplica() {
  // The other ranks wait for the rest of a reduction. If this rank has failed, they are told so.
  if (std::uncaught_exceptions() > 0) return;
  try {
    parts_->gradients.complete();
  } catch (const std::exception& e) {
    parts_->comm.abort(e.what());
  }
}

void RankReplica::send(int root) const {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::replicate; });
  parts_->parameters->send(root);
  for (const Tensor& buffer : parts_->module.buffers())
    parts_->comm.broadcast(buffer, root);
}

std::shared_ptr<const Context> RankReplica::begin_forward(std::optional<std::int64_t> rows) {
  Parts& p = *parts_;
  p.parameters->check_unchanged();
  p.gradients.complete();
  p.gradients.log().begin_forward();
  auto c = std::make_shared<Context>(context());
  p.parameters->begin_forward(*c);
  if (!c->grad_enabled) return c;
  p.gradients.mark_forward(*c);
  const autograd::NoGrad off;
  const ForwardRows forward = prepare(rows.value_or(1));
  c->rows = forward.range_of(p.comm.rank());
  const auto own = static_cast<double>(c->rows.end - c->rows.begin);
  const auto all = static_cast<double>(forward.all_rows());
  const bool by_rows = p.options.average == Average::rows && all > 0;
  p.weight = by_rows ? own * p.comm.size() / all : 1;
  autograd::change_tape_context(*c,
                                [&](autograd::TapeContext& t) { t.row_group = p.rows.group(); });
  c->batch_rows = forward.all_rows();
  if (!c->recomputes || c->frame == nullptr) p.frame = c->frame = frame_of(forward);
  p.gradients.arm();
  return c;
}

ForwardRows RankReplica::prepare(std::int64_t rows) {
  Parts& p = *parts_;
  p.gradients.rebuild_buckets();
  const ForwardRows forward =
      p.rows.exchange(rows,
                      p.gradients.syncs(),
                      p.parameters->order_digest(),
                      default_generator().forwards().load(std::memory_order_relaxed));
  // Note [Forwards of ranks]: dropout's masks are keyed by the count of forwards, which the rank's
  // generator keeps, since a checkpoint saves that. A rank that has joined, or has not read a
  // checkpoint that another one has read, takes the count over from the others.
  default_generator().forwards().store(forward.forwards, std::memory_order_relaxed);
  if (!forward.same_order) p.parameters->forget_order();
  const int first = forward.first_active();
  if (first < 0) return forward;
  p.authority = first;
  if (p.joining && p.joining->throw_on_early_termination && forward.active() < p.comm.size()) {
    std::string names;
    for (int r = 0; r < p.comm.size(); ++r)
      if (!forward.is_active(r)) names += (names.empty() ? "rank " : ", rank ") + std::to_string(r);
    throw InvalidArgument(
        concat("join: ", names, " has no more batches, and throw_on_early_termination is set"));
  }
  p.rows.regroup(forward);
  const bool present = p.joining && p.joining->divide == Divide::by_present_world_size &&
                       p.options.average == Average::world_size;
  p.gradients.divide_by(present ? forward.active() : p.comm.size());
  if (p.options.broadcast_buffers && p.module.is_training()) {
    for (const Tensor& buffer : p.module.buffers())
      p.comm.broadcast(buffer, first);
  }
  return forward;
}

Tensor RankReplica::input(const Tensor& x) const {
  const MixedPrecisionPolicy precision = parts_->parameters->precision();
  const Tensor own = parallel::unweighted(x, parts_->weight);
  const bool casts =
      precision.param_dtype && precision.cast_forward_inputs && x.defined() && is_float(x.dtype());
  return casts ? own.to(*precision.param_dtype) : own;
}

Tensor RankReplica::output(const Tensor& y) const {
  const std::optional<DType> dtype = parts_->parameters->precision().output_dtype;
  const bool casts = dtype && y.defined() && is_float(y.dtype());
  return parallel::weighted(casts ? y.to(*dtype) : y, parts_->weight);
}

void RankReplica::end_forward() {
  const auto frame = std::exchange(parts_->frame, nullptr);
  if (frame != nullptr && (parts_->module.is_training() || frame->drew))
    default_generator().forwards().fetch_add(1, std::memory_order_relaxed);
  parts_->gradients.log().end_forward();
  parts_->parameters->end_forward();
}

void RankReplica::begin_unsharded() {
  parts_->gradients.complete();
  parts_->parameters->open();
}

void RankReplica::end_unsharded(bool write_back) {
  using enum RankParameters::Changes;
  parts_->parameters->close(write_back ? written_back : dropped);
}

void RankReplica::begin_join(const JoinOptions& options) {
  TANDEM_CHECK(!parts_->joining, "join: called inside another join");
  parts_->joining = options;
}

void RankReplica::cancel_join() noexcept {
  parts_->joining.reset();
}

void RankReplica::end_join() {
  parts_->gradients.complete();
  shadow();
  send(parts_->authority);
  cancel_join();
}

void RankReplica::shadow() {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::reduce; });
  while (true) {
    const ForwardRows forward = prepare(-1);
    if (forward.first_active() < 0) return;
    if (forward.syncs) parts_->gradients.reduce_zeros();
  }
}

void RankReplica::register_comm_hook(CommHook hook) {
  parts_->gradients.set_hook(std::move(hook));
}

DdpLoggingData RankReplica::logging_data() const {
  return parts_->gradients.log().data();
}

void RankReplica::set_syncs(GradientSync sync) noexcept {
  parts_->gradients.set_syncs(sync);
}

GradientSync RankReplica::syncs() const noexcept {
  return parts_->gradients.syncs();
}

}  // namespace tandem::parallel
