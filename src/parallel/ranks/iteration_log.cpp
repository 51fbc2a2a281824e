// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/ranks/iteration_log.hpp"

#include <algorithm>

namespace tandem::parallel {
namespace {

std::vector<std::size_t> sizes_of(const optim::ArenaLayout& layout,
                                  const std::vector<Bucket>& buckets) {
  std::vector<std::size_t> sizes;
  for (const Bucket& bucket : buckets) {
    std::size_t elements = 0;
    for (const Share& run : bucket.runs)
      elements += static_cast<std::size_t>(run.size());
    sizes.push_back(elements *
                    itemsize(layout.blocks()[static_cast<std::size_t>(bucket.block)].dtype));
  }
  return sizes;
}

}  // namespace

IterationLog::IterationLog(const comm::Communicator& comm, const optim::ArenaLayout& layout)
    : layout_(layout) {
  data_.world_size = comm.size();
  data_.rank = comm.rank();
  data_.num_parameter_tensors = layout.places().size();
  data_.total_parameter_size_bytes = layout.nbytes();
}

void IterationLog::note_planned(const std::vector<Bucket>& buckets) {
  data_.bucket_sizes = sizes_of(layout_, buckets);
}

void IterationLog::note_rebuilt(const std::vector<Bucket>& buckets) {
  data_.has_rebuilt_buckets = true;
  data_.rebuilt_bucket_sizes = sizes_of(layout_, buckets);
}

void IterationLog::note_reduction(const std::vector<std::size_t>& ready) {
  last_ready_ = ready;
  ++data_.iterations;
}

void IterationLog::note_times(std::optional<Clock::time_point> first_launch) {
  const auto end = Clock::now();
  const auto first = first_launch.value_or(end);
  DdpTimes& last = data_.last;
  last.forward_compute = forward_end_ - forward_begin_;
  last.backward_compute = last_gradient_ - forward_end_;
  last.backward_comm = end - first;
  last.backward_compute_comm_overlap = std::max(last_gradient_ - first, Clock::duration::zero());
  ++timed_;
  const auto mean = [&](std::chrono::nanoseconds DdpTimes::*part) {
    (data_.avg.*part) += (last.*part - data_.avg.*part) / timed_;
  };
  mean(&DdpTimes::forward_compute);
  mean(&DdpTimes::backward_compute);
  mean(&DdpTimes::backward_comm);
  mean(&DdpTimes::backward_compute_comm_overlap);
}

DdpLoggingData IterationLog::data() const {
  DdpLoggingData data = data_;
  for (const std::size_t p : last_ready_)
    data.prev_iteration_grad_ready_order.push_back(layout_.places()[p].name);
  return data;
}

}  // namespace tandem::parallel
