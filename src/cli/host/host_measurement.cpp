// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/host/host_measurement.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include <unistd.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/comm/timing.hpp"
#include "tandem/core/percentile.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/parallel/parallel_apply.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "cli/console.hpp"
#include "cli/host/host_timer.hpp"
#include "cli/host/op_timer.hpp"
#include "core/host_name.hpp"

namespace tandem::cli {
namespace {

using parallel::Rank;
using Work = HostTimer::Work;

/// Large, then small in one size each, then small in all: the shapes of layers.
constexpr Mnk kProducts[] = {{768, 768, 768},
                             {1024, 512, 512},
                             {512, 1024, 256},
                             {16, 512, 512},
                             {64, 512, 512},
                             {512, 16, 512},
                             {512, 64, 512},
                             {512, 512, 16},
                             {512, 512, 64},
                             {1024, 128, 128},
                             {128, 128, 1024},
                             {128, 512, 128},
                             {64, 64, 64}};
/// Elements of streams, from what caches hold to what they do not.
constexpr std::int64_t kStreams[] = {1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22, 1 << 24};
constexpr std::int64_t kLarge = 768;       // of a product of f64
constexpr std::int64_t kCopied = 1 << 20;  // elements of a copy
constexpr std::int64_t kShared = 1 << 18;  // elements of an op that cores share
constexpr std::int64_t kFew = 8;           // elements of a small op
constexpr int kChain = 64;                 // small ops in a row
constexpr std::size_t kMessages[] = {4 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
constexpr int kCalls = 30;  // of a collective
constexpr int kHandOvers = 200;
constexpr double kFastest = 0.1;  // of the hand-overs

double time_of(const std::vector<Device>& devices, const HostTimer::MakeWork& make_work) {
  return HostTimer(devices).seconds(make_work);
}

HostTimer::MakeWork product(const Mnk& z, DType dtype) {
  return [=](Rank& rank) -> Work {
    const TensorOptions options{.dtype = dtype, .device = rank.device()};
    const Tensor a = randn({z.m, z.k}, options), b = randn({z.k, z.n}, options);
    return [a, b] { matmul(a, b); };
  };
}

HostTimer::MakeWork addition(std::int64_t elements) {
  return [=](Rank& rank) -> Work {
    const Tensor a = ones({elements}, {.device = rank.device()});
    const Tensor b = ones({elements}, {.device = rank.device()});
    return [a, b] { add(a, b); };
  };
}

/// A chain of small ops, forward and backward.
void small_ops(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < kChain; ++i)
    y = mul(y, 1.0);
  y.sum().backward();
}

double small_op_time(const std::vector<Device>& cores) {
  const auto make = [](Rank& rank) -> Work {
    Tensor x = ones({kFew}, {.device = rank.device()});
    x.requires_grad_(true);
    return [x] { small_ops(x); };
  };
  const double chain = time_of(cores, make);
  Tensor x = ones({kFew}, {.device = cores.front()});
  x.requires_grad_(true);
  const auto record = profile::record([&] { small_ops(x); });
  return chain / static_cast<double>(record.work.size());
}

/// What one device loses when it shares an op among all cores, against an even part of its time.
double sharing_time(const Device device, int cores) {
  if (cores == 1) return 0;
  const double shared = time_of({device}, addition(kShared));
  const double alone = time_of({device}, [](Rank& rank) -> Work {
    const Work work = addition(kShared)(rank);
    return [work] {
      const ContextScope one([](Context& c) { c.threads = 1; });
      work();
    };
  });
  return std::max(0.0, shared - alone / cores);
}

/// Bytes/s that each device gets from its neighbour, if these `receive`.
double copy_bandwidth(const std::vector<Device>& devices, std::size_t receive) {
  std::vector<Device> targets(devices.begin(),
                              devices.begin() + static_cast<std::ptrdiff_t>(receive));
  const double seconds = time_of(targets, [&](Rank& rank) -> Work {
    const auto next = (static_cast<std::size_t>(rank.rank()) + 1) % devices.size();
    const Tensor from = ones({kCopied}, {.device = devices[next]});
    const Tensor to = ones({kCopied}, {.device = rank.device()});
    return [from, to] { Tensor(to).copy_(from); };
  });
  return static_cast<double>(kCopied) * sizeof(float) / seconds;
}

double hand_over_time(const std::vector<Device>& devices) {
  std::vector<double> times;
  for (int i = 0; i < kHandOvers; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    parallel::detail::run_on_devices(devices, [](int) {}, {});
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return percentile(times, kFastest) / 2;  // there and back
}

sim::TimingTable all_reduces(const std::vector<Device>& devices) {
  sim::TimingTable table{.name = "host", .gpus = static_cast<int>(devices.size())};
  comm::CollectiveTimer timer(devices, {.iterations = kCalls});
  for (const std::size_t nbytes : kMessages) {
    const comm::CollectiveTime time = timer.run(nbytes);
    table.rows.push_back({time.nbytes, time.p50, time.p50});
  }
  return table;
}

double memory_of(const std::vector<Device>& devices) {
  const std::size_t limit = logical_device(devices.front()).limit();
  if (limit != SIZE_MAX) return static_cast<double>(limit);
  const double all =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return all / static_cast<double>(devices.size());
}

void tell_step(const char* what) {
  console::tell("measuring {}\n", what);
}

/// What each core does while all of them work.
void measure_cores(const std::vector<Device>& cores, sim::HostMeasurements& m) {
  tell_step("products");
  for (const Mnk& sizes : kProducts)
    m.products.push_back({sizes, time_of(cores, product(sizes, DType::f32))});
  m.f64_flops = 2.0 * kLarge * kLarge * kLarge /
                time_of(cores, product({kLarge, kLarge, kLarge}, DType::f64));
  tell_step("ops");
  m.ops = time_ops(cores);
  tell_step("memory and small ops");
  for (const std::int64_t elements : kStreams)
    m.streams.push_back(
        {3.0 * static_cast<double>(elements) * sizeof(float), time_of(cores, addition(elements))});
  m.small_op = small_op_time(cores);
  m.sharing_op = sharing_time(cores.front(), m.cores);
}

}  // namespace

sim::HostMeasurements measure_host(const std::vector<Device>& devices) {
  sim::HostMeasurements m{.name = host_name(),
                          .devices = static_cast<int>(devices.size()),
                          .cores = core_count(),
                          .memory = memory_of(devices)};
  // Two at least: a copy has two ends.
  const int most = std::max({m.devices, m.cores, 2});
  const std::vector<Device> all = configure_devices("cpu:" + std::to_string(most));
  measure_cores({all.begin(), all.begin() + m.cores}, m);
  tell_step("copies and jobs");
  m.copy_bandwidth = copy_bandwidth(all, 1);
  const std::vector<Device> own(all.begin(), all.begin() + m.devices);
  m.all_copy_bandwidth = copy_bandwidth(all, own.size()) * m.devices;
  m.hand_over = hand_over_time(own);
  if (own.size() < 2) return m;
  tell_step("all-reduces");
  m.all_reduces.push_back(all_reduces(own));
  return m;
}

}  // namespace tandem::cli
