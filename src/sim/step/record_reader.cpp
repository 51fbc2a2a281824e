// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/step/record_reader.hpp"

#include <algorithm>
#include <utility>

#include "tandem/core/check.hpp"

#include "sim/links/alike_check.hpp"
#include "sim/links/collective_kind.hpp"

namespace tandem::sim {

using Kind = comm::Collective::Kind;

RecordReader::RecordReader(const profile::StepRecord& record,
                           const Cluster& cluster,
                           std::span<const Device> devices,
                           const SimulateOptions& options)
    : record_(record),
      cluster_(cluster),
      count_(options.gpus.value_or(static_cast<int>(devices.size()))),
      is_host_(cluster.gpus.kind == GpuKind::host),
      kernels_(cluster.gpus, count_),
      library_(cluster),
      kernel_speed_(options.kernel_speed),
      copies_buckets_(options.copies_buckets),
      work_(record.work.size()),
      transfers_(record.transfers.size()) {
  if (is_host_) host_kernels_.emplace(cluster.gpus, count_);
  for (const Device device : devices) {
    gpus_.emplace(device, static_cast<int>(gpus_.size()));
    lanes_.push_back({graph_.add_lane(), graph_.add_lane(), graph_.add_lane()});
  }
  if (count_ > static_cast<int>(devices.size())) check_alike(record, devices, count_);
  if (options.collectives == CollectiveTimes::as_run) player_.emplace(record, cluster, gpus_);
  collect();
  find_first();
  follow();
}

int RecordReader::ranks_of(const Exchange& exchange) const {
  return exchange.ranks == static_cast<int>(gpus_.size()) ? count_ : exchange.ranks;
}

void RecordReader::collect() {
  const auto add = [&](int thread, std::int64_t sequence, What what, std::size_t i) {
    threads_[thread].events.push_back({sequence, what, i});
  };
  for (std::size_t i = 0; i < record_.work.size(); ++i) {
    const profile::WorkSpan& span = record_.work[i];
    add(span.thread, span.sequence, What::work, i);
    if (span.exchange && span.exchange->point == Exchange::Point::begin && gpu_of(span.device))
      ++awaited_[span.exchange->id];
  }
  for (std::size_t i = 0; i < record_.transfers.size(); ++i)
    add(record_.transfers[i].thread, record_.transfers[i].sequence, What::transfer, i);
  for (std::size_t i = 0; i < record_.reads.size(); ++i)
    add(record_.reads[i].thread, record_.reads[i].sequence, What::read, i);
  for (std::size_t i = 0; i < record_.jobs.size(); ++i) {
    const profile::JobMark& mark = record_.jobs[i];
    add(mark.thread, mark.sequence, What::job, i);
    if (mark.event.kind == JobEvent::Kind::begun) thread_of_job_[mark.event.job] = mark.thread;
    if (mark.event.kind == JobEvent::Kind::submitted) given_.insert(mark.event.job);
  }
  for (auto& [number, thread] : threads_)
    std::ranges::sort(thread.events, {}, &Event::sequence);
  collect_uses();
}

bool RecordReader::is_part(const Thread& thread) const {
  return std::ranges::any_of(thread.events, [&](const Event& event) {
    switch (event.what) {
      case What::work:
        return gpu_of(record_.work[event.index].device).has_value();
      case What::transfer: {
        const profile::Transfer& moved = record_.transfers[event.index];
        return gpu_of(moved.source) || gpu_of(moved.destination);
      }
      case What::read:
        return gpu_of(record_.reads[event.index].device).has_value();
      case What::job:
        break;
    }
    return record_.jobs[event.index].event.kind == JobEvent::Kind::submitted;
  });
}

/// A thread that nobody gives its first job was there before. One that has nothing to do with the
/// GPUs, as a loader's, is left out: how far it gets during the record depends on chance.
void RecordReader::find_first() {
  std::vector<std::pair<std::int64_t, int>> first;
  std::vector<int> apart;
  for (const auto& [number, thread] : threads_) {
    const Event& event = thread.events.front();
    const bool is_given = event.what == What::job &&
                          record_.jobs[event.index].event.kind == JobEvent::Kind::begun &&
                          given_.contains(record_.jobs[event.index].event.job);
    if (is_given) continue;
    if (is_part(thread))
      first.emplace_back(event.sequence, number);
    else
      apart.push_back(number);
  }
  for (const int number : apart) {
    threads_.erase(number);
    std::erase_if(thread_of_job_, [&](const auto& job) { return job.second == number; });
  }
  std::ranges::sort(first);
  for (const auto& [sequence, number] : first) {
    threads_[number].is_found = true;
    found_.push_back(number);
  }
}

void RecordReader::follow() {
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      Thread& thread = threads_.at(found_[i]);
      if (thread.lane < 0) {
        thread.lane = graph_.add_lane();
        thread.number = static_cast<int>(i);
      }
      while (thread.next < thread.events.size() && take(thread, thread.events[thread.next])) {
        ++thread.next;
        goes_on = true;
      }
    }
  }
  for (const auto& [number, thread] : threads_)
    TANDEM_CHECK(thread.next == thread.events.size(),
                 "simulate: a thread waits for a job or a collective of which the record has only "
                 "a part; record whole steps, from before the wrapper's call to after it");
}

bool RecordReader::take(Thread& thread, const Event& event) {
  switch (event.what) {
    case What::work:
      return take_work(thread, event.index);
    case What::transfer:
      return take_transfer(thread, event.index);
    case What::read:
      take_read(thread, event.index);
      return true;
    case What::job:
      return take_job(thread, record_.jobs[event.index].event);
  }
  return true;
}

std::optional<int> RecordReader::gpu_of(Device device) const {
  const auto found = gpus_.find(device);
  return found == gpus_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<CollectivePlayer::OnLink> RecordReader::on_link(
    const profile::Transfer& moved) const {
  const auto from = gpu_of(moved.source), to = gpu_of(moved.destination);
  return player_ && from && to ? player_->on_link(moved.exchange, *from, *to) : std::nullopt;
}

int RecordReader::number_of(int thread) const {
  const auto found = threads_.find(thread);  // those without a part come last
  return found == threads_.end() ? static_cast<int>(threads_.size()) : found->second.number;
}

int RecordReader::on_host(const Thread& thread, double seconds, std::vector<int> after) {
  return graph_.add({.lanes = {thread.lane}, .after = std::move(after), .seconds = seconds});
}

int RecordReader::on_stream(int gpu, Task task) {
  task.lanes.push_back(lanes_[static_cast<std::size_t>(gpu)].work);
  return graph_.add(std::move(task));
}

int RecordReader::mark_stream(int gpu, int called, std::vector<int> after) {
  return on_stream(gpu, {.called = {called}, .after = std::move(after)});
}

bool RecordReader::take_work(Thread& thread, std::size_t i) {
  const profile::WorkSpan& span = record_.work[i];
  const std::optional<int> gpu = gpu_of(span.device);
  std::optional<std::vector<int>> copies = gpu ? used_by(span.sequence) : std::vector<int>{};
  if (!copies) return false;
  if (span.exchange && gpu) {
    if (span.exchange->point == Exchange::Point::begin && !copies->empty())
      mark_stream(*gpu, on_host(thread, 0), std::move(*copies));
    return take_exchange(thread, i);
  }
  if (!gpu) {
    const double seconds = static_cast<double>(span.cost.nbytes) / cluster_.host.total_bandwidth;
    work_[i].called = work_[i].done = on_host(thread, cluster_.gpus.launch.host + seconds);
    return true;
  }
  if (host_kernels_) {
    const double seconds = host_kernels_->seconds(span.name, span.cost) / kernel_speed_;
    work_[i].called = work_[i].done = on_host(thread, cluster_.gpus.launch.host + seconds);
    return true;
  }
  work_[i].called = on_host(thread, cluster_.gpus.launch.on_host(span.phase));
  work_[i].done = on_stream(*gpu,
                            {.kind = Task::Kind::kernel,
                             .called = {work_[i].called},
                             .after = std::move(*copies),
                             .seconds = kernels_.seconds(span.cost) / kernel_speed_,
                             .gpus = {*gpu}});
  return true;
}

bool RecordReader::take_exchange(Thread& thread, std::size_t i) {
  if (record_.work[i].exchange->point != Exchange::Point::begin) return end_exchange(thread, i);
  begin_exchange(thread, i);
  return true;
}

void RecordReader::begin_exchange(Thread& thread, std::size_t i) {
  const profile::WorkSpan& span = record_.work[i];
  const std::uint64_t id = span.exchange->id;
  const int gpu = *gpu_of(span.device);
  const double copying = is_host_ ? bucket_seconds(span) : 0;
  work_[i].called = work_[i].done = on_host(thread, cluster_.gpus.launch.host + copying);
  Collective& collective = collectives_[id];
  collective.parts.emplace_back(gpu, i);
  arrivals_[id].hosts.push_back(work_[i].called);
  // The stream of collectives goes on from where the stream of work is then.
  if (span.kind != Work::Kind::barrier && !is_host_) {
    copy_bucket(i, work_[i].called);
    work_[i].done = mark_stream(gpu, work_[i].called);
    arrivals_[id].streams.push_back(work_[i].done);
  }
  if (collective.parts.size() == awaited_.at(id)) start_collective(id, collective);
}

double RecordReader::copying_seconds(std::size_t nbytes) const {
  if (!copies_buckets_) return 0;
  const profile::WorkCost cost{.nbytes = 2 * nbytes};
  return host_kernels_ ? host_kernels_->seconds("copy", cost) : kernels_.seconds(cost);
}

double RecordReader::bucket_seconds(const profile::WorkSpan& span) const {
  return collective_kind(span.name) == Kind::all_reduce ? copying_seconds(span.exchange->nbytes)
                                                        : 0;
}

void RecordReader::copy_bucket(std::size_t part, int called) {
  const double seconds = bucket_seconds(record_.work[part]);
  if (seconds == 0) return;
  const int gpu = *gpu_of(record_.work[part].device);
  on_stream(gpu,
            {.kind = Task::Kind::kernel, .called = {called}, .seconds = seconds, .gpus = {gpu}});
}

void RecordReader::start_collective(std::uint64_t id, Collective& collective) {
  const Arrivals& arrivals = arrivals_.at(id);
  Task task{.kind = is_host_ ? Task::Kind::meeting : Task::Kind::collective,
            .called = arrivals.hosts,
            .after = arrivals.streams};
  set_time(collective, task);
  for (const auto& [gpu, part] : collective.parts) {
    if (is_host_) break;  // its lane is that of the thread that comes last
    if (std::ranges::find(task.gpus, gpu) != task.gpus.end()) continue;  // coalesced
    task.gpus.push_back(gpu);
    task.lanes.push_back(lanes_[static_cast<std::size_t>(gpu)].collectives);
  }
  const profile::WorkSpan& first = record_.work[collective.parts.front().second];
  if (first.kind == Work::Kind::barrier) task = {.after = arrivals.hosts};
  collective.task = graph_.add(std::move(task));
  if (player_ && first.kind != Work::Kind::barrier)
    player_->play(graph_, collective.task, id, collective.parts);
}

std::size_t RecordReader::nbytes_of(const Collective& collective) const {
  std::size_t nbytes = 0;
  for (const auto& [gpu, part] : collective.parts)
    if (gpu == collective.parts.front().first) nbytes += record_.work[part].exchange->nbytes;
  return nbytes;
}

void RecordReader::set_time(const Collective& collective, Task& task) {
  const profile::WorkSpan& first = record_.work[collective.parts.front().second];
  const auto kind = collective_kind(first.name);
  const int ranks = ranks_of(*first.exchange);
  const std::size_t nbytes = nbytes_of(collective);
  if (ranks < 2 || nbytes == 0) return;
  const bool is_rooted = kind == Kind::broadcast || kind == Kind::reduce;
  const double copying = is_rooted ? copying_seconds(nbytes) : 0;
  task.seconds = copying + (player_ ? 0 : library_.seconds(kind, ranks, nbytes));
  if (!is_host_) return;
  const double together = task.seconds;
  task.seconds = copying + library_.seconds_alone(kind, ranks, nbytes);
  if (together > 0) task.help = (task.seconds / together - 1) / (ranks - 1);
}

bool RecordReader::end_exchange(Thread& thread, std::size_t i) {
  const Exchange& exchange = *record_.work[i].exchange;
  const int gpu = *gpu_of(record_.work[i].device);
  std::vector<int> hosts, ends;  // none: it began before the record
  if (awaited_.contains(exchange.id)) {
    const auto found = collectives_.find(exchange.id);
    if (found == collectives_.end() || found->second.task < 0) return false;
    hosts = arrivals_.at(exchange.id).hosts;
    ends = {found->second.task};
  }
  if (is_host_) {  // the thread waits, or helps; what was settled is there when it is used
    const bool is_use = exchange.point == Exchange::Point::use;
    const double seconds = is_use ? 0 : cluster_.gpus.launch.host + bucket_seconds(record_.work[i]);
    work_[i].called = work_[i].done = on_host(thread, seconds, std::move(ends));
    return true;
  }
  // The host waits for all ranks, and its stream for the end.
  if (exchange.point == Exchange::Point::settle) ends.clear();
  const bool is_copied = !ends.empty();
  work_[i].called = on_host(thread, cluster_.gpus.launch.host, std::move(hosts));
  work_[i].done = mark_stream(gpu, work_[i].called, std::move(ends));
  if (is_copied) copy_bucket(i, work_[i].called);
  return true;
}

double RecordReader::hand_over() const {
  return is_host_ ? cluster_.host.latency : 0;
}

bool RecordReader::take_job(Thread& thread, const JobEvent& event) {
  switch (event.kind) {
    case JobEvent::Kind::submitted: {
      submitted_[event.job] = on_host(thread, 0);
      const auto at = thread_of_job_.find(event.job);
      if (at == thread_of_job_.end()) return true;  // it begins after the record
      Thread& other = threads_.at(at->second);
      if (!std::exchange(other.is_found, true)) found_.push_back(at->second);
      return true;
    }
    case JobEvent::Kind::begun: {
      const auto at = submitted_.find(event.job);
      const bool is_known = at != submitted_.end();
      if (!is_known && given_.contains(event.job)) return false;
      on_host(thread, hand_over(), is_known ? std::vector<int>{at->second} : std::vector<int>{});
      return true;
    }
    case JobEvent::Kind::ended:
      ended_[event.job] = on_host(thread, 0);
      return true;
    case JobEvent::Kind::joined: {
      const auto at = ended_.find(event.job);
      if (at == ended_.end()) return !thread_of_job_.contains(event.job);  // it began before
      on_host(thread, hand_over(), {at->second});
      return true;
    }
  }
  return true;
}

}  // namespace tandem::sim
