// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "sim/step/record_reader.hpp"

// Copies and reads of a record. On GPUs a copy from another device has a stream of its own, so that
// it occupies no kernel: it begins when the bytes are there, and what uses them waits for it.
namespace tandem::sim {

void RecordReader::collect_uses() {
  if (is_host_) return;
  for (const profile::DataUse& use : record_.uses)
    uses_[use.user].push_back(use.before);
  for (std::size_t i = 0; i < record_.work.size(); ++i) {
    const profile::WorkSpan& span = record_.work[i];
    if (gpu_of(span.device)) by_sequence_[span.sequence] = {span.sequence, What::work, i};
  }
  for (std::size_t i = 0; i < record_.transfers.size(); ++i) {
    const profile::Transfer& moved = record_.transfers[i];
    if (gpu_of(moved.destination))
      by_sequence_[moved.sequence] = {moved.sequence, What::transfer, i};
  }
}

std::optional<std::vector<int>> RecordReader::used_by(std::int64_t sequence) const {
  std::vector<int> after;
  const auto uses = uses_.find(sequence);
  if (uses == uses_.end()) return after;
  for (const std::int64_t before : uses->second) {
    const auto at = by_sequence_.find(before);
    if (at == by_sequence_.end()) continue;  // before the record
    const Event& event = at->second;
    const int done = (event.what == What::transfer ? transfers_ : work_)[event.index].done;
    if (done < 0) return std::nullopt;
    after.push_back(done);
  }
  return after;
}

bool RecordReader::take_transfer(Thread& thread, std::size_t i) {
  const profile::Transfer& moved = record_.transfers[i];
  if (moved.exchange != 0) return true;  // a collective's, see Collective
  const auto from = gpu_of(moved.source), to = gpu_of(moved.destination);
  Times& times = transfers_[i];
  if (!from && !to) {
    const double seconds = static_cast<double>(moved.nbytes) / cluster_.host.total_bandwidth;
    times.called = times.done = on_host(thread, seconds);
    return true;
  }
  if (is_host_) {
    copy_on_host(thread, moved, times);
    return true;
  }
  if (from && to) return copy_between(thread, i);
  times.called = on_host(thread, cluster_.gpus.launch.host);
  Task task{.kind = Task::Kind::transfer,
            .called = {times.called},
            .nbytes = static_cast<double>(moved.nbytes)};
  if (!from) {  // what the GPU is given later waits
    task.path = path_from_host(cluster_, *to);
    task.lanes = {lanes_[static_cast<std::size_t>(*to)].copies};
    times.done = graph_.add(std::move(task));
    mark_stream(*to, times.called, {times.done});
  } else {  // the host waits
    task.path = path_to_host(cluster_, *from);
    task.after = last_copy(*from);
    times.done = on_stream(*from, std::move(task));
    on_host(thread, 0, {times.done});
  }
  return true;
}

void RecordReader::copy_on_host(const Thread& thread,
                                const profile::Transfer& moved,
                                Times& times) {
  const auto from = gpu_of(moved.source), to = gpu_of(moved.destination);
  Task task{.kind = Task::Kind::transfer,
            .lanes = {thread.lane},
            .nbytes = static_cast<double>(moved.nbytes)};
  task.path = from && to ? path(cluster_, *from, *to)
              : from     ? path_to_host(cluster_, *from)
                         : path_from_host(cluster_, *to);
  for (PathPart& part : task.path.parts)
    part.latency = 0;
  task.path.parts.front().latency = cluster_.gpus.launch.host;
  times.called = times.done = graph_.add(std::move(task));
}

bool RecordReader::copy_between(Thread& thread, std::size_t i) {
  const profile::Transfer& moved = record_.transfers[i];
  const int from = *gpu_of(moved.source), to = *gpu_of(moved.destination);
  std::optional<std::vector<int>> after = used_by(moved.sequence);
  if (!after) return false;
  Times& times = transfers_[i];
  times.called = on_host(thread, cluster_.gpus.launch.host);
  const bool is_known = uses_.contains(moved.sequence);
  if (!is_known) {  // the bytes are there, and nobody needs those before, when both have come here
    for (const int gpu : {from, to})
      after->push_back(mark_stream(gpu, times.called));
  }
  Task task{.kind = Task::Kind::transfer,
            .lanes = {lanes_[static_cast<std::size_t>(to)].copies},
            .called = {times.called},
            .after = std::move(*after),
            .nbytes = static_cast<double>(moved.nbytes),
            .path = path(cluster_, from, to)};
  times.done = last_copies_[to] = graph_.add(std::move(task));
  if (!is_known) mark_stream(to, times.called, {times.done});
  return true;
}

std::vector<int> RecordReader::last_copy(int gpu) const {
  const auto at = last_copies_.find(gpu);
  return at == last_copies_.end() ? std::vector<int>{} : std::vector{at->second};
}

void RecordReader::take_read(Thread& thread, std::size_t i) {
  const profile::HostRead& read = record_.reads[i];
  const auto gpu = gpu_of(read.device);
  if (!gpu || is_host_) return;
  const int mark = mark_stream(*gpu, on_host(thread, 0), last_copy(*gpu));
  const double seconds = static_cast<double>(read.nbytes) / cluster_.pcie.bandwidth;
  on_host(thread, cluster_.host.latency + seconds, {mark});
}

}  // namespace tandem::sim
