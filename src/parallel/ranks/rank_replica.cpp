// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/detail/rank_replica.hpp"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/comm/row_group_adapter.hpp"
#include "tandem/core/check.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/elementwise.hpp"
#include "tandem/runtime/generator.hpp"
#include "tandem/tensor/factories.hpp"

#include "parallel/ranks/rank_state.hpp"
#include "parallel/ranks/same_module.hpp"
#include "parallel/replicas/check_unwrapped.hpp"

namespace tandem::parallel {
namespace {

std::vector<std::size_t> sizes_of(const optim::ArenaLayout& layout,
                                  const std::vector<Bucket>& buckets) {
  std::vector<std::size_t> sizes;
  for (const Bucket& bucket : buckets) {
    std::size_t elements = 0;
    for (const Share& run : bucket.runs)
      elements += static_cast<std::size_t>(run.size());
    sizes.push_back(elements *
                    itemsize(layout.blocks()[static_cast<std::size_t>(bucket.block)].dtype));
  }
  return sizes;
}

std::string names_of(const optim::ArenaLayout& layout, const std::vector<std::size_t>& places) {
  std::string names;
  for (const std::size_t p : places)
    names += (names.empty() ? "'" : ", '") + layout.places()[p].name + "'";
  return names;
}

}  // namespace

RankReplica::State::State(nn::Module& m,
                          comm::Communicator& c,
                          const DistributedDataParallelOptions& o)
    : module(m),
      comm(c),
      options(o),
      replica(c.rank(), c.device(), m),
      row_group(std::make_shared<comm::RowGroupAdapter>(c)),
      row_members(static_cast<std::size_t>(c.size()), true),
      forwards(default_generator().forwards().load(std::memory_order_relaxed)) {
  check_module();
  check_same_module(module, comm);
  std::vector<optim::ArenaEntry> entries;
  for (const nn::NamedTensor& p : module.named_parameters())
    entries.push_back({p.name, p.tensor});
  replica.bind_parameters(optim::Arena::obtain(std::move(entries), {}));
  const optim::ArenaLayout& layout = params().layout();
  make_reducer(plan_buckets(layout, options.first_bucket_nbytes, options.bucket_nbytes));
  log.world_size = comm.size();
  log.rank = comm.rank();
  log.num_parameter_tensors = layout.places().size();
  log.total_parameter_size_bytes = layout.nbytes();
  log.bucket_sizes = sizes_of(layout, replica.reducer()->buckets());
  send(0);
  watch();
}

void RankReplica::State::make_reducer(std::vector<Bucket> buckets) {
  replica.reduce_by(std::make_shared<const std::vector<Bucket>>(std::move(buckets)),
                    {.to = Reduction::To::all});
  replica.reducer()->set_factor(1.0 / comm.size());
  replica.reducer()->set_hook(hook);
}

void RankReplica::State::check_module() const {
  bool trains = false;
  check_unwrapped(module,
                  {"DistributedDataParallel",
                   "use that wrapper, or end it first",
                   "Give each rank a module of its own (nn::clone), or end that wrapper first"});
  nn::visit_tensors(module, [&](const std::string& name, Tensor& x, nn::TensorKind) {
    trains |= x.requires_grad();
    TANDEM_CHECK(x.device() == comm.device(),
                 "DistributedDataParallel: '",
                 name,
                 "' is on ",
                 x.device(),
                 ", this rank on ",
                 comm.device(),
                 "; call module.to(rank.device()) first. If ranks have plain copies of one module, "
                 "these share their tensors: give each rank its own by nn::clone");
  });
  TANDEM_CHECK(trains,
               "DistributedDataParallel: no parameter of the module requires a gradient; use the "
               "module itself");
}

void RankReplica::State::send(int root) const {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::replicate; });
  for (std::size_t b = 0; b < params().layout().blocks().size(); ++b)
    comm.broadcast(params().params(static_cast<int>(b)), root);
  for (const Tensor& buffer : module.buffers())
    comm.broadcast(buffer, root);
}

void RankReplica::State::watch() {
  for (std::size_t p = 0; p < params().layout().places().size(); ++p) {
    sources.push_back(std::make_shared<Source>(*this, p));
    if (const Tensor x = params().tensor(p); x.requires_grad())
      autograd::set_gradient_source(x, sources.back());
  }
  replica.watch_gradients([this] {
    began = true;
    moments.last_gradient = Clock::now();
  });
  for (nn::Module* part : module.modules())
    nn::detail::Wrapping::mark(*part, token);
  replica.parameters()->claim(token);
}

void RankReplica::State::complete(std::size_t place) {
  if (!replica.reducer()->is_armed()) return;
  if (context().phase != Phase::backward) {
    if (is_reducing()) finish();
    return;
  }
  TANDEM_CHECK(!reduces || !replica.reducer()->is_complete(place),
               "DistributedDataParallel: a second backward of one forward reaches '",
               params().layout().places()[place].name,
               "', whose gradient is being reduced; add the losses up, call the wrapper once for "
               "each backward, or run all but the last backward under no_sync");
}

void RankReplica::State::refuse_missing(const std::vector<std::size_t>& missing) {
  replica.reducer()->disarm();
  began = false;
  throw InvalidArgument(tandem::detail::concat(
      "DistributedDataParallel: on rank ",
      comm.rank(),
      " the loss does not depend on ",
      names_of(params().layout(), missing),
      ", while the others wait for their gradients; set find_unused_parameters, or let every "
      "output count"));
}

void RankReplica::State::check_static(const std::vector<std::size_t>& missing) {
  if (!static_missing || *static_missing == missing) {
    static_missing = missing;
    return;
  }
  std::vector<std::size_t> other;
  std::ranges::set_symmetric_difference(*static_missing, missing, std::back_inserter(other));
  replica.reducer()->disarm();
  began = false;
  throw InvalidArgument(tandem::detail::concat(
      "DistributedDataParallel: static_graph is set, but on rank ",
      comm.rank(),
      " this backward differs from the first one in ",
      names_of(params().layout(), other),
      "; every iteration has to use the same parameters, or set find_unused_parameters"));
}

std::vector<std::uint8_t> RankReplica::State::used_anywhere() const {
  const std::vector<std::uint8_t>& used = replica.reducer()->used();
  const Tensor flags = from_host(
      std::span<const std::uint8_t>(used), {static_cast<std::int64_t>(used.size())}, comm.device());
  comm.all_reduce(flags, comm::ReduceOp::max);
  return flags.to_host<std::uint8_t>();
}

void RankReplica::State::finish() {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::reduce; });
  const std::vector<std::size_t> missing = replica.reducer()->missing();
  if (options.static_graph && !has_joined) check_static(missing);
  const bool finds = options.find_unused_parameters || (options.static_graph && !static_used);
  if (!missing.empty() && !finds && !options.static_graph && !has_joined) refuse_missing(missing);
  replica.reducer()->finish();
  // After the buckets, of which ranks that miss gradients have started fewer than others.
  std::vector<std::uint8_t> used(replica.reducer()->used().size(), 1);
  if (finds)
    used = used_anywhere();
  else if (options.static_graph)
    used = *static_used;
  if (options.static_graph) static_used = used;
  began = unreduced = false;
  for (const std::size_t p : missing) {
    const Tensor x = params().tensor(p);
    if (used[p] != 0 && !autograd::stored_gradient(x).defined()) x.set_grad(params().gradient(p));
  }
  note_iteration();
}

void RankReplica::State::note_iteration() {
  const std::vector<std::size_t>& ready = replica.reducer()->ready();
  if (!log.has_rebuilt_buckets && !options.find_unused_parameters && comm.size() > 1)
    rebuild_order = ready;
  last_ready = ready;
  ++log.iterations;
  if (has_joined) return;
  const auto end = Clock::now();
  const auto first = replica.reducer()->first_launch().value_or(end);
  DdpTimes& last = log.last;
  last.forward_compute = moments.forward_end - moments.forward_begin;
  last.backward_compute = moments.last_gradient - moments.forward_end;
  last.backward_comm = end - first;
  last.backward_compute_comm_overlap =
      std::max(moments.last_gradient - first, Clock::duration::zero());
  ++timed;
  const auto mean = [&](std::chrono::nanoseconds DdpTimes::*part) {
    (log.avg.*part) += (last.*part - log.avg.*part) / timed;
  };
  mean(&DdpTimes::forward_compute);
  mean(&DdpTimes::backward_compute);
  mean(&DdpTimes::backward_comm);
  mean(&DdpTimes::backward_compute_comm_overlap);
}

void RankReplica::State::rebuild_buckets() {
  const autograd::NoGrad off;
  const std::size_t places = params().layout().places().size();
  std::vector<std::int64_t> order(places, -1);
  std::ranges::copy(*rebuild_order, order.begin());
  const Tensor shared = from_host(
      std::span<const std::int64_t>(order), {static_cast<std::int64_t>(places)}, comm.device());
  comm.broadcast(shared, 0);
  std::vector<std::size_t> ready;
  for (const std::int64_t p : shared.to_host<std::int64_t>())
    if (p >= 0) ready.push_back(static_cast<std::size_t>(p));
  make_reducer(plan_buckets_as_ready(
      params().layout(), ready, options.first_bucket_nbytes, options.bucket_nbytes));
  rebuild_order.reset();
  log.has_rebuilt_buckets = true;
  log.rebuilt_bucket_sizes = sizes_of(params().layout(), replica.reducer()->buckets());
}

void RankReplica::State::arm(GradientSync how) {
  began = false;
  reduces = how == GradientSync::on;
  replica.reducer()->arm(reduces && comm.size() > 1 ? &comm : nullptr,
                         0,
                         unreduced ? BucketReducer::Used::kept : BucketReducer::Used::fresh);
  unreduced |= !reduces;
}

RankReplica::RankReplica(nn::Module& module,
                         comm::Communicator& comm,
                         const DistributedDataParallelOptions& options)
    : state_(std::make_unique<State>(module, comm, options)) {}

RankReplica::~RankReplica() {
  // The others count on the rest of a reduction; after a failure they are told of that.
  if (!state_->is_reducing() || std::uncaught_exceptions() > 0) return;
  try {
    state_->finish();
  } catch (const std::exception& e) {
    state_->comm.abort(e.what());
  }
}

std::shared_ptr<const Context> RankReplica::begin_forward(std::optional<std::int64_t> rows) {
  State& s = *state_;
  if (s.is_reducing()) s.finish();
  s.moments.forward_begin = State::Clock::now();
  if (!context().grad_enabled) return share_context();
  auto c = std::make_shared<Context>(context());
  const autograd::NoGrad off;
  const ForwardRows forward = s.prepare(rows.value_or(1));
  c->rows = forward.range_of(s.comm.rank());
  const auto own = static_cast<double>(c->rows.end - c->rows.begin);
  const auto all = static_cast<double>(forward.all_rows());
  const bool by_rows = s.options.average == Average::rows && all > 0;
  s.weight = by_rows ? own * s.comm.size() / all : 1;
  c->row_group = s.row_group;
  c->batch_rows = forward.all_rows();
  c->frame = std::make_shared<ForwardFrame>(
      ForwardFrame{.seed = default_generator().seed(), .forward = s.forwards++});
  s.arm(s.sync);
  return c;
}

void RankReplica::end_forward() noexcept {
  state_->moments.forward_end = state_->moments.last_gradient = State::Clock::now();
}

void RankReplica::register_comm_hook(CommHook hook) {
  State& s = *state_;
  TANDEM_CHECK(!s.is_reducing(),
               "register_comm_hook: a backward is under way; read a gradient, or let the optimizer "
               "step, first");
  TANDEM_CHECK(!s.hook, "register_comm_hook: there is a hook already; one hook can call another");
  s.hook = std::move(hook);
  s.replica.reducer()->set_hook(s.hook);
}

DdpLoggingData RankReplica::logging_data() const {
  DdpLoggingData log = state_->log;
  for (const std::size_t p : state_->last_ready)
    log.prev_iteration_grad_ready_order.push_back(state_->params().layout().places()[p].name);
  return log;
}

Tensor RankReplica::weighted(const Tensor& output) const {
  if (state_->weight == 1 || !output.requires_grad()) return output;
  return autograd::record(
      "weighted",
      as_strided(output, output.shape(), output.strides(), output.impl().offset),
      {output},
      [weight = state_->weight](const Tensor& dy) { return autograd::Gradients{dy * weight}; });
}

void RankReplica::set_syncs(GradientSync sync) noexcept {
  state_->sync = sync;
}

GradientSync RankReplica::syncs() const noexcept {
  return state_->sync;
}

}  // namespace tandem::parallel
