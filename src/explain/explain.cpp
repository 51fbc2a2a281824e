// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/explain/explain.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "tandem/core/check.hpp"
#include "tandem/profile/overlap.hpp"

#include "explain/sentences.hpp"
#include "profile/spans.hpp"

namespace tandem::parallel {
namespace {

using profile::Duration;
using profile::StepRecord;
using profile::Transfer;
using profile::WorkSpan;

/// Work that only serves the traffic of its phase.
bool serves_traffic(const WorkSpan& w) {
  return w.is_collective() || w.phase == Phase::replicate || w.phase == Phase::scatter ||
         w.phase == Phase::gather || w.phase == Phase::reduce;
}

/// The host looks through an index that it sends to a GPU, which is a part of the copy.
bool prepares_copy(const WorkSpan& w) {
  return std::string_view(w.name) == "integer_bounds";
}

/// Spans may overlap: those of collectives that are given at once lie within one another.
Duration length_of_union(const std::vector<profile::Span>& spans) {
  Duration length{};
  for (const profile::Span& s : profile::merged(spans))
    length += s.end - s.begin;
  return length;
}

/// Sorts what was executed into steps.
///
/// Steps are ordered by when threads queued them, since a GPU's streams have no common order. How
/// long a step took is told by the devices.
class Explainer {
 public:
  explicit Explainer(const StepRecord& record) : record_(record) {
    for (const WorkSpan& w : record.work) {
      if (w.phase == Phase::forward) first_forward_ = std::min(first_forward_, w.queued_begin);
      if (w.phase == Phase::backward) first_backward_ = std::min(first_backward_, w.queued_begin);
    }
  }

  Explanation run() {
    for (const Transfer& t : record_.transfers)
      add(t);
    for (const WorkSpan& w : record_.work)
      if (!was_there(w) && !prepares_copy(w)) add(w);
    std::multimap<Duration, ExplainedStep> ordered;
    for (auto& [key, draft] : drafts_) {
      put_into_words(draft.step, key);
      if (key.phase == Phase::reduce && key.traffic) draft.step.sentence += overlap();
      ordered.emplace(draft.place(), std::move(draft.step));
    }
    Explanation result;
    for (auto& [place, step] : ordered)
      result.steps.push_back(std::move(step));
    for (auto& [device, share] : devices_) {
      share.in_collectives = length_of_union(in_collectives_[device]);
      share.waiting = share.in_collectives - exchanging(device);
      result.devices.push_back(share);
    }
    result.links = profile::traffic(record_);
    result.duration = record_.duration;
    result.overlap = profile::overlap(
        record_, [](const WorkSpan& w) { return !w.is_collective() && !serves_traffic(w); });
    result.complete = record_.complete;
    result.simulated = record_.simulated;
    return result;
  }

 private:
  struct Draft {
    ExplainedStep step;
    std::map<Device, Duration> called;  ///< first

    /// What follows on every device comes later, though one device may be far ahead of another;
    /// with parameters on their way a device goes on before the last one sends or takes them.
    Duration place() const {
      const auto [first, last] =
          std::ranges::minmax_element(called, {}, [](const auto& c) { return c.second; });
      const bool on_their_way = step.traffic && step.phase == Phase::replicate;
      return on_their_way ? first->second : last->second;
    }
  };

  /// The host uses what has come before, for which only a stream would wait.
  bool was_there(const WorkSpan& w) const {
    return w.exchange && w.exchange->point == Exchange::Point::use &&
           w.device.type == DeviceType::cpu && !record_.simulated;
  }

  StepKey key_of(const WorkSpan& w) const {
    if (w.kind == Work::Kind::barrier) return {Phase::none, Actor::vote};
    if (serves_traffic(w)) {
      if (w.category && drafts_.contains({w.phase, Actor::replicas, w.category}))
        return {w.phase, Actor::replicas, w.category};
      // A wait for a bucket of parameters, which the step before has sent.
      constexpr StepKey kParameters{Phase::replicate, Actor::replicas, Category::parameter};
      if (w.phase == Phase::replicate && w.bucket >= 0 && !drafts_.contains(kParameters))
        return {w.phase, Actor::replicas};
      for (const auto& [key, draft] : drafts_) {
        if (key.traffic && key.phase == w.phase) return key;
      }
      return {w.phase, Actor::replicas};
    }
    // In a replica's forward, what is outside of the module is the user's loss.
    if (w.phase == Phase::forward && w.in_replica() && w.module_path == nullptr)
      return {Phase::loss, Actor::replicas};
    if (w.phase == Phase::none && w.module_path != nullptr) return {Phase::forward, Actor::caller};
    // So is what the caller does between forward and backward.
    if (w.phase == Phase::none && w.queued_begin > first_forward_ &&
        w.queued_begin < first_backward_)
      return {Phase::loss, Actor::caller};
    const bool anyone = w.in_replica() || w.phase == Phase::update ||
                        (w.phase == Phase::backward && w.module_path != nullptr);
    return {w.phase, anyone ? Actor::replicas : Actor::caller};
  }

  /// The step of a piece of work or a transfer.
  template <class Span>
  ExplainedStep& step_of(const StepKey& key, Device device, const Span& span) {
    const auto [at, fresh] = drafts_.try_emplace(key);
    auto& first = at->second.called.try_emplace(device, span.queued_begin).first->second;
    first = std::min(first, span.queued_begin);
    ExplainedStep& step = at->second.step;
    step.phase = key.phase;
    step.traffic = key.traffic;
    step.begin = fresh ? span.begin : std::min(step.begin, span.begin);
    step.end = fresh ? span.end : std::max(step.end, span.end);
    return step;
  }

  void add(const Transfer& t) {
    ExplainedStep& step = step_of({t.phase, Actor::replicas, t.category}, t.destination, t);
    const profile::Link link{t.source, t.destination};
    auto at = std::ranges::find(step.links, link, &LinkShare::link);
    if (at == step.links.end()) at = step.links.insert(at, LinkShare{link});
    at->nbytes += t.nbytes;
    ++at->transfers;
    at->time += t.end - t.begin;
    if (t.source.type == DeviceType::cuda && t.destination.type == DeviceType::cuda)
      step.carriers.insert(t.carrier);
  }

  void add(const WorkSpan& w) {
    const StepKey key = key_of(w);
    ExplainedStep& step = step_of(key, w.device, w);
    auto at = std::ranges::find(step.devices, w.device, &DeviceShare::device);
    if (at == step.devices.end()) at = step.devices.insert(at, DeviceShare{w.device});
    ExplainedDevice& device =
        devices_.try_emplace(w.device, ExplainedDevice{w.device}).first->second;
    if (w.in_replica()) {
      const bool fresh = device.rows.end < 0;
      device.rows = {fresh ? w.rows.begin : std::min(device.rows.begin, w.rows.begin),
                     std::max(device.rows.end, w.rows.end)};
    }
    const Duration time = w.end - w.begin;
    if (w.is_collective()) {
      ++at->calls;
      at->in_calls += time;
      in_collectives_[w.device].push_back({w.begin, w.end});
    } else {
      ++at->works;
      at->time += time;
      device.time[static_cast<std::size_t>(key.phase)] += time;
    }
    last_backward_ = std::max(last_backward_, key == kBackward ? w.end : Duration{});
  }

  /// Time of a device in collectives, with bytes of its own under way.
  Duration exchanging(Device device) const {
    const auto in_collective = [&](const WorkSpan& w) {
      return w.device == device && w.is_collective();
    };
    const auto own = [&](const Transfer& t) {
      return t.source == device || t.destination == device;
    };
    return profile::overlap(record_, in_collective, own).hidden;
  }

  /// How many of the reductions' messages were begun while replicas still went backward.
  std::string overlap() const {
    std::map<profile::Link, std::pair<std::size_t, std::size_t>> links;  // all, early ones
    for (const Transfer& t : record_.transfers) {
      if (t.phase != Phase::reduce || t.category != Category::gradient) continue;
      auto& [all, early] = links[{t.source, t.destination}];
      ++all;
      early += t.begin < last_backward_;
    }
    std::size_t all = 0, early = 0;
    for (const auto& [link, counts] : links) {
      all = std::max(all, counts.first);
      early = std::max(early, counts.second);
    }
    const std::string buckets =
        tandem::detail::concat(", in ", all, all == 1 ? " bucket" : " buckets");
    if (early == 0) return buckets + ", after backward";
    return tandem::detail::concat(
        buckets, ", ", early == all ? "all" : std::to_string(early), " begun during backward");
  }

  static constexpr StepKey kBackward{Phase::backward, Actor::replicas};

  const StepRecord& record_;
  std::map<Device, std::vector<profile::Span>> in_collectives_;
  Duration first_forward_ = Duration::max();
  Duration first_backward_ = Duration::max();
  Duration last_backward_{};
  std::map<StepKey, Draft> drafts_;
  std::map<Device, ExplainedDevice> devices_;
};

}  // namespace

Explanation explain(const profile::StepRecord& record) {
  return Explainer(record).run();
}

}  // namespace tandem::parallel
