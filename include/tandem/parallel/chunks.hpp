// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tandem/parallel/step_model.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// How the rows of a batch are divided among devices: one value, made by a factory function.
///
/// However the rows are divided, the result of a step is the whole batch's (design: exact under any
/// chunking).
class ChunkPolicy {
 public:
  /// The default. Sizes differ by at most one, the larger ones first.
  ChunkPolicy() = default;
  static ChunkPolicy even() { return {}; }
  /// Gives each device these rows. A shorter batch is divided in the same proportion, by largest
  /// remainder.
  /// @throws InvalidArgument  a size is negative, or all are zero.
  static ChunkPolicy sizes(std::vector<std::int64_t> sizes);
  /// Divides in proportion to the weights, by largest remainder. A weight of zero gives no rows.
  /// @throws InvalidArgument  a weight is negative or not finite, or all are zero.
  static ChunkPolicy weights(std::vector<double> weights);
  /// Divides in proportion to the bytes that are still free under each device's limit. If a device
  /// has no limit, the rows are divided evenly.
  static ChunkPolicy free_memory();
  /// Gives device 0 min(rows, gpu0_bsz) rows and divides the rest evenly among the others. With 0,
  /// device 0 gets no rows. A single device gets all rows.
  /// @source kimiyoung/transformer-xl, BalancedDataParallel; here gpu0_bsz is always honoured.
  /// @throws InvalidArgument  gpu0_bsz is negative.
  static ChunkPolicy gpu0(std::int64_t gpu0_bsz);
  /// Divides as torch.nn.DataParallel does: ceil(rows / devices) rows for each device until none
  /// are left, so 9 rows on 4 devices give 3, 3, 3, 0. For comparison.
  /// @source PyTorch, torch.chunk
  static ChunkPolicy torch_chunk();
  /// Divides as BalancedDataParallel does, for comparison: like gpu0 if gpu0_bsz is less than what
  /// each other device gets, and otherwise silently like torch_chunk (over the other devices if
  /// gpu0_bsz is 0).
  /// @source kimiyoung/transformer-xl, BalancedDataParallel
  /// @throws InvalidArgument  gpu0_bsz is negative.
  static ChunkPolicy balanced_data_parallel(std::int64_t gpu0_bsz);

  /// Divides by what each device needs: meets the goal as well as possible within the devices'
  /// limits. The first DataParallel::step with at least two rows per device measures the model, on
  /// parts of its batch. Until then, and for other calls before it, the rows are divided evenly.
  /// With PlanGoal::least_time that step throws InvalidArgument on shape-only devices, whose times
  /// say nothing.
  static ChunkPolicy planned(PlanGoal goal = PlanGoal::least_peak);
  /// The same, with an existing model.
  static ChunkPolicy planned(StepModel model, PlanGoal goal = PlanGoal::least_peak);

  /// Whether this is a planned policy whose model has not been measured yet.
  bool wants_model() const noexcept;
  /// The model of a planned policy. Null if the policy is not planned, or not measured yet.
  const StepModel* model() const noexcept;
  /// The goal of a planned policy; least_peak for any other policy.
  PlanGoal goal() const noexcept;

  /// Rows for each of `devices`. They add up to `rows`; a device may get zero rows.
  ///
  /// @throws InvalidArgument  the policy is for another number of devices, its sizes add up to
  ///                          fewer than `rows`, or a planned batch does not fit within the limits.
  std::vector<std::int64_t> plan(std::int64_t rows, std::span<const Device> devices) const;
  /// "even", "sizes 40,72,72,72", "gpu0 40", "torch chunk"; for messages and reports.
  std::string describe() const;

 private:
  struct Even {};
  struct Sizes {
    std::vector<std::int64_t> sizes;
  };
  struct Weights {
    std::vector<double> weights;
  };
  struct FreeMemory {};
  struct Gpu0 {
    std::int64_t rows;
  };
  struct TorchChunk {};
  struct Balanced {
    std::int64_t rows;
  };
  struct ToLearn {  // planned, once there is a model
    PlanGoal goal;
  };
  struct Planned {
    std::shared_ptr<const StepModel> model;
    PlanGoal goal;
  };
  using Kind =
      std::variant<Even, Sizes, Weights, FreeMemory, Gpu0, TorchChunk, Balanced, ToLearn, Planned>;

  explicit ChunkPolicy(Kind kind) : kind_(std::move(kind)) {}

  Kind kind_;
};

}  // namespace tandem::parallel
