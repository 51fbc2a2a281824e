// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/rank_replica.hpp"

#include <exception>
#include <span>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradient_source.hpp"
#include "tandem/comm/row_group_adapter.hpp"
#include "tandem/core/check.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/elementwise.hpp"
#include "tandem/optim/arena.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "parallel/buckets.hpp"
#include "parallel/same_module.hpp"

// Note [When a rank's reduction ends]: hooks start a bucket's reduction when its last gradient is
// made. Nothing tells the end of a backward, so the rest is done by whoever reads a gradient next,
// by way of its GradientSource, or by the next forward. What a source is asked for in a backward
// (Phase::backward) is the leaf that is to be added to: it only must not be under way already.
namespace tandem::parallel {

struct RankReplica::State {
  /// Of one parameter.
  class Source final : public autograd::GradientSource {
   public:
    Source(State& state, std::size_t place) : state_(state), place_(place) {}
    void complete() override { state_.complete(place_); }

   private:
    State& state_;
    std::size_t place_;
  };

  State(nn::Module& m, comm::Communicator& c, const DistributedDataParallelOptions& o)
      : module(m),
        comm(c),
        options(o),
        row_group(std::make_shared<comm::RowGroupAdapter>(c)),
        forwards(Runtime::instance().forwards().load(std::memory_order_relaxed)) {
    check_module();
    check_same_module(module, comm);
    bind();
    send();
    watch();
  }
  ~State() {
    for (std::size_t p = 0; p < sources.size(); ++p) {
      const Tensor x = params->tensor(p);
      if (x.defined() && x.requires_grad()) autograd::set_accumulate_hook(x, nullptr);
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void check_module() const;
  void bind();
  void send() const;
  void watch();
  void complete(std::size_t place);
  void finish();
  void refuse_missing(const std::vector<std::size_t>& missing);
  /// By place: some rank has made a gradient.
  std::vector<double> used_anywhere() const;
  RowRange share_rows(std::optional<std::int64_t> rows, std::int64_t& all) const;

  nn::Module& module;
  comm::Communicator& comm;
  DistributedDataParallelOptions options;
  std::shared_ptr<optim::Arena> params;
  std::unique_ptr<BucketReducer> reducer;
  std::vector<std::shared_ptr<Source>> sources;  // by place
  std::shared_ptr<RowGroup> row_group;
  std::shared_ptr<const int> token = std::make_shared<const int>(0);  // of the marks of the module
  GradientSync sync = GradientSync::on;
  bool began = false;      // a backward has made a gradient since the last forward
  bool unreduced = false;  // gradients of earlier backwards have not been reduced
  double weight = 1;       // of this rank's outputs: 1 where all ranks have as many rows
  std::uint64_t forwards;  // top-level ones before the next
};

void RankReplica::State::check_module() const {
  bool trains = false;
  for (const nn::NamedModule& part : module.named_modules()) {
    TANDEM_CHECK(!nn::detail::Wrapping::is_wrapped(*part.module),
                 "DistributedDataParallel: ",
                 part.name.empty() ? "the module" : "'" + part.name + "'",
                 " (",
                 part.module->type_name(),
                 ") is wrapped already, or a replica; use that wrapper, or end it first");
  }
  nn::visit_tensors(module, [&](const std::string& name, Tensor& x, nn::TensorKind) {
    trains |= x.requires_grad();
    TANDEM_CHECK(x.device() == comm.device(),
                 "DistributedDataParallel: '",
                 name,
                 "' is on ",
                 x.device(),
                 ", this rank on ",
                 comm.device(),
                 "; call module.to(rank.device()) first");
  });
  TANDEM_CHECK(trains,
               "DistributedDataParallel: no parameter of the module requires a gradient; use the "
               "module itself");
}

void RankReplica::State::bind() {
  std::vector<optim::ArenaEntry> entries;
  for (const nn::NamedTensor& p : module.named_parameters())
    entries.push_back({p.name, p.tensor});
  params = optim::Arena::obtain(std::move(entries), {});
  reducer = std::make_unique<BucketReducer>(
      params,
      std::make_shared<const std::vector<Bucket>>(
          plan_buckets(params->layout(), options.first_bucket_nbytes, options.bucket_nbytes)),
      ReduceTo::all);
  reducer->set_factor(1.0 / comm.size());
}

void RankReplica::State::send() const {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::replicate; });
  for (std::size_t b = 0; b < params->layout().blocks().size(); ++b)
    comm.broadcast(params->params(static_cast<int>(b)), 0);
  for (const Tensor& buffer : module.buffers())
    comm.broadcast(buffer, 0);
}

void RankReplica::State::watch() {
  for (std::size_t p = 0; p < params->layout().places().size(); ++p) {
    const Tensor x = params->tensor(p);
    sources.push_back(std::make_shared<Source>(*this, p));
    if (!x.requires_grad()) continue;
    autograd::set_gradient_source(x, sources.back());
    autograd::set_accumulate_hook(x, [this, p](const Tensor&) {
      began = true;
      reducer->on_gradient(p);
    });
  }
  for (nn::Module* part : module.modules())
    nn::detail::Wrapping::mark(*part, token);
}

void RankReplica::State::complete(std::size_t place) {
  if (!reducer->is_armed()) return;
  if (context().phase != Phase::backward) {
    if (began && sync == GradientSync::on) finish();
    return;
  }
  TANDEM_CHECK(sync == GradientSync::off || !reducer->is_complete(place),
               "DistributedDataParallel: a second backward of one forward reaches '",
               params->layout().places()[place].name,
               "', whose gradient is being reduced; add the losses up, call the wrapper once for "
               "each backward, or run all but the last backward under no_sync");
}

void RankReplica::State::refuse_missing(const std::vector<std::size_t>& missing) {
  std::string names;
  for (const std::size_t p : missing)
    names += (names.empty() ? "'" : ", '") + params->layout().places()[p].name + "'";
  reducer->disarm();
  began = false;
  throw InvalidArgument(tandem::detail::concat(
      "DistributedDataParallel: on rank ",
      comm.rank(),
      " the loss does not depend on ",
      names,
      ", while the others wait for their gradients; set find_unused_parameters, or let every "
      "output count"));
}

std::vector<double> RankReplica::State::used_anywhere() const {
  const std::vector<std::uint8_t>& used = reducer->used();
  if (!options.find_unused_parameters) return std::vector<double>(used.size(), 1);
  const Tensor flags = from_host(
      std::span<const std::uint8_t>(used), {static_cast<std::int64_t>(used.size())}, comm.device());
  comm.all_reduce(flags, comm::ReduceOp::max);
  return flags.to_doubles();
}

void RankReplica::State::finish() {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::reduce; });
  const std::vector<std::size_t> missing = reducer->missing();
  if (!missing.empty() && !options.find_unused_parameters) refuse_missing(missing);
  const std::vector<double> used = used_anywhere();
  reducer->finish();
  began = unreduced = false;
  for (const std::size_t p : missing) {
    const Tensor x = params->tensor(p);
    if (used[p] != 0 && !autograd::stored_gradient(x).defined()) x.set_grad(params->gradient(p));
  }
}

RowRange RankReplica::State::share_rows(std::optional<std::int64_t> rows, std::int64_t& all) const {
  const std::int64_t own = rows.value_or(1);
  const Tensor mine = from_host(std::span<const std::int64_t>(&own, 1), {1}, comm.device());
  const Tensor counts = zeros({comm.size()}, {.dtype = DType::i64, .device = comm.device()});
  comm.all_gather(mine, counts);
  RowRange range{0, own};
  all = 0;
  const std::vector<double> by_rank = counts.to_doubles();
  for (std::size_t r = 0; r < by_rank.size(); ++r) {
    if (static_cast<int>(r) == comm.rank()) range = {all, all + own};
    all += static_cast<std::int64_t>(by_rank[r]);
  }
  return range;
}

RankReplica::RankReplica(nn::Module& module,
                         comm::Communicator& comm,
                         const DistributedDataParallelOptions& options)
    : state_(std::make_unique<State>(module, comm, options)) {}

RankReplica::~RankReplica() {
  // The others count on the rest of a reduction; after a failure they are told of that.
  if (!state_->began || state_->sync == GradientSync::off || std::uncaught_exceptions() > 0) return;
  try {
    if (state_->reducer->is_armed()) state_->finish();
  } catch (const std::exception& e) {
    state_->comm.abort(e.what());
  }
}

std::shared_ptr<const Context> RankReplica::begin_forward(std::optional<std::int64_t> rows) {
  State& s = *state_;
  if (s.began && s.sync == GradientSync::on && s.reducer->is_armed()) s.finish();
  if (!context().grad_enabled) return share_context();
  auto c = std::make_shared<Context>(context());
  const autograd::NoGrad off;
  std::int64_t all = 0;
  c->rows = s.share_rows(rows, all);
  const auto own = static_cast<double>(c->rows.end - c->rows.begin);
  const bool by_rows = s.options.average == Average::rows && all > 0;
  s.weight = by_rows ? own * s.comm.size() / static_cast<double>(all) : 1;
  if (s.options.broadcast_buffers && s.module.is_training()) {
    for (const Tensor& buffer : s.module.buffers())
      s.comm.broadcast(buffer, 0);
  }
  c->row_group = s.row_group;
  c->frame =
      std::make_shared<ForwardFrame>(ForwardFrame{Runtime::instance().seed(), s.forwards++, {}});
  s.began = false;
  const bool reduces = s.sync == GradientSync::on;
  s.reducer->arm(reduces && s.comm.size() > 1 ? &s.comm : nullptr,
                 0,
                 s.unreduced ? BucketReducer::Used::kept : BucketReducer::Used::fresh);
  s.unreduced |= !reduces;
  return c;
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
