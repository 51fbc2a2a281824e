// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/ranks/rank_units.hpp"

#include <algorithm>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradient_source.hpp"
#include "tandem/runtime/context.hpp"

#include "parallel/units/block_shares.hpp"

namespace tandem::parallel {

using Of = BlockStore::Of;

/// Gives the ranks rank 0's values, a block at a time, and keeps this rank's shares of them.
class RankUnits::Keeper final : public optim::ArenaKeeper {
 public:
  Keeper(std::shared_ptr<RankShares> shares,
         comm::Communicator& all,
         std::vector<std::string> units)
      : shares_(std::move(shares)), all_(all), units_(std::move(units)) {}
  bool keeps_values() const noexcept override { return true; }
  void keep(int /*block*/, const Tensor& values) override {
    const ContextScope scope([](Context& c) { c.phase = Phase::replicate; });
    all_.broadcast(values, 0);
    shares_->add_block(values);
  }
  void end(const optim::Arena& arena) override {
    shares_->add_gradients(arena.layout(), units_);
    sleeping_ = SleepingBlocks::of(shares_, arena, shares_->rank());
  }
  const std::shared_ptr<SleepingBlocks>& sleeping() const noexcept { return sleeping_; }

 private:
  std::shared_ptr<RankShares> shares_;
  comm::Communicator& all_;
  std::vector<std::string> units_;
  std::shared_ptr<SleepingBlocks> sleeping_;
};

RankUnits::RankUnits(DeviceReplica& replica, comm::Communicator& all, const RankSharding& sharding)
    : replica_(replica),
      all_(all),
      sharding_(sharding),
      shares_(std::make_shared<RankShares>(*sharding.shard,
                                           sharding.options.prefetch.value_or(1),
                                           sharding.options.offload,
                                           sharding.precision.reduce_dtype)) {}

RankUnits::~RankUnits() {
  shares_->end();
}

std::shared_ptr<RankUnits> RankUnits::bind(DeviceReplica& replica,
                                           comm::Communicator& all,
                                           const RankSharding& sharding) {
  auto units = std::make_shared<RankUnits>(replica, all, sharding);
  auto entries = arena_entries(replica.source(), nn::TensorKind::parameter);
  std::vector<std::string> paths = replica.source().unit_paths(sharding.options.units);
  assign_units(entries, paths);
  const auto ranks = static_cast<std::size_t>(sharding.shard->size());
  const auto keeper = std::make_shared<Keeper>(units->shares_, all, std::move(paths));
  replica.bind_parameters(
      optim::Arena::bind(entries,
                         {.padding = BlockShares::padding(ranks, sharding.options.whole_tensors),
                          .keeper = keeper,
                          .device = replica.device(),
                          .dtype = sharding.precision.param_dtype}));
  units->sleeping_ = keeper->sleeping();
  units->sleeping_->keep_values(!sharding.options.reshard_after_forward);
  units->sleeping_->set_writes(SleepingBlocks::Writes::refused);
  replica.reduce_by(std::make_shared<const std::vector<Bucket>>(
                        plan_block_buckets(replica.parameters()->layout())),
                    {.to = Reduction::To::shares});
  replica.let_sleep(units->sleeping_);
  replica.parameters()->share(units);
  units->unchanged_.emplace(replica.source(), replica.parameters());
  return units;
}

void RankUnits::begin_forward(Context& c) const {
  sleeping_->sleep();
  shares_->begin_pass(GatherOrder::Pass::forward);
  c.phase = Phase::forward;
}

void RankUnits::end_forward() const {
  sleeping_->check_unwritten();
  if (!context().grad_enabled) sleeping_->sleep();
  shares_->begin_pass(GatherOrder::Pass::backward);
}

void RankUnits::begin_backward() const {
  sleeping_->begin_backward({});
}

void RankUnits::note_earlier_gradients() {
  const autograd::NoGrad off;
  std::vector<std::uint8_t> adds_to = replica_.blocks_with_gradients();
  const optim::Arena& arena = *replica_.parameters();
  earlier_.clear();
  for (const std::size_t p : arena.layout().place_indices()) {
    const optim::ArenaPlace& place = arena.layout().places()[p];
    if (autograd::stored_gradient(arena.tensor(p)).defined())
      earlier_.push_back(p);
    else if (adds_to[static_cast<std::size_t>(place.block)] != 0)
      shares_->clear_gradients(place.block, {place.offset, place.offset + place.extent});
  }
  shares_->begin_backward(std::move(adds_to));
}

void RankUnits::discard_backward() {
  sleeping_->discard_gradients(false);
  shares_->discard_backward();
  const optim::Arena& arena = *replica_.parameters();
  for (const std::size_t p : arena.layout().place_indices())
    if (std::ranges::find(earlier_, p) == earlier_.end()) arena.tensor(p).set_grad({});
}

void RankUnits::open() {
  sleeping_->sleep();
  optim::Arena& arena = *replica_.parameters();
  std::vector<Tensor> masters;
  for (const int b : arena.layout().block_indices())
    masters.push_back(shares_->gather_masters(b));
  for (const int b : arena.layout().block_indices()) {
    Tensor& own = masters[static_cast<std::size_t>(b)];
    opened_versions_.push_back(own.buffer().version());
    asleep_.push_back(arena.exchange_values(b, std::move(own)));
  }
}

void RankUnits::close(Changes changes) {
  optim::Arena& arena = *replica_.parameters();
  for (std::size_t b = 0; b < asleep_.size(); ++b) {
    const int block = static_cast<int>(b);
    const Tensor masters = arena.exchange_values(block, std::move(asleep_[b]));
    if (changes == Changes::written_back && masters.buffer().version() != opened_versions_[b])
      shares_->scatter(Of::values, block, masters);
  }
  asleep_.clear();
  opened_versions_.clear();
  sleeping_->note_updated();
}

std::vector<optim::ArenaSlice> RankUnits::slices() const {
  std::vector<optim::ArenaSlice> slices;
  for (const int b : replica_.parameters()->layout().block_indices()) {
    const Share own = shares_->share(b);
    slices.push_back({replica_.device(),
                      b,
                      own.begin,
                      own.end,
                      shares_->at(Of::values, b, shares_->rank()),
                      shares_->at(Of::gradients, b, shares_->rank())});
  }
  return slices;
}

void RankUnits::share_gradients() {
  complete_();
  sleeping_->sleep();
}

void RankUnits::update(const std::function<std::exception_ptr(Device)>& part) {
  const std::exception_ptr error = part(replica_.device());
  sleeping_->note_updated();
  if (error != nullptr) std::rethrow_exception(error);
}

void RankUnits::agree() const {
  all_.barrier();
}

void RankUnits::all_reduce(const Tensor& value, OverRanks how) const {
  const autograd::NoGrad off;
  const Tensor here = value.to(replica_.device());
  sharding_.shard->all_reduce(here,
                              how == OverRanks::sum ? comm::ReduceOp::sum : comm::ReduceOp::max);
  if (!here.is(value)) Tensor(value).copy_(here);
}

}  // namespace tandem::parallel
