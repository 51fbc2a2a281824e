// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/time_pictures.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tandem/explain/explain.hpp"

#include "report/breakdown.hpp"
#include "report/fastest.hpp"
#include "report/mode_figures.hpp"

namespace tandem::report {
namespace {

using parallel::ExplainedDevice;
using profile::Duration;
using profile::StepRecord;
using profile::Transfer;
using profile::WorkSpan;

// Bands of a device's picture, from the top: phases, modules, bytes that arrive.
constexpr double kPhaseBand = 16, kModuleBand = 8, kArrivalBand = 6, kGap = 2;
constexpr double kLane = kPhaseBand + kModuleBand + kArrivalBand + 2 * kGap;
constexpr std::size_t kStretches = 1000;  // of all bands of a page, or the page grows too large

Duration longest(const Comparison& comparison) {
  Duration most{1};
  for (const Mode& mode : comparison.modes)
    most = std::max(most, mode.recording.record.duration);
  return most;
}

std::vector<std::string> labels_of(const Axis& axis) {
  std::vector<std::string> labels;
  for (const double t : axis.ticks)
    labels.push_back(fmt::format("{:g} ms", t));
  return labels;
}

/// Part of a band.
struct Stretch {
  Kind kind;
  std::string what;
  Duration begin, end;
};

/// What is done one after the other, where stretches of the same that follow closely are one.
std::vector<Stretch> joined(const std::vector<Stretch>& stretches, Duration gap) {
  std::vector<Stretch> result;
  for (const Stretch& p : stretches) {
    if (!result.empty() && result.back().what == p.what && result.back().kind == p.kind &&
        p.begin - result.back().end <= gap)
      result.back().end = std::max(result.back().end, p.end);
    else
      result.push_back(p);
  }
  return result;
}

/// Joined, with what is shortest left out where there are too many.
std::vector<Stretch> at_most(const std::vector<Stretch>& stretches,
                             std::size_t most,
                             Duration duration) {
  std::vector<Stretch> result = joined(stretches, duration / 500);
  if (result.size() <= most) return result;
  std::vector<Duration> lengths;
  for (const Stretch& p : result)
    lengths.push_back(p.end - p.begin);
  std::ranges::nth_element(
      lengths, lengths.begin() + static_cast<std::ptrdiff_t>(most - 1), std::ranges::greater{});
  const Duration least = lengths[most - 1];
  std::erase_if(result, [&](const Stretch& p) { return p.end - p.begin < least; });
  if (result.size() > most) result.resize(most);
  return result;
}

/// "blocks.0" of "blocks.0.attention.query", "conv1" of "conv1".
std::string outer_module(const WorkSpan& w) {
  if (w.module_path == nullptr) return "";
  const std::string& path = *w.module_path;
  std::size_t end = std::min(path.find('.'), path.size());
  if (end + 1 < path.size() && std::isdigit(static_cast<unsigned char>(path[end + 1])) != 0)
    end = std::min(path.find('.', end + 1), path.size());
  return path.substr(0, end);
}

/// The device's work that is not within other work, as it began.
std::vector<const WorkSpan*> outermost(const StepRecord& record, Device device) {
  std::vector<const WorkSpan*> all, result;
  for (const WorkSpan& w : record.work)
    if (w.device == device) all.push_back(&w);
  std::ranges::stable_sort(all, [](const WorkSpan* a, const WorkSpan* b) {
    return std::pair(a->begin, -a->end) < std::pair(b->begin, -b->end);
  });
  Duration until{};
  for (const WorkSpan* w : all) {
    if (w->begin < until) continue;
    result.push_back(w);
    until = w->end;
  }
  return result;
}

/// One device's bands.
class Lane {
 public:
  Lane(const Mode& mode, Device device) {
    const StepRecord& record = mode.recording.record;
    for (const WorkSpan* w : outermost(record, device)) {
      const Kind phase = kind_of(w->phase);
      if (w->is_collective())
        phases_.push_back(
            {collectives(), fmt::format("{} in {}", w->name, phase.name), w->begin, w->end});
      else
        phases_.push_back({phase, std::string(phase.name), w->begin, w->end});
      const std::string module = outer_module(*w);
      if (!module.empty())
        modules_.push_back(
            {{"module", "module"}, module + " in " + name(w->phase), w->begin, w->end});
    }
    for (const Transfer& t : record.transfers) {
      if (t.destination != device) continue;
      const Kind kind{"bytes arrive", "arrival"};
      arrivals_.push_back(
          {kind, fmt::format("{} from {}", name(t.category), to_string(t.source)), t.begin, t.end});
    }
    std::ranges::stable_sort(arrivals_, {}, &Stretch::begin);
  }

  Picture picture(const std::string& label,
                  const Axis& axis,
                  Duration duration,
                  std::size_t most,
                  Legend& legend) const {
    Picture picture(kLane, label);
    draw(picture, at_most(phases_, most, duration), 0, kPhaseBand, axis, legend);
    draw(picture, at_most(modules_, most, duration), kPhaseBand + kGap, kModuleBand, axis, legend);
    draw(picture,
         at_most(arrivals_, most, duration),
         kPhaseBand + kModuleBand + 2 * kGap,
         kArrivalBand,
         axis,
         legend);
    return picture;
  }

 private:
  static void draw(Picture& picture,
                   const std::vector<Stretch>& stretches,
                   double y,
                   double height,
                   const Axis& axis,
                   Legend& legend) {
    for (const Stretch& p : stretches) {
      const double x = 1000 * ms(p.begin) / axis.end;
      const double width = 1000 * ms(p.end - p.begin) / axis.end;
      picture.rect(x,
                   y,
                   std::max(width, 0.5),
                   height,
                   p.kind.style,
                   fmt::format("{}\n{:.2f} ms, from {:.2f} to {:.2f}",
                               p.what,
                               ms(p.end - p.begin),
                               ms(p.begin),
                               ms(p.end)));
      legend.add(p.kind);
    }
  }

  std::vector<Stretch> phases_, modules_, arrivals_;
};

std::string sentence_of_timeline(const Comparison& comparison) {
  std::string text = comparison.steps > 0
                         ? fmt::format("This is one step, after {} others. ", comparison.steps + 1)
                         : "";
  text +=
      "For each device, the upper band shows the phase, the middle band the module whose forward "
      "or backward runs, and the lower band when bytes arrive. Grey is time in collectives, "
      "including waiting. ";
  for (const Mode& mode : comparison.modes) {
    const profile::Overlap& overlap = mode.recording.time.overlap;
    if (overlap.transferring <= Duration{}) continue;
    text += fmt::format(
        "In {}, bytes are under way for {:.2f} ms, and a device computes during {:.0f} % of that "
        "time. ",
        mode.mode,
        ms(overlap.transferring),
        100 * overlap.share());
  }
  if (comparison.steps > 0 && comparison.simulated.empty())
    text +=
        "A step begins with fetching its batch, which is not counted in the milliseconds of the "
        "modes above.";
  return text;
}

const ExplainedDevice* explained(const Mode& mode, Device device) {
  const auto& all = mode.recording.time.devices;
  const auto at = std::ranges::find(all, device, &ExplainedDevice::device);
  return at == all.end() ? nullptr : &*at;
}

/// What a device did in a step, in ms; the rest of the step it did nothing.
std::vector<Breakdown::Value> shares(const Mode& mode, Device device) {
  std::vector<Breakdown::Value> result;
  const ExplainedDevice* e = explained(mode, device);
  if (e == nullptr) return result;
  const auto steps = static_cast<double>(mode.recording.steps);
  for (std::size_t p = 0; p < e->time.size(); ++p)
    if (e->time[p] > Duration{})
      result.push_back({kind_of(static_cast<Phase>(p)), ms(e->time[p]) / steps});
  if (e->in_collectives > Duration{}) {
    result.push_back({collectives(), ms(e->in_collectives - e->waiting) / steps});
    result.push_back({waiting(), ms(e->waiting) / steps});
  }
  return result;
}

std::string sentence_of_phases(const Comparison& comparison) {
  const Mode& slow = *std::ranges::max_element(comparison.modes, {}, &Mode::p50);
  const auto fastest = fastest_modes(comparison);
  std::string text;
  if (comparison.modes.size() > 1) text = fastest_sentence(comparison) + " ";
  if (std::ranges::find(fastest, &slow) == fastest.end())
    text += fmt::format("The slowest is {} with {:.2f} ms. ", slow.mode, slow.p50);
  text += "The bars show the step above. ";
  const Device first = slow.devices.front().device;
  const auto parts = shares(slow, first);
  if (!parts.empty()) {
    const auto& most = *std::ranges::max_element(parts, {}, &Breakdown::Value::value);
    text += fmt::format(
        "In {}, {} spends most of its time in {}. ", slow.mode, to_string(first), most.kind.name);
  }
  return text +
         "A device that waits is in a collective before the others have arrived; empty space is "
         "idle time, for example while the batch is fetched.";
}

}  // namespace

std::string timeline(const Comparison& comparison) {
  const Duration duration = longest(comparison);
  const Axis axis = axis_to(ms(duration), 8);
  std::size_t bands = 1;
  for (const Mode& mode : comparison.modes)
    bands += 3 * shown(mode);
  Legend legend;
  std::string pictures;
  for (const Mode& mode : comparison.modes) {
    pictures += fmt::format("<h3>{}</h3>\n", mode.mode);
    for (std::size_t i = 0; i < shown(mode); ++i) {
      const Device device = mode.devices[i].device;
      const std::string label = fmt::format("{} in {} over a step", to_string(device), mode.mode);
      const Picture picture =
          Lane(mode, device)
              .picture(label, axis, duration, std::max<std::size_t>(kStretches / bands, 4), legend);
      pictures += row(to_string(device), picture, std::to_string(mode.devices[i].rows) + " rows");
    }
  }
  return section(
      "timeline",
      "A step, device by device",
      sentence_of_timeline(comparison),
      legend.html() + "<figure>" + pictures + ticks_below(axis, labels_of(axis)) + "</figure>\n");
}

std::string time_by_phase(const Comparison& comparison) {
  const auto text = [](double x) { return fmt::format("{:.3g} ms", x); };
  const auto cell = [](double x) { return fmt::format("{:.2f}", x); };
  Breakdown breakdown(axis_to(ms(longest(comparison)), 8), text);
  for (const Mode& mode : comparison.modes) {
    for (std::size_t i = 0; i < shown(mode); ++i) {
      std::vector<Breakdown::Value> parts = shares(mode, mode.devices[i].device);
      double busy = 0;
      for (const Breakdown::Value& p : parts)
        busy += p.value;
      breakdown.device(mode.mode,
                       to_string(mode.devices[i].device),
                       std::move(parts),
                       fmt::format("{:.2f} ms", busy));
    }
  }
  return section(
      "phases", "Time by phase", sentence_of_phases(comparison), breakdown.html("not idle", cell));
}

}  // namespace tandem::report
