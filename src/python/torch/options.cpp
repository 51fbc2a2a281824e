// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch/options.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "parallel/update/mode_table.hpp"
#include "python/core/argument.hpp"
#include "python/core/chunk_policy.hpp"
#include "python/core/device_list.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

using Set = std::function<void(ReadOptions&, nb::handle)>;
using Setters = std::map<std::string, Set>;

/// Options about the devices, and how a batch is divided among them.
Setters division() {
  using parallel::Combine;
  return {
      {"devices",
       [](ReadOptions& o, nb::handle x) {
         o.parallel.devices =
             read_devices(as_argument<DeviceNames>(x, "devices", "a list of names"));
       }},
      {"output_device",
       [](ReadOptions& o, nb::handle x) {
         const auto name = as_argument<std::string>(x, "output_device", "a name");
         o.outputs_on_host = name == "host";
         if (!o.outputs_on_host) o.parallel.output_device = parse_device(name);
       }},
      {"dim",
       [](ReadOptions& o, nb::handle x) { o.parallel.dim = as_argument<int>(x, "dim", "an int"); }},
      {"scalars",
       [](ReadOptions& o, nb::handle x) {
         o.parallel.scalars = choice<Combine>(x,
                                              "scalars",
                                              {{"stack", Combine::stack},
                                               {"mean", Combine::mean},
                                               {"weighted_mean", Combine::weighted_mean},
                                               {"sum", Combine::sum}});
       }},
      {"chunks", [](ReadOptions& o, nb::handle x) { o.parallel.chunks = read_chunks(x); }},
      {"chunk_sizes",
       [](ReadOptions& o, nb::handle x) {
         o.parallel.chunk_sizes =
             as_argument<std::vector<std::int64_t>>(x, "chunk_sizes", "a list of ints");
       }},
      {"gpu0_bsz",
       [](ReadOptions& o, nb::handle x) {
         o.parallel.gpu0_bsz = as_argument<std::int64_t>(x, "gpu0_bsz", "an int");
       }},
      {"accumulate", [](ReadOptions& o, nb::handle x) {
         o.parallel.accumulate = as_argument<std::int64_t>(x, "accumulate", "an int");
       }}};
}

/// Options about what a step does, and where.
Setters work() {
  using libtorch::DropoutMask;
  using parallel::Mode;
  using parallel::OnOutOfMemory;
  return {{"mode",
           [](ReadOptions& o, nb::handle x) {
             std::map<std::string, Mode> modes;
             for (const parallel::ModeRules& row : parallel::mode_table())
               modes[row.name] = row.mode;
             const auto known = parallel::parse_mode(as_argument<std::string>(x, "mode", "a text"));
             o.parallel.mode = known ? *known : choice(x, "mode", modes);
           }},
          {"backend",
           [](ReadOptions& o, nb::handle x) {
             using comm::Backend;
             o.parallel.backend = choice<Backend>(
                 x, "backend", {{"local", Backend::local}, {"nccl", Backend::nccl}});
           }},
          {"on_oom",
           [](ReadOptions& o, nb::handle x) {
             o.parallel.on_oom = choice<OnOutOfMemory>(
                 x, "on_oom", {{"error", OnOutOfMemory::error}, {"replan", OnOutOfMemory::replan}});
           }},
          {"batch_norm",
           [](ReadOptions& o, nb::handle x) {
             o.module.batch_norm =
                 choice<BatchNormSync>(x,
                                       "batch_norm",
                                       {{"synchronised", BatchNormSync::synchronised},
                                        {"per_replica", BatchNormSync::per_replica}});
           }},
          {"unused_gradients",
           [](ReadOptions& o, nb::handle x) {
             using libtorch::UnusedGradients;
             o.module.unused = choice<UnusedGradients>(
                 x,
                 "unused_gradients",
                 {{"none", UnusedGradients::none}, {"zeros", UnusedGradients::zeros}});
           }},
          {"dropout", [](ReadOptions& o, nb::handle x) {
             o.module.dropout = choice<DropoutMask>(
                 x,
                 "dropout",
                 {{"per_device", DropoutMask::per_device}, {"by_row", DropoutMask::by_row}});
           }}};
}

/// Options about what is watched.
Setters checks() {
  using parallel::NonFinite;
  static const std::map<std::string, NonFinite> non_finite{{"off", NonFinite::off},
                                                           {"warn", NonFinite::warn},
                                                           {"error", NonFinite::error},
                                                           {"skip", NonFinite::skip}};
  return {
      {"non_finite_loss",
       [](ReadOptions& o, nb::handle x) {
         o.parallel.checks.non_finite_loss = choice(x, "non_finite_loss", non_finite);
       }},
      {"non_finite_gradients",
       [](ReadOptions& o, nb::handle x) {
         o.parallel.checks.non_finite_gradients = choice(x, "non_finite_gradients", non_finite);
       }},
      {"check_drift_every",
       [](ReadOptions& o, nb::handle x) {
         o.parallel.checks.drift_every =
             as_argument<std::int64_t>(x, "check_drift_every", "an int");
       }},
      {"straggler_ratio",
       [](ReadOptions& o, nb::handle x) {
         o.parallel.checks.straggler_ratio = as_argument<double>(x, "straggler_ratio", "a number");
       }},
      {"deadline", [](ReadOptions& o, nb::handle x) {
         const auto seconds = as_argument<double>(x, "deadline", "a number of seconds");
         o.parallel.deadline = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
       }}};
}

const Setters& setters() {
  static const Setters all = [] {
    Setters merged = division();
    merged.merge(work());
    merged.merge(checks());
    return merged;
  }();
  return all;
}

}  // namespace

ReadOptions read_options(const nb::dict& options) {
  ReadOptions read;
  read.module.unused = libtorch::UnusedGradients::zeros;  // as in torch.nn.DataParallel
  for (const auto& [key, value] : options) {
    if (value.is_none()) continue;
    const auto name = nb::cast<std::string>(key);
    const auto found = setters().find(name);
    TANDEM_CHECK(found != setters().end(),
                 "DataParallel: there is no option '",
                 name,
                 "'; there are ",
                 names_of(setters()));
    found->second(read, value);
  }
  if (read.parallel.devices.empty()) read.parallel.devices = default_devices();
  return read;
}

}  // namespace tandem::python
