// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/replica_drift.hpp"

#include "tandem/core/check.hpp"

namespace tandem::parallel {

ReplicaDrift::ReplicaDrift(const std::string& tensor,
                           Device owner,
                           Device device,
                           std::int64_t step)
    : Error(tandem::detail::concat("step ",
                                   step,
                                   ": '",
                                   tensor,
                                   "' on ",
                                   device,
                                   " differs from its value on ",
                                   owner,
                                   "; something wrote to a replica, or a device lost bits; the "
                                   "next call sends the values again")),
      tensor_(tensor),
      device_(device),
      step_(step) {}

ReplicaDrift::ReplicaDrift(const std::string& what, int process, Device device, std::int64_t step)
    : Error(tandem::detail::concat(
          "step ",
          step,
          ": '",
          what,
          "' on ",
          device,
          " of process ",
          process,
          " differs from its value in process 0; the processes' optimizers, schedules or seeds "
          "differ, or something wrote to a module: make them alike, and wrap the module again, "
          "which begins with process 0's values")),
      tensor_(what),
      device_(device),
      step_(step) {}

}  // namespace tandem::parallel
