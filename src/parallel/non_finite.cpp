// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"

#include "optim/gradients.hpp"
#include "parallel/replica_state.hpp"
#include "parallel/stragglers.hpp"

// Note [Steps without effect]: what a replica finds before the vote is seen by all of them after
// it, so all leave the commit out together. Who made the value is looked for afterwards, by the
// caller: a step in which all is well pays for one pass over the reduced gradients alone.
namespace tandem::parallel {
namespace {

constexpr const char* kRemedy = "; lower the learning rate, or look at this batch";

/// The gradients that lie on a device after the reduction: those of its replica, but for what was
/// reduced there.
enum class Gradients : std::uint8_t { made, reduced };

/// A place's. @param slices  of all devices: where gradients are reduced to.
std::vector<Tensor> gradients_of(const optim::Arena& arena,
                                 const optim::ArenaPlace& place,
                                 const std::vector<optim::ArenaSlice>& slices,
                                 Gradients part) {
  const std::int64_t end = place.offset + place.extent;
  std::int64_t from = place.offset, to = from;  // what was reduced
  for (const optim::ArenaSlice& slice : slices) {
    if (slice.device != arena.device() || slice.block != place.block) continue;
    const std::int64_t first = std::max(slice.begin, place.offset), last = std::min(slice.end, end);
    if (first < last) from = first, to = last;
  }
  const Tensor& flat = arena.grads(place.block);
  std::vector<Tensor> parts;
  const auto add = [&](std::int64_t a, std::int64_t b) {
    if (a < b) parts.push_back(as_strided(flat, {b - a}, {1}, flat.impl().offset + a));
  };
  if (part == Gradients::reduced) {
    add(from, to);
  } else {
    add(place.offset, from);
    add(to, end);
  }
  return parts;
}

}  // namespace

void ReplicaSet::State::note_bad_loss(Call& call, int rank, const std::string& text) const {
  if (options.non_finite_loss == NonFinite::off) return;
  if (options.non_finite_loss == NonFinite::error) throw InvalidArgument(text);
  call.loss_is_non_finite[static_cast<std::size_t>(rank)] = 1;
  if (options.non_finite_loss == NonFinite::skip) call.has_no_effect = true;
}

void ReplicaSet::State::inspect_loss(Call& call, int rank, double sum) const {
  if (std::isfinite(sum)) return;
  const Device device = devices[static_cast<std::size_t>(rank)];
  note_bad_loss(
      call, rank, tandem::detail::concat("step: the loss is ", sum, " on ", device, kRemedy));
}

void ReplicaSet::State::inspect_weight(Call& call, int rank, double total) const {
  if (std::isfinite(total) && total != 0) return;
  note_bad_loss(call,
                rank,
                tandem::detail::concat(
                    "step: the weights of the batch add up to ",
                    total,
                    ", so that it has no mean loss; every row may be masked or ignored. Leave such "
                    "a batch out, or set non_finite_loss to NonFinite::skip"));
}

std::vector<Tensor> ReplicaSet::State::reduced_gradients(int rank) const {
  std::vector<Tensor> grads;
  if (params[0] == nullptr) return grads;
  if (!syncs || is_bitwise()) {  // of each replica its own, or all of them on device 0
    const optim::Arena& arena = *params[static_cast<std::size_t>(rank)];
    for (std::size_t b = 0; b < arena.layout().blocks().size() && (rank == 0 || !syncs); ++b)
      if (const Tensor& g = arena.grads(static_cast<int>(b)); g.defined()) grads.push_back(g);
    return grads;
  }
  for (const optim::ArenaSlice& slice : params[0]->slices()) {
    const bool here = slice.device == devices[static_cast<std::size_t>(rank)];
    if (here && slice.grads.defined()) grads.push_back(slice.grads);
  }
  return grads;
}

void ReplicaSet::State::inspect_gradients(Call& call, int rank) {
  if (!call.loss_scale && options.non_finite_gradients == NonFinite::off) return;
  in_phase(call, rank, Phase::reduce, [&] {
    const autograd::NoGrad off;
    std::vector<Tensor> grads = reduced_gradients(rank);
    for (Tensor& x : grads)
      if (call.loss_scale) x.mul_(1 / *call.loss_scale);
    if (!optim::has_nonfinite(grads)) return;
    call.gradients_are_non_finite = true;
    if (call.loss_scale || options.non_finite_gradients != NonFinite::warn)
      call.has_no_effect = true;
  });
}

std::optional<NonFiniteValue> ReplicaSet::State::find_non_finite(const Call& call) const {
  for (const int r : call.group->ranks) {
    const auto rank = static_cast<std::size_t>(r);
    if (call.loss_is_non_finite[rank] != 0) return NonFiniteValue{devices[rank], ""};
  }
  if (!call.gradients_are_non_finite) return std::nullopt;
  for (const int r : call.group->ranks) {
    const std::vector<double> made = reducers[static_cast<std::size_t>(r)].non_finite();
    const auto place = std::ranges::find_if(made, [](double flag) { return flag != 0; });
    if (place == made.end()) continue;
    const auto p = static_cast<std::size_t>(place - made.begin());
    return NonFiniteValue{devices[static_cast<std::size_t>(r)],
                          params[0]->layout().places()[p].name};
  }
  const bool whole = !syncs || is_bitwise();
  const auto slices = whole ? std::vector<optim::ArenaSlice>{} : params[0]->slices();
  const auto& places = params[0]->layout().places();
  for (std::size_t p = 0; p < places.size(); ++p) {
    if (!params[0]->tensor(p).requires_grad()) continue;
    // What only lies where it was reduced to has been made there.
    for (const Gradients part : {Gradients::made, Gradients::reduced}) {
      for (const int r : call.group->ranks) {
        const auto rank = static_cast<std::size_t>(r);
        if (optim::has_nonfinite(gradients_of(*params[rank], places[p], slices, part)))
          return NonFiniteValue{devices[rank], places[p].name};
      }
    }
  }
  return std::nullopt;
}

StepResult ReplicaSet::State::result_of(Call& call, const StepOutcome& outcome) {
  StepResult result;
  double sum = 0;
  for (std::size_t r = 0; r < call.rows.size(); ++r) {
    sum += outcome.sums[r];
    result.weight += outcome.weights[r];
    result.rows.push_back(call.rows[r].end - call.rows[r].begin);
  }
  result.loss = sum / result.weight;
  result.skipped = call.has_no_effect;
  result.non_finite = find_non_finite(call);
  result.straggler = find_straggler(devices, call.rows, outcome.times, options.straggler_ratio);
  const bool refuses = options.non_finite_gradients == NonFinite::error && !call.loss_scale;
  if (call.gradients_are_non_finite && refuses) refuse_gradients(call, *result.non_finite);
  return result;
}

void ReplicaSet::State::refuse_gradients(Call& call, const NonFiniteValue& found) {
  std::vector<std::exception_ptr> errors(devices.size());
  for (std::size_t r = 0; r < devices.size(); ++r) {
    if (devices[r] != found.device) continue;
    call.phases[r].store(Phase::backward);
    const std::string what = found.name.empty() ? "loss" : "gradient of '" + found.name + "'";
    errors[r] = std::make_exception_ptr(InvalidArgument(tandem::detail::concat(
        "step: the ", what, " on ", found.device, " holds an infinity or NaN", kRemedy)));
  }
  raise(call, std::move(errors));
}

}  // namespace tandem::parallel
