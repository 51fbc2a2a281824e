// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/non_finite_check.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"

#include "optim/gradients.hpp"

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

void NonFiniteCheck::watch(const Call& call, Call::Part& part) const {
  BucketReducer& reducer = *part.replica->reducer();
  if (looks(call) && (reducer.gives_all_the_sum() || reducer.gives_shares_away()))
    reducer.watch().start();
}

void NonFiniteCheck::note_bad_loss(Call& call, Call::Part& part, const std::string& text) const {
  if (options_.loss == NonFinite::off) return;
  if (options_.loss == NonFinite::error) throw InvalidArgument(text);
  part.loss_is_non_finite = true;
  if (options_.loss == NonFinite::skip) call.has_no_effect = true;
}

void NonFiniteCheck::inspect_loss(Call& call, Call::Part& part, double sum) const {
  if (std::isfinite(sum)) return;
  note_bad_loss(call,
                part,
                tandem::detail::concat("step: the loss is ", sum, " on ", part.device(), kRemedy));
}

void NonFiniteCheck::inspect_weight(Call& call, Call::Part& part, double total) const {
  if (std::isfinite(total) && total != 0) return;
  note_bad_loss(
      call,
      part,
      tandem::detail::concat(
          "step: the weights of the batch add up to ",
          total,
          ", so it has no mean loss; perhaps every row is masked or ignored. Leave out such a "
          "batch, or set non_finite_loss to NonFinite::skip"));
}

std::vector<Tensor> NonFiniteCheck::reduced_gradients(const Call::Part& part) const {
  std::vector<Tensor> grads;
  if (are_whole()) {
    if (!part.is_first() && gradients_.reduces()) return grads;
    const optim::Arena& own = *part.replica->parameters();
    for (const Tensor& g : own.grads())
      if (g.defined()) grads.push_back(g);
    return grads;
  }
  for (const optim::ArenaSlice& slice : arena()->slices())
    if (slice.device == part.device() && slice.grads.defined()) grads.push_back(slice.grads);
  return grads;
}

void NonFiniteCheck::inspect_gradients(Call& call, Call::Part& part) const {
  if (!looks(call)) return;
  in_phase(part, Phase::reduce, [&] {
    const autograd::NoGrad off;
    std::vector<Tensor> grads = reduced_gradients(part);
    for (Tensor& x : grads)
      if (call.loss_scale) x.mul_(1 / *call.loss_scale);
    if (!optim::has_nonfinite(grads)) return;
    call.gradients_are_non_finite = true;
    if (call.loss_scale || options_.gradients != NonFinite::warn) call.has_no_effect = true;
  });
}

std::optional<NonFiniteValue> NonFiniteCheck::find(const Call& call) const {
  const std::vector<int>& members = call.group.members();
  for (const int d : members)
    if (call.part(d).loss_is_non_finite) return NonFiniteValue{call.part(d).device(), ""};
  if (!call.gradients_are_non_finite) return std::nullopt;
  const auto& places = arena()->layout().places();
  for (const int d : members) {
    const std::vector<double> made = call.part(d).replica->reducer()->watch().found();
    const auto found = std::ranges::find_if(made, [](double flag) { return flag != 0; });
    if (found == made.end()) continue;
    return NonFiniteValue{call.part(d).device(),
                          places[static_cast<std::size_t>(found - made.begin())].name};
  }
  const auto slices = are_whole() ? std::vector<optim::ArenaSlice>{} : arena()->slices();
  for (std::size_t p = 0; p < places.size(); ++p) {
    if (!arena()->tensor(p).requires_grad()) continue;
    // What only lies where it was reduced to has been made there.
    for (const Gradients kind : {Gradients::made, Gradients::reduced}) {
      for (const int d : members) {
        const DeviceReplica& replica = *call.part(d).replica;
        if (optim::has_nonfinite(gradients_of(*replica.parameters(), places[p], slices, kind)))
          return NonFiniteValue{replica.device(), places[p].name};
      }
    }
  }
  return std::nullopt;
}

void NonFiniteCheck::check(Call& call, const std::optional<NonFiniteValue>& found) const {
  const bool refuses = options_.gradients == NonFinite::error && !call.loss_scale;
  if (!call.gradients_are_non_finite || !refuses) return;
  std::vector<std::exception_ptr> errors(call.parts.size());
  for (Call::Part& part : call.parts) {
    if (part.device() != found->device) continue;
    part.phase.store(Phase::backward);
    const std::string what = found->name.empty() ? "loss" : "gradient of '" + found->name + "'";
    errors[static_cast<std::size_t>(part.index())] =
        std::make_exception_ptr(InvalidArgument(tandem::detail::concat(
            "step: the ", what, " on ", found->device, " holds an infinity or NaN", kRemedy)));
  }
  CallRunner::raise(call, std::move(errors));
}

}  // namespace tandem::parallel
