// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "tandem/comm/timing.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/needs.hpp"
#include "cli/setup.hpp"

namespace tandem::cli {
namespace {

using comm::Collective;
using comm::CollectiveTime;
using Json = nlohmann::json;

/// "4K" as nccl-tests has it, or "4KiB".
std::size_t parse_size(const std::string& option, std::string text) {
  const bool is_short = !text.empty() && std::string("KMG").find(text.back()) != std::string::npos;
  if (is_short) text += "iB";
  try {
    return parse_nbytes(text);
  } catch (const InvalidArgument& e) {
    throw UsageError(detail::concat(option, ": ", e.what()));
  }
}

std::vector<std::size_t> sizes_of(const CollectivesRequest& request) {
  const std::size_t least = parse_size("--min-bytes", request.min_bytes);
  const std::size_t most = parse_size("--max-bytes", request.max_bytes);
  if (least > most) {
    throw UsageError(detail::concat("--min-bytes ",
                                    request.min_bytes,
                                    " is more than --max-bytes ",
                                    request.max_bytes,
                                    "; give a smaller one"));
  }
  std::vector<std::size_t> sizes;
  const auto factor = static_cast<std::size_t>(request.factor);
  for (std::size_t size = least;; size *= factor) {
    sizes.push_back(size);
    if (size > most / factor) return sizes;
  }
}

Collective::Kind kind_of(const std::string& op) {
  using Kind = Collective::Kind;
  for (const Kind kind : {Kind::broadcast, Kind::reduce, Kind::all_gather, Kind::reduce_scatter}) {
    if (op == comm::name(kind)) return kind;
  }
  return Kind::all_reduce;
}

std::vector<Device> devices_of(const CollectivesRequest& request) {
  RunOptions options;
  options.devices = request.devices;
  return working_devices(options);
}

comm::GroupOptions group_options(const CollectivesRequest& request) {
  return {.algorithm = request.algorithm,
          .segment_bytes = static_cast<std::int64_t>(parse_size("--segment", request.segment)),
          .group = request.group,
          .backend = backend_of(request.backend)};
}

std::vector<CollectiveTime> measure(const CollectivesRequest& request,
                                    const std::vector<Device>& devices) {
  const std::vector<std::size_t> sizes = sizes_of(request);
  check_collective_fits(request, devices, sizes.back(), parse_size("--segment", request.segment));
  try {
    comm::CollectiveTimer timer(devices,
                                {.kind = kind_of(request.op),
                                 .dtype = parse_dtype(request.dtype),
                                 .group = group_options(request),
                                 .iterations = request.iterations,
                                 .warmup = request.warmup});
    std::vector<CollectiveTime> times;
    for (const std::size_t size : sizes) {
      times.push_back(timer.run(size));
      if (!request.quiet)
        console::tell("{}/{} {}: {:.1f} us\n",
                      times.size(),
                      sizes.size(),
                      format_nbytes(times.back().nbytes),
                      times.back().p50 * 1e6);
    }
    return times;
  } catch (const InvalidArgument& e) {
    throw UsageError(e.what());
  }
}

Json to_json(const CollectivesRequest& request,
             const std::vector<Device>& devices,
             const std::vector<CollectiveTime>& times,
             const comm::AlphaBeta& model) {
  Json rows = Json::array(), names = Json::array();
  for (const Device d : devices)
    names.push_back(to_string(d));
  for (const CollectiveTime& t : times) {
    rows.push_back({{"op", request.op},
                    {"algorithm", request.algorithm},
                    {"ranks", devices.size()},
                    {"bytes", t.nbytes},
                    {"count", t.count},
                    {"time_us", {{"p50", t.p50 * 1e6}, {"p99", t.p99 * 1e6}}},
                    {"algbw_GBps", t.algbw * 1e-9},
                    {"busbw_GBps", t.busbw * 1e-9},
                    {"wrong", t.wrong},
                    {"steps", t.cost.steps},
                    {"model_us", t.cost.seconds(model.alpha, model.beta) * 1e6}});
  }
  return {{"schema_version", 1},
          {"backend", request.backend},
          {"dtype", request.dtype},
          {"devices", names},
          {"iterations", request.iterations},
          {"warmup", request.warmup},
          {"alpha_us", model.alpha * 1e6},
          {"beta_us_per_MiB", model.beta * 1e6 * (1 << 20)},
          {"rows", rows}};
}

void print_table(const CollectivesRequest& request,
                 const std::vector<Device>& devices,
                 const std::vector<CollectiveTime>& times,
                 const comm::AlphaBeta& model) {
  console::print("{} by {} ({}), {} ranks, {}, {} iterations\n\n",
                 request.op,
                 request.algorithm,
                 request.backend,
                 devices.size(),
                 request.dtype,
                 request.iterations);
  console::print("{:>12} {:>12} {:>10} {:>10} {:>10} {:>10} {:>7} {:>10}\n",
                 "bytes",
                 "count",
                 "p50 us",
                 "p99 us",
                 "algbw GB/s",
                 "busbw GB/s",
                 "#wrong",
                 "model us");
  for (const CollectiveTime& t : times) {
    console::print("{:>12} {:>12} {:>10.1f} {:>10.1f} {:>10.3f} {:>10.3f} {:>7} {:>10.1f}\n",
                   t.nbytes,
                   t.count,
                   t.p50 * 1e6,
                   t.p99 * 1e6,
                   t.algbw * 1e-9,
                   t.busbw * 1e-9,
                   t.wrong,
                   t.cost.seconds(model.alpha, model.beta) * 1e6);
  }
  console::print(
      "\nmodel: steps x {:.2f} us + {:.2f} us per MiB on the busiest path, fitted on this run\n",
      model.alpha * 1e6,
      model.beta * 1e6 * (1 << 20));
}

}  // namespace

int run_collectives(const CollectivesRequest& request) {
  const std::vector<Device> devices = devices_of(request);
  const std::vector<CollectiveTime> times = measure(request, devices);
  const comm::AlphaBeta model = comm::fit(times);
  if (request.json)
    console::print("{}\n", to_json(request, devices, times, model).dump(2));
  else
    print_table(request, devices, times, model);
  std::int64_t wrong = 0;
  for (const CollectiveTime& t : times)
    wrong += t.wrong;
  if (wrong > 0) {
    console::tell("tandem: {} elements are wrong; please report it with the table\n", wrong);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace tandem::cli
