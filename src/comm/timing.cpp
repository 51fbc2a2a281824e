// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "tandem/comm/group.hpp"
#include "tandem/core/check.hpp"
#include "tandem/core/percentile.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "runtime/job_group.hpp"

namespace tandem::comm {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = Collective::Kind;
constexpr int kRoot = 0;

bool cuts_evenly(Kind kind) noexcept {
  return kind == Kind::all_gather || kind == Kind::reduce_scatter;
}

/// Whole numbers so small that sums over many ranks are exact in 16 bits too.
double value_of(int rank, std::int64_t i) noexcept {
  return static_cast<double>((i + 3 * rank) % 5);
}

Tensor make_values(int rank, std::int64_t count, DType dtype, Device device) {
  return with_dtype(dtype, [&]<class T>() {
    const auto host = std::make_unique<T[]>(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      host[static_cast<std::size_t>(i)] = static_cast<T>(value_of(rank, i));
    return from_host(
        std::span<const T>(host.get(), static_cast<std::size_t>(count)), {count}, device);
  });
}

/// What nccl-tests multiplies algbw by: the bytes that each link carries, of each byte.
double bus_factor(Kind kind, int ranks) noexcept {
  const double others = static_cast<double>(ranks - 1) / ranks;
  if (kind == Kind::all_reduce) return 2 * others;
  return cuts_evenly(kind) ? others : 1;
}

}  // namespace

class CollectiveTimer::Group {
 public:
  Group(std::span<const Device> devices, TimingOptions options)
      : options_(std::move(options)), ranks_(make_group(devices, options_.group)) {
    const TimingOptions& o = options_;
    TANDEM_CHECK(
        cuts_evenly(o.kind) || algorithm("direct").has(o.kind),
        name(o.kind),
        " cannot be timed; use all_reduce, broadcast, reduce, all_gather or reduce_scatter");
    TANDEM_CHECK(o.dtype != DType::boolean, "bool cannot be summed; use u8");
    TANDEM_CHECK(o.iterations >= 1, "iterations is ", o.iterations, "; expected at least 1");
    TANDEM_CHECK(o.warmup >= 0, "warmup is ", o.warmup, "; expected at least 0");
    const std::string& own = o.group.algorithm;
    if (own != "direct") algorithm(own).cost(problem(0));  // refuses what it does not have
  }

  int size() const noexcept { return ranks_.front()->size(); }

  CollectiveTime run(std::size_t nbytes) {
    const std::size_t item = itemsize(options_.dtype);
    const std::int64_t multiple = cuts_evenly(options_.kind) ? size() : 1;
    CollectiveTime result;
    result.count =
        std::max<std::int64_t>(static_cast<std::int64_t>(nbytes / item) / multiple, 1) * multiple;
    result.nbytes = static_cast<std::size_t>(result.count) * item;
    result.cost = cost(static_cast<std::int64_t>(result.nbytes));
    std::vector<double> seconds;
    const Communicator* const first = ranks_.front().get();
    on_each([&](Communicator& comm) {
      const Tensor x = full({result.count}, 0, {.dtype = options_.dtype, .device = comm.device()});
      std::vector<double> own = time_calls(comm, x);
      const std::int64_t wrong = check(comm, result.count);
      const Tensor all = from_host(std::span(&wrong, 1), {1}, comm.device());
      comm.all_reduce(all);
      if (&comm != first) return;
      seconds = std::move(own);
      result.wrong = all.to_host<std::int64_t>()[0];
    });
    result.p50 = percentile(seconds, 0.5);
    result.p99 = percentile(seconds, 0.99);
    result.algbw = static_cast<double>(result.nbytes) / result.p50;
    result.busbw = result.algbw * bus_factor(options_.kind, size());
    return result;
  }

 private:
  template <class F>
  void on_each(F f) {
    for (const auto& rank : ranks_)
      logical_device(rank->device()).worker();  // has its thread, or throws before a job runs
    JobGroup jobs(ranks_.size());
    submit(jobs, f);
    for (const std::exception_ptr& error : jobs.outcomes()) {
      if (error != nullptr) std::rethrow_exception(error);
    }
  }

  template <class F>
  static void run_rank(Communicator& comm, F& f) {
    try {
      f(comm);
    } catch (const std::exception& e) {
      comm.abort(detail::concat("rank ", comm.rank(), " failed: ", e.what()));
      throw;
    }
  }

  template <class F>
  void submit(JobGroup& jobs, F& f) {
    const auto together = Runtime::instance().hold_queues();
    for (const auto& rank : ranks_) {
      try {
        jobs.submit(logical_device(rank->device()).worker(),
                    [&f, comm = rank.get()] { run_rank(*comm, f); });
      } catch (...) {  // no memory: those before it must not wait for it
        rank->abort(detail::concat("rank ", rank->rank(), " could not be started"));
        throw;
      }
    }
  }

  std::vector<double> time_calls(Communicator& comm, const Tensor& x) const {
    std::vector<double> seconds;
    comm.barrier();
    for (std::int64_t i = -options_.warmup; i < options_.iterations; ++i) {
      const auto begin = Clock::now();
      call(comm, x);
      logical_device(comm.device()).stream().synchronize();
      if (i >= 0) seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return seconds;
  }

  /// In place.
  void call(Communicator& comm, const Tensor& x) const {
    const Kind kind = options_.kind;
    if (!cuts_evenly(kind)) {
      comm.start({.kind = kind,
                  .input = x,
                  .output = x,
                  .root = kind == Kind::all_reduce ? -1 : kRoot})
          .wait();
      return;
    }
    const Tensor part = own_part(comm, x);
    if (kind == Kind::all_gather)
      comm.all_gather(part, x);
    else
      comm.reduce_scatter(x, part);
  }

  Tensor own_part(const Communicator& comm, const Tensor& x) const {
    const std::int64_t each = x.numel() / size();
    return as_strided(x, {each}, {1}, x.impl().offset + comm.rank() * each);
  }

  /// Elements of one call's result that are wrong on this rank.
  std::int64_t check(Communicator& comm, std::int64_t count) const {
    const Tensor x = make_values(comm.rank(), count, options_.dtype, comm.device());
    call(comm, x);
    const std::vector<double> values = x.to_doubles();
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < count; ++i)
      wrong += values[static_cast<std::size_t>(i)] != expected(comm.rank(), i, count) ? 1 : 0;
    return wrong;
  }

  double expected(int rank, std::int64_t i, std::int64_t count) const noexcept {
    const auto holder = static_cast<int>(i / (cuts_evenly(options_.kind) ? count / size() : count));
    switch (options_.kind) {
      case Kind::broadcast:
        return value_of(kRoot, i);
      case Kind::all_gather:
        return value_of(holder, i);
      case Kind::reduce_scatter:
        if (holder != rank) return value_of(rank, i);
        break;
      case Kind::reduce:
        if (rank != kRoot) return value_of(rank, i);
        break;
      default:
        break;
    }
    double sum = 0;
    for (int r = 0; r < size(); ++r)
      sum += value_of(r, i);
    return sum;
  }

  Problem problem(std::int64_t nbytes) const {
    const GroupOptions& o = options_.group;
    return {options_.kind, size(), nbytes, kRoot, o.segment_bytes, o.group};
  }

  Cost cost(std::int64_t nbytes) const {
    if (!cuts_evenly(options_.kind)) {
      return algorithm(options_.group.algorithm).cost(problem(nbytes));
    }
    const double moved = static_cast<double>(nbytes) * bus_factor(options_.kind, size());
    return {size() > 1 ? 1 : 0, moved, moved};
  }

  TimingOptions options_;
  std::vector<std::unique_ptr<Communicator>> ranks_;
};

CollectiveTimer::CollectiveTimer(std::span<const Device> devices, TimingOptions options)
    : group_(std::make_unique<Group>(devices, std::move(options))) {}

CollectiveTimer::~CollectiveTimer() = default;

CollectiveTime CollectiveTimer::run(std::size_t nbytes) {
  return group_->run(nbytes);
}

int CollectiveTimer::ranks() const noexcept {
  return group_->size();
}

AlphaBeta fit(std::span<const CollectiveTime> times) {
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;  // of the normal equations
  for (const CollectiveTime& t : times) {
    if (t.p50 <= 0) continue;
    const double steps = static_cast<double>(t.cost.steps) / t.p50, path = t.cost.path / t.p50;
    aa += steps * steps;
    ab += steps * path;
    bb += path * path;
    a += steps;
    b += path;
  }
  const double determinant = aa * bb - ab * ab;
  if (determinant <= 1e-9 * aa * bb) return {0, bb > 0 ? b / bb : 0};
  const AlphaBeta both{(a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant};
  if (both.alpha < 0) return {0, b / bb};
  if (both.beta < 0) return {a / aa, 0};
  return both;
}

}  // namespace tandem::comm
