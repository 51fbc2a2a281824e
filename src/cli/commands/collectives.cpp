// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tandem/comm/algorithms.hpp"
#include "tandem/comm/timing.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "cli/choices/backend_choice.hpp"
#include "cli/choices/cluster_choice.hpp"
#include "cli/choices/device_choice.hpp"
#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/launched.hpp"
#include "cli/needs.hpp"
#include "cli/simulation/simulated_collectives.hpp"
#include "cli/subject.hpp"
#include "cli/usage_error.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {
namespace {

using comm::Collective;
using comm::CollectiveTime;
using Json = nlohmann::json;

constexpr double kPieceObjects = 128;  // bytes of a piece, on a rank; less than was measured

/// What is timed; sizes as they were written.
struct CollectivesRequest {
  std::string op = "all_reduce";
  DeviceChoice devices;
  std::string min_bytes = "4K";
  std::string max_bytes = "16M";
  std::int64_t factor = 4;
  std::int64_t iterations = 50;
  std::int64_t warmup = 10;
  std::string dtype = "f32";
  std::string algorithm = {};  ///< empty: direct, or all on a cluster
  std::string cluster = {};
  std::optional<int> gpus = std::nullopt;
  std::string segment = "128K";
  int group = 0;
  BackendChoice backend;
  JsonChoice json;
  bool quiet = false;

  void add_flags(CLI::App& app);
  void add_size_flags(CLI::App& app);
  void add_cluster_flags(CLI::App& app);
  std::string algorithm_here() const { return algorithm.empty() ? "direct" : algorithm; }
  int run() const;

 private:
  int measure_here() const;
  int simulate(const sim::Cluster& machine) const;
};

/// The collectives that are timed.
constexpr std::array kTimed{Collective::Kind::all_reduce,
                            Collective::Kind::broadcast,
                            Collective::Kind::reduce,
                            Collective::Kind::all_gather,
                            Collective::Kind::reduce_scatter};

void CollectivesRequest::add_flags(CLI::App& app) {
  std::vector<std::string> algorithms, ops;
  for (const comm::Algorithm* a : comm::algorithms())
    algorithms.emplace_back(a->name());
  for (const Collective::Kind kind : kTimed)
    ops.emplace_back(comm::name(kind));
  begin_subject(app, Subject::collectives);
  app.add_option("--op", op, "collective to time")
      ->check(CLI::IsMember(ops))
      ->capture_default_str();
  devices.add_flags(app);
  add_cluster_flags(app);
  begin_subject(app, Subject::collectives);
  add_size_flags(app);
  app.add_option("--iterations", iterations, "timed calls of each size")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_option("--warmup", warmup, "calls of each size before the timed ones")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--dtype", dtype, "type of the elements")
      ->check(CLI::IsMember({"f32", "f64", "bf16", "f16", "i32", "i64", "u8"}))
      ->capture_default_str();
  app.add_option("--algorithm",
                 algorithm,
                 "algorithm; docs/algorithms.md says what each is for (default: direct; on a "
                 "cluster all, one after the other)")
      ->check(CLI::IsMember(algorithms));
  app.add_option("--segment",
                 segment,
                 "size of a segment, for algorithms that have segments, like 128K or 128KiB")
      ->capture_default_str();
  app.add_option("--group",
                 group,
                 "ranks of a group of hierarchical_ring, or of a row of torus_2d (0: the algorithm "
                 "chooses)")
      ->check(at_least(0))
      ->capture_default_str();
  backend.add_flags(app);
  json.add_flags(app);
  begin_subject(app, Subject::output);
  app.add_flag("--quiet", quiet, "print no progress");
}

void CollectivesRequest::add_size_flags(CLI::App& app) {
  app.add_option("-b,--min-bytes", min_bytes, "smallest size, like 4K or 4KiB")
      ->capture_default_str();
  app.add_option("-e,--max-bytes", max_bytes, "largest size")->capture_default_str();
  app.add_option("-f,--factor", factor, "ratio of each size to the size before")
      ->check(at_least(2))
      ->capture_default_str();
}

void CollectivesRequest::add_cluster_flags(CLI::App& app) {
  begin_subject(app, Subject::machine);
  app.add_option(
      "--cluster",
      cluster,
      "say what each algorithm would take on the links of this machine, instead of "
      "measuring: a preset (tandem cluster list), or a file that describes one. Default: "
      "TANDEM_CLUSTER, unless --devices is given");
  app.add_option("--gpus", gpus, "number of the machine's GPUs (default: all)")->check(at_least(1));
}

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
  const auto at = std::ranges::find(kTimed, op, [](auto kind) { return comm::name(kind); });
  TANDEM_CHECK(at != kTimed.end(), "there is no collective '", op, "'");
  return *at;
}

/// @throws Error  the tensors of all ranks, with their pieces, are more than this machine holds.
void check_fits_machine(const CollectivesRequest& request,
                        const std::vector<Device>& devices,
                        std::size_t nbytes,
                        std::size_t segment) {
  if (devices.front().type != DeviceType::cpu) return;
  const double all = static_cast<double>(nbytes) * static_cast<double>(devices.size());
  const bool segmented = request.algorithm_here() == "segmented_ring";
  const double pieces = segmented ? all / static_cast<double>(segment) : 0;
  check_fits(fmt::format("--max-bytes {} on {} ranks", request.max_bytes, devices.size()),
             all + pieces * kPieceObjects);
}

comm::GroupOptions group_options(const CollectivesRequest& request, world::World* world) {
  return {.algorithm = request.algorithm_here(),
          .segment_bytes = static_cast<std::int64_t>(parse_size("--segment", request.segment)),
          .group = request.group,
          .backend = request.backend.backend(),
          .world = world};
}

/// The times, and by whom they were made.
struct Timed {
  std::vector<CollectiveTime> times = {};
  int ranks = 0, processes = 1;
  std::string backend = {};
};

Timed measure(const CollectivesRequest& request,
              const std::vector<Device>& devices,
              Launched& launched) {
  const std::vector<std::size_t> sizes = sizes_of(request);
  check_fits_machine(request, devices, sizes.back(), parse_size("--segment", request.segment));
  try {
    comm::CollectiveTimer timer(devices,
                                {.kind = kind_of(request.op),
                                 .dtype = parse_dtype(request.dtype),
                                 .group = group_options(request, launched.world()),
                                 .iterations = request.iterations,
                                 .warmup = request.warmup});
    Timed timed{
        .ranks = timer.ranks(), .processes = launched.processes(), .backend = request.backend.name};
    if (timed.processes > 1 && timed.backend == "local") timed.backend = "gloo";
    for (const std::size_t size : sizes) {
      timed.times.push_back(timer.run(size));
      if (!request.quiet && launched.is_main())
        console::tell("{}/{} {}: {:.1f} us\n",
                      timed.times.size(),
                      sizes.size(),
                      format_nbytes(timed.times.back().nbytes),
                      timed.times.back().p50 * 1e6);
    }
    return timed;
  } catch (const InvalidArgument& e) {
    throw UsageError(e.what());
  }
}

Json to_json(const CollectivesRequest& request,
             const std::vector<Device>& devices,
             const Timed& timed,
             const comm::AlphaBeta& model) {
  Json rows = Json::array(), names = Json::array();
  for (const Device d : devices)
    names.push_back(to_string(d));
  for (const CollectiveTime& t : timed.times) {
    rows.push_back({{"op", request.op},
                    {"algorithm", request.algorithm_here()},
                    {"ranks", timed.ranks},
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
          {"backend", timed.backend},
          {"dtype", request.dtype},
          {"devices", names},
          {"processes", timed.processes},
          {"iterations", request.iterations},
          {"warmup", request.warmup},
          {"alpha_us", model.alpha * 1e6},
          {"beta_us_per_MiB", model.beta * 1e6 * (1 << 20)},
          {"rows", rows}};
}

void print_table(const CollectivesRequest& request,
                 const Timed& timed,
                 const comm::AlphaBeta& model) {
  console::print("{} by {} ({}), {} ranks{}, {}, {} iterations\n\n",
                 request.op,
                 request.algorithm_here(),
                 timed.backend,
                 timed.ranks,
                 timed.processes > 1 ? fmt::format(" in {} processes", timed.processes) : "",
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
  for (const CollectiveTime& t : timed.times) {
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

int CollectivesRequest::run() const {
  if (const auto machine = simulated_cluster(cluster, devices.list)) return simulate(*machine);
  if (gpus) throw UsageError("--gpus are of a cluster; give --cluster, or --devices instead");
  return measure_here();
}

int CollectivesRequest::simulate(const sim::Cluster& machine) const {
  if (machine.gpus.kind == sim::GpuKind::host)
    throw UsageError(
        fmt::format("the gpus of {} are of kind host, whose threads do collectives in their memory "
                    "and not on links; give --devices cpu:N to measure algorithms on a host",
                    machine.name));
  const int count = asked_devices(machine, gpus);
  check_files({json.given_file()});
  const CollectivesSetup setup{
      .kind = kind_of(op),
      .dtype = parse_dtype(dtype),
      .group = {.segment_bytes = static_cast<std::int64_t>(parse_size("--segment", segment)),
                .group = group},
      .algorithm = algorithm,
      .sizes = sizes_of(*this)};
  const auto times = simulate_collectives(setup, machine, count);
  json.write([&] { return to_json(times, setup, machine, count); });
  if (json.leaves_text()) print(times, setup, machine, count);
  return 0;
}

int CollectivesRequest::measure_here() const {
  const std::vector<Device> list = devices.working_devices();
  check_files({json.given_file()});
  Launched launched;
  backend.check_processes(launched.processes());
  const Timed timed = measure(*this, list, launched);
  const comm::AlphaBeta model = comm::fit(timed.times);
  if (launched.is_main()) {
    json.write([&] { return to_json(*this, list, timed, model); });
    if (json.leaves_text()) print_table(*this, timed, model);
  }
  std::int64_t wrong = 0;
  for (const CollectiveTime& t : timed.times)
    wrong += t.wrong;
  if (wrong > 0) {
    console::tell("tandem: {} elements are wrong; please report this with the table\n", wrong);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

Command collectives_command() {
  return make_command<CollectivesRequest>(
      {.name = "collectives",
       .summary = "time a collective by size and check it, as nccl-tests does",
       .purpose = Purpose::machines,
       .first_flags = {"--op",
                       "--devices",
                       "--min-bytes",
                       "--max-bytes",
                       "--dtype",
                       "--algorithm",
                       "--backend",
                       "--cluster",
                       "--gpus",
                       "--json"}});
}

}  // namespace tandem::cli
