// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/mode_formulas.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/nn/embedding.hpp"
#include "tandem/nn/module.hpp"
#include "tandem/optim/arena.hpp"

#include "parallel/reduce/buckets.hpp"
#include "parallel/units/block_shares.hpp"
#include "parallel/update/mode_rules.hpp"

namespace tandem::parallel {
namespace {

using tandem::detail::concat;
using Setup = ModeFormulas::Setup;
using UnitBytes = std::map<int, std::size_t>;

bool has_units(const Setup& setup) {
  return setup.devices > 1 && rules_of(setup.mode).has_units();
}

/// The parameters under all their names, in the units and groups that a wrapper gives them.
std::vector<optim::ArenaEntry> entries_of(nn::Module& module, const Setup& setup) {
  std::vector<std::string> paths;
  if (has_units(setup)) paths = setup.sharding.units.paths(module);
  std::vector<optim::ArenaEntry> entries;
  nn::visit_tensors(module, [&](const std::string& name, Tensor& x, nn::TensorKind kind) {
    if (kind != nn::TensorKind::parameter) return;
    optim::ArenaEntry& entry = entries.emplace_back(optim::ArenaEntry{name, x});
    if (has_units(setup)) entry.unit = unit_of(name, paths);
    if (const auto arena = optim::Arena::of(x)) entry.group = arena->group_of(x);
  });
  return entries;
}

UnitBytes bytes_of_units(const optim::ArenaLayout& layout) {
  UnitBytes units;
  for (const optim::ArenaBlock& block : layout.blocks())
    units[block.unit] += block.nbytes();
  return units;
}

/// A module that has parameters of its own.
struct Layer {
  std::vector<int> units;         // that they are in
  bool is_used_backward = false;  // for the gradient of its input
};

class OwnTensors final : public nn::MemberVisitor {
 public:
  void visit_tensor(std::string_view, Tensor& x, nn::TensorKind kind) override {
    if (kind == nn::TensorKind::parameter) tensors.push_back(x);
  }
  void visit_module(std::string_view, nn::Module&) override {}

  std::vector<Tensor> tensors;
};

/// In the order of the tree.
std::vector<Layer> layers_of(nn::Module& module,
                             const std::vector<optim::ArenaEntry>& entries,
                             const optim::ArenaLayout& layout) {
  std::unordered_map<const TensorImpl*, int> unit;
  for (const std::size_t p : layout.place_indices()) {
    const auto block = static_cast<std::size_t>(layout.places()[p].block);
    unit[&entries[layout.sources()[p]].tensor.impl()] = layout.blocks()[block].unit;
  }
  std::vector<Layer> layers;
  bool input_needs_gradient = false;
  for (nn::Module* part : module.modules()) {
    OwnTensors own;
    part->visit_members(own);
    if (own.tensors.empty()) continue;
    Layer& layer = layers.emplace_back();
    const bool is_table = dynamic_cast<nn::Embedding*>(part) != nullptr;  // its input are integers
    layer.is_used_backward = input_needs_gradient && !is_table;
    for (const Tensor& x : own.tensors) {
      layer.units.push_back(unit.at(&x.impl()));
      input_needs_gradient |= x.requires_grad();
    }
  }
  return layers;
}

/// Bytes that a step gathers where a unit's values are given back as soon as another's are used, or
/// stay until the step, or a call of it, ends.
std::size_t gathered_by(const std::vector<Layer>& layers,
                        const UnitBytes& units,
                        const Setup& setup) {
  std::size_t gathered = 0;
  std::set<int> present;
  const auto use = [&](const Layer& layer) {
    for (const int unit : layer.units) {
      if (present.contains(unit)) continue;
      gathered += units.at(unit);
      if (setup.sharding.reshard_after_forward) present.clear();
      present.insert(unit);
    }
  };
  for (std::int64_t k = 0; k < setup.accumulate; ++k) {
    std::ranges::for_each(layers, use);
    if (setup.calls == Setup::Calls::forward_and_backward) present.clear();
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer)
      if (layer->is_used_backward) use(*layer);
  }
  return gathered;
}

/// The most bytes of gradients that the last backward of a step holds where a block's go as soon as
/// the next block's are complete. Shares that are kept elsewhere come to the device first.
class GradientPeak {
 public:
  GradientPeak(const optim::ArenaLayout& layout, const Setup& setup, bool offloads)
      : layout_(layout), buckets_(plan_block_buckets(layout)), lacking_(layout.blocks().size()) {
    if (offloads) parts_ = static_cast<std::size_t>(setup.devices);
    for (const Bucket& bucket : buckets_)
      lacking_[static_cast<std::size_t>(bucket.block)] = bucket.places.size();
    if (setup.accumulate > 1) hold(layout.gradient_nbytes());
    has_begun_.assign(lacking_.size(), setup.accumulate > 1);
  }

  std::size_t take() {
    for (std::size_t p = layout_.places().size(); p-- > 0;) {
      const auto block = static_cast<std::size_t>(layout_.places()[p].block);
      if (lacking_[block] == 0) continue;  // it does not train
      if (!has_begun_[block]) hold(nbytes(block));
      has_begun_[block] = true;
      --lacking_[block];
      while (next_ < buckets_.size() && lacking_[block_of(next_)] == 0)
        reduce_next();
    }
    return most_;
  }

 private:
  std::size_t nbytes(std::size_t block) const { return layout_.blocks()[block].nbytes(); }
  std::size_t block_of(std::size_t bucket) const {
    return static_cast<std::size_t>(buckets_[bucket].block);
  }
  /// Bytes of a block's share that goes through the device.
  std::size_t passing(std::size_t block) const { return parts_ == 0 ? 0 : nbytes(block) / parts_; }
  void hold(std::size_t more) { most_ = std::max(most_, held_ += more); }
  void reduce_next() {
    if (next_ > 0) held_ -= nbytes(block_of(next_ - 1)) + passing(block_of(next_ - 1));
    hold(passing(block_of(next_++)));
  }

  const optim::ArenaLayout& layout_;
  const std::vector<Bucket> buckets_;  // in the order of reduction
  std::vector<std::size_t> lacking_;   // by block: gradients that have not been made
  std::vector<bool> has_begun_;        // by block
  std::size_t parts_ = 0;              // of a block; 0: its shares stay on their devices
  std::size_t next_ = 0, held_ = 0, most_ = 0;
};

/// What each device reduces and updates.
std::vector<std::size_t> own_shares(const optim::ArenaLayout& layout, const Setup& setup) {
  const std::vector<Bucket> buckets =
      has_units(setup)
          ? plan_block_buckets(layout)
          : plan_buckets(layout, setup.exchange.first_bucket_nbytes, setup.exchange.bucket_nbytes);
  std::vector<std::size_t> shares(static_cast<std::size_t>(setup.devices));
  for (const Bucket& bucket : buckets) {
    const DType t = layout.blocks()[static_cast<std::size_t>(bucket.block)].dtype;
    for (int d = 0; d < setup.devices; ++d)
      shares[static_cast<std::size_t>(d)] +=
          static_cast<std::size_t>(share_of(bucket, d, setup.devices).size()) * itemsize(t);
  }
  return shares;
}

Setup checked(Setup setup) {
  TANDEM_CHECK(setup.devices >= 1,
               "ModeFormulas: devices is ",
               setup.devices,
               "; give the number of devices, which is 1 or more");
  TANDEM_CHECK(setup.states >= 0,
               "ModeFormulas: states is ",
               setup.states,
               "; give the tensors of state for each parameter: 2 for Adam, 0 for none");
  TANDEM_CHECK(setup.accumulate >= 1,
               "ModeFormulas: accumulate is ",
               setup.accumulate,
               "; a step needs one micro-batch or more");
  return setup;
}

/// "2 S": nothing for a factor of one.
std::string times(int factor, const std::string& what) {
  if (factor == 0) return "0";
  return factor == 1 ? what : concat(factor, " ", what);
}

}  // namespace

ModeFormulas::ModeFormulas(nn::Module& module, Setup setup) : setup_(checked(std::move(setup))) {
  const std::vector<optim::ArenaEntry> entries = entries_of(module, setup_);
  const auto devices = static_cast<std::size_t>(setup_.devices);
  const optim::ArenaLayout layout(entries,
                                  has_units(setup_)
                                      ? BlockShares::padding(devices, setup_.sharding.whole_tensors)
                                      : optim::BlockPadding{});
  whole_ = layout.nbytes();
  trained_ = layout.gradient_nbytes();
  own_ = own_shares(layout, setup_);
  const UnitBytes units = bytes_of_units(layout);
  units_ = units.size();
  for (const auto& [unit, nbytes] : units)
    largest_ = std::max(largest_, nbytes);
  if (shares_values()) gathered_ = gathered_by(layers_of(module, entries, layout), units, setup_);
  if (shares_gradients()) unreduced_ = GradientPeak(layout, setup_, offloads()).take();
}

bool ModeFormulas::shares_gradients() const noexcept {
  return has_units(setup_);
}

bool ModeFormulas::shares_values() const noexcept {
  return has_units(setup_) && rules_of(setup_.mode).gathers_values();
}

bool ModeFormulas::has_state(int device) const noexcept {
  return device == 0 || rules_of(setup_.mode).reduction.to != Reduction::To::rank_0;
}

void ModeFormulas::check(int device) const {
  TANDEM_CHECK(device >= 0 && device < setup_.devices,
               "ModeFormulas: there is no device ",
               device,
               " among ",
               setup_.devices,
               "; they are numbered from 0");
}

std::size_t ModeFormulas::nbytes(Figure figure, int device) const {
  check(device);
  const auto n = static_cast<std::size_t>(setup_.devices);
  const auto states = static_cast<std::size_t>(setup_.states);
  const std::size_t own = own_[static_cast<std::size_t>(device)];
  if (offloads() && !is_of_step(figure)) return 0;
  switch (figure) {
    case Figure::parameters:
      return shares_values() ? whole_ / n : whole_;
    case Figure::gradients:
      return shares_gradients() ? own : trained_;
    case Figure::state:
      if (!has_state(device)) return 0;
      return states *
             (rules_of(setup_.mode).reduction.to == Reduction::To::shares ? own : trained_);
    case Figure::parameters_in_step:
      if (!shares_values()) return 0;
      return setup_.sharding.reshard_after_forward ? largest_ : whole_;
    case Figure::gradients_in_step:
      return unreduced_;
    case Figure::sent:
      return sent_by(device);
  }
  return 0;
}

std::size_t ModeFormulas::sent_by(int device) const {
  const auto others = static_cast<std::size_t>(setup_.devices - 1);
  if (others == 0) return 0;
  const std::size_t own = own_[static_cast<std::size_t>(device)];
  switch (rules_of(setup_.mode).reduction.to) {
    case Reduction::To::rank_0:
      return device == 0 ? others * whole_ : trained_;
    case Reduction::To::all:
    case Reduction::To::shares:
      break;
  }
  if (offloads()) return trained_;             // its own share too; values come from elsewhere
  const std::size_t reduced = trained_ - own;  // to those who reduce it
  return reduced + (shares_values() ? others * (gathered_ / (others + 1)) : others * own);
}

std::string ModeFormulas::formula(Figure figure, int device) const {
  check(device);
  const std::string trained = trained_ == whole_ ? "S" : "T";
  const std::string share = setup_.devices == 1 ? "" : "/n";
  if (offloads() && !is_of_step(figure)) return "0";
  switch (figure) {
    case Figure::parameters:
      return shares_values() ? "S/n" : "S";
    case Figure::gradients:
      return shares_gradients() ? trained + "/n" : trained;
    case Figure::state:
      if (!has_state(device)) return "0";
      return times(
          setup_.states,
          rules_of(setup_.mode).reduction.to == Reduction::To::shares ? trained + share : trained);
    case Figure::parameters_in_step:
      if (!shares_values()) return "0";
      return setup_.sharding.reshard_after_forward ? "U" : "S";
    case Figure::gradients_in_step:
      if (!shares_gradients()) return "0";
      return (setup_.accumulate > 1 ? trained : "two units") + (offloads() ? " + a share" : "");
    case Figure::sent:
      return formula_of_sent(device);
  }
  return "";
}

std::string ModeFormulas::formula_of_sent(int device) const {
  if (setup_.devices == 1) return "0";
  const std::string trained = trained_ == whole_ ? "S" : "T";
  if (offloads()) return trained;
  if (rules_of(setup_.mode).reduction.to == Reduction::To::rank_0)
    return device == 0 ? "(n-1) S" : trained;
  return shares_values() ? "(n-1)/n (" + trained + " + G)" : "2 (n-1)/n " + trained;
}

std::string ModeFormulas::legend() const {
  std::string text = concat("n = ", setup_.devices, ", S = ", whole_, " bytes of parameters");
  if (shares_gradients()) text += concat(" in ", units_, " units");
  if (trained_ != whole_) text += concat(", T = ", trained_, " bytes of those that train");
  if (shares_values())
    text += concat(", U = ",
                   largest_,
                   " bytes of the largest unit, G = ",
                   gathered_,
                   " bytes that forward and backward gather");
  return text;
}

const char* name(ModeFormulas::Figure figure) noexcept {
  using Figure = ModeFormulas::Figure;
  switch (figure) {
    case Figure::parameters:
      return "parameters";
    case Figure::gradients:
      return "gradients";
    case Figure::state:
      return "state";
    case Figure::parameters_in_step:
      return "parameters in a step";
    case Figure::gradients_in_step:
      return "gradients in a step";
    case Figure::sent:
      return "sent in a step";
  }
  return "";
}

}  // namespace tandem::parallel
