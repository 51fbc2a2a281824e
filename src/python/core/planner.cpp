// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/core/planner.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tandem/core/check.hpp"
#include "tandem/parallel/chunks.hpp"
#include "tandem/parallel/largest_batch.hpp"
#include "tandem/parallel/step_model.hpp"
#include "tandem/runtime/runtime.hpp"

#include "python/core/argument.hpp"
#include "python/core/chunk_policy.hpp"
#include "python/core/device_list.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

using parallel::ChunkPolicy;
using parallel::DeviceNeed;
using parallel::LargestBatch;
using parallel::PlanGoal;
using parallel::StepModel;
using parallel::StepPlan;
using parallel::StepProbe;
using Rows = std::vector<std::int64_t>;

Rows chunk_sizes(std::int64_t rows,
                 nb::handle chunks,
                 std::optional<std::int64_t> gpu0_bsz,
                 const DeviceNames& devices) {
  TANDEM_CHECK(!gpu0_bsz || chunks.is_none(), "give chunks or gpu0_bsz, not both");
  ChunkPolicy policy;
  if (gpu0_bsz) policy = ChunkPolicy::gpu0(*gpu0_bsz);
  if (!chunks.is_none()) policy = read_chunks(chunks);
  return policy.plan(rows, read_devices(devices));
}

PlanGoal goal_of(nb::handle goal) {
  return choice<PlanGoal>(
      goal, "goal", {{"least peak", PlanGoal::least_peak}, {"least time", PlanGoal::least_time}});
}

DeviceNeed make_need(const std::string& device,
                     double fixed,
                     double per_row,
                     double per_batch_row,
                     std::optional<std::size_t> limit) {
  DeviceNeed need{parse_device(device), fixed, per_row, per_batch_row};
  if (limit) need.limit = *limit;
  return need;
}

void bind_need(nb::module_& m) {
  nb::class_<DeviceNeed>(
      m,
      "DeviceNeed",
      "What a device needs in a step, in bytes: fixed + per_row * its rows + per_batch_row * the "
      "batch's rows.")
      .def(nb::new_(&make_need),
           nb::arg("device"),
           nb::arg("fixed"),
           nb::arg("per_row"),
           nb::arg("per_batch_row") = 0,
           nb::arg("limit") = nb::none())
      .def_prop_ro("device", [](const DeviceNeed& need) { return to_string(need.device); })
      .def_ro("fixed", &DeviceNeed::fixed)
      .def_ro("per_row", &DeviceNeed::per_row)
      .def_ro("per_batch_row", &DeviceNeed::per_batch_row)
      .def_prop_ro("limit", [](const DeviceNeed& need) -> std::optional<std::size_t> {
        if (need.limit == SIZE_MAX) return std::nullopt;
        return need.limit;
      });
}

void bind_model(nb::module_& m) {
  nb::class_<StepPlan>(m, "StepPlan", "Rows for each device, and the predicted memory.")
      .def_ro("rows", &StepPlan::rows)
      .def_ro("peak_bytes", &StepPlan::peak_bytes)
      .def_ro("ms", &StepPlan::ms, "Forward and backward of each device; 0 if it was not measured.")
      .def_prop_ro("imbalance",
                   &StepPlan::imbalance,
                   "The first device's peak over the mean peak of the others.");
  nb::class_<StepModel>(m,
                        "StepModel",
                        "What steps of any size need on each device: measured by "
                        "DataParallel.step_model, or made of figures.")
      .def(nb::init<std::vector<DeviceNeed>>(), nb::arg("needs"))
      .def_prop_ro("needs", &StepModel::needs)
      .def("predict",
           &StepModel::predict,
           nb::arg("rows"),
           "What a division of a batch needs: one number of rows for each device.")
      .def(
          "plan",
          [](const StepModel& model, std::int64_t rows, nb::object goal) {
            return model.plan(rows, goal_of(goal));
          },
          nb::arg("rows"),
          nb::arg("goal") = "least peak",
          "The division that serves the goal best within all limits: 'least peak' or 'least time'.")
      .def(
          "largest_batch",
          [](const StepModel& model) -> std::optional<std::int64_t> {
            const std::int64_t rows = model.largest_batch();
            if (rows == INT64_MAX) return std::nullopt;
            return rows < 0 ? 0 : rows;
          },
          "The most rows that fit within all limits. None: there is no limit.");
  nb::class_<LargestBatch>(m, "LargestBatch", "The largest batch whose step fits.")
      .def_ro("rows", &LargestBatch::rows, "0: not even one row fits.")
      .def_prop_ro("chunk_sizes", [](const LargestBatch& found) { return found.step.rows; })
      .def_prop_ro("peak_bytes", [](const LargestBatch& found) { return found.step.peak_bytes; })
      .def_ro("tries", &LargestBatch::tries)
      .def_ro("is_largest",
              &LargestBatch::is_largest,
              "False: larger batches may fit, but `most` ended the search.");
}

}  // namespace

void bind_planner(nb::module_& m) {
  bind_need(m);
  bind_model(m);
  m.def("chunk_sizes",
        &chunk_sizes,
        nb::arg("rows"),
        nb::arg("chunks") = nb::none(),
        nb::kw_only(),
        nb::arg("gpu0_bsz") = nb::none(),
        nb::arg("devices") = nb::none(),
        "How many of a batch's rows each device gets; without devices, of the default ones.\n"
        "\n"
        "chunks    'even', 'torch chunk' (as torch.nn.DataParallel), 'free memory', a list of "
        "sizes or\n          of weights, or a StepModel.\n"
        "gpu0_bsz  rows of the first device; the others get the same.");
}

}  // namespace tandem::python
