// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "tandem/core/check.hpp"

#include "sim/step/known_error.hpp"
#include "sim/step/record_reader.hpp"

namespace tandem::sim {
namespace {

using profile::Duration;

Duration duration_of(double seconds) {
  constexpr double kMost = 9e18;  // ns
  TANDEM_CHECK(seconds * 1e9 <= kMost,
               "simulate: something ends ",
               seconds,
               " s after the step begins, and a record holds at most 9e9 s, which is 285 years; "
               "look for a figure of the machine, a size or a kernel_speed that is far off");
  return Duration(std::llround(seconds * 1e9));
}

/// Arithmetic on f64 is slower than that on f32, by a factor that only its peak tells.
void check_peak_of_f64(const profile::StepRecord& record, const Cluster& cluster) {
  if (cluster.gpus.peak.f64) return;
  const auto at = std::ranges::find_if(record.work, [](const profile::WorkSpan& span) {
    return span.cost.dtype == DType::f64 && span.cost.flops > 0;
  });
  TANDEM_CHECK(at == record.work.end(),
               "simulate: the step computes in f64 (",
               at->name,
               "), and the description of ",
               cluster.name,
               " has no gpus.peak.f64, which would say how fast that is; give it, or compute in "
               "f32");
}

void check_devices(const profile::StepRecord& record,
                   const Cluster& cluster,
                   std::span<const Device> devices,
                   int gpus) {
  TANDEM_CHECK(record.complete,
               "simulate: the record is not complete, because memory was short or a GPU's times "
               "could not be taken; record the step again");
  TANDEM_CHECK(gpus <= cluster.gpu_count(),
               "simulate: ",
               gpus,
               " GPUs take part, and ",
               cluster.name,
               " has ",
               cluster.gpu_count(),
               "; give fewer devices, or a description with more nodes");
  TANDEM_CHECK(gpus >= static_cast<int>(devices.size()) && (gpus == 1 || devices.size() > 1),
               "simulate: ",
               devices.size(),
               " devices cannot stand for ",
               gpus,
               " GPUs; give at least as many GPUs as devices, and two devices for several");
  std::set<Device> seen;
  for (const Device device : devices)
    TANDEM_CHECK(seen.insert(device).second, "simulate: ", device, " is given twice");
}

bool is_as_run(const SimulateOptions& options) noexcept {
  return options.collectives == CollectiveTimes::as_run;
}

/// Gives the parts of a record their simulated times.
class Retimed {
 public:
  Retimed(const profile::StepRecord& record,
          const Cluster& cluster,
          std::span<const Device> devices,
          const SimulateOptions& options)
      : reader_(record, cluster, devices, options),
        retimed_(record),
        devices_(devices),
        machine_(simulated_machine(
            cluster, options.gpus.value_or(static_cast<int>(devices.size())), options)) {
    run(reader_.graph(),
        static_cast<int>(devices.size()),
        cluster.gpus.efficiency.beside_collectives);
  }

  profile::StepRecord take() {
    for (std::size_t i = 0; i < retimed_.work.size(); ++i)
      set(retimed_.work[i], reader_.work(i));
    for (std::size_t i = 0; i < retimed_.transfers.size(); ++i)
      set_transfer(i);
    retimed_.side_work.clear();
    for (const auto& [id, collective] : reader_.collectives())
      add_side_work(collective);
    Duration last{};
    for (const Task& task : reader_.graph().tasks())
      last = std::max(last, duration_of(task.end));
    order();
    retimed_.duration = last;
    retimed_.simulated = machine_;
    return std::move(retimed_);
  }

 private:
  const Task& task(int t) { return reader_.graph().task(t); }
  template <class Span>
  void set(Span& span, const RecordReader::Times& times) {
    if (times.called < 0) {  // of a thread that has no part in the steps
      span.queued_begin = span.queued_end = span.begin = span.end = Duration{};
      return;
    }
    span.queued_begin = duration_of(task(times.called).begin);
    span.queued_end = duration_of(task(times.called).end);
    // What waits for others takes from when it is its turn.
    const Task& done = task(times.done);
    span.begin = duration_of(done.kind == Task::Kind::fixed ? done.reached : done.begin);
    span.end = duration_of(done.end);
  }
  /// Orders everything by simulated time, and what happens at once by who does it.
  void order() {
    const auto number = [&](auto& spans) {
      for (auto& span : spans)
        span.thread = reader_.number_of(span.thread);
    };
    number(retimed_.work);
    number(retimed_.transfers);
    number(retimed_.reads);
    number(retimed_.jobs);
    const auto by = [](auto time) {
      return [time](const auto& a, const auto& b) {
        return std::tuple(a.*time, a.thread, a.sequence) <
               std::tuple(b.*time, b.thread, b.sequence);
      };
    };
    std::ranges::sort(retimed_.work, by(&profile::WorkSpan::end));
    std::ranges::sort(retimed_.transfers, by(&profile::Transfer::queued_begin));
    std::ranges::sort(retimed_.reads, by(&profile::HostRead::thread));
    std::ranges::sort(retimed_.jobs, by(&profile::JobMark::thread));
    std::ranges::sort(retimed_.side_work, [](const auto& a, const auto& b) {
      return std::tuple(a.end, a.device) < std::tuple(b.end, b.device);
    });
  }
  void set_transfer(std::size_t i) {
    profile::Transfer& moved = retimed_.transfers[i];
    if (moved.exchange == 0) return set(moved, reader_.transfer(i));
    const auto found = reader_.collectives().find(moved.exchange);
    if (found == reader_.collectives().end()) return;
    const Task& collective = task(found->second.task);
    moved.begin = moved.queued_begin = duration_of(collective.begin);
    moved.end = moved.queued_end = duration_of(collective.end);
    const auto on_link = reader_.on_link(moved);
    if (!on_link) return;
    moved.begin = duration_of(task(on_link->first).begin);
    moved.end = duration_of(task(on_link->last).end);
  }
  void add_side_work(const RecordReader::Collective& collective) {
    const Task& done = task(collective.task);
    if (done.kind != Task::Kind::collective) return;
    for (const auto& [gpu, part] : collective.parts) {
      const profile::WorkSpan& span = retimed_.work[part];
      retimed_.side_work.push_back({devices_[static_cast<std::size_t>(gpu)],
                                    span.phase,
                                    span.name,
                                    span.category,
                                    duration_of(done.begin),
                                    duration_of(done.end),
                                    span.bucket});
    }
  }

  RecordReader reader_;
  profile::StepRecord retimed_;
  std::span<const Device> devices_;
  profile::SimulatedMachine machine_;
};

}  // namespace

profile::SimulatedMachine simulated_machine(const Cluster& cluster,
                                            int gpus,
                                            const SimulateOptions& options) {
  const bool as_run = is_as_run(options);
  const bool speaks = !as_run && speaks_of(cluster, options.question);
  return {.name = cluster.name,
          .gpus = gpus,
          .known_error = speaks ? cluster.known_error : "",
          .is_of_others = !as_run && !speaks,
          .collectives_as_run = as_run};
}

profile::StepRecord simulate(const profile::StepRecord& record,
                             const Cluster& cluster,
                             std::span<const Device> devices,
                             const SimulateOptions& options) {
  check(cluster);
  TANDEM_CHECK(options.kernel_speed > 0 && std::isfinite(options.kernel_speed),
               "simulate: kernel_speed is ",
               options.kernel_speed,
               "; it must be above 0 and finite");
  const int gpus = options.gpus.value_or(static_cast<int>(devices.size()));
  check_devices(record, cluster, devices, gpus);
  check_peak_of_f64(record, cluster);
  TANDEM_CHECK(!is_as_run(options) || cluster.gpus.kind != GpuKind::host,
               "simulate: the gpus of ",
               cluster.name,
               " are of kind host, whose threads do collectives in their memory and not on links, "
               "so there is no time as_run; give CollectiveTimes::library");
  TANDEM_CHECK(!is_as_run(options) || gpus == static_cast<int>(devices.size()),
               "simulate: ",
               devices.size(),
               " devices stand for ",
               gpus,
               " GPUs, and collectives as_run need what each GPU sends; give as many devices as "
               "GPUs, or CollectiveTimes::library");
  return Retimed(record, cluster, devices, options).take();
}

}  // namespace tandem::sim
