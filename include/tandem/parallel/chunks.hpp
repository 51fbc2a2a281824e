// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tandem/parallel/step_model.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// How a batch's rows are shared out among devices. One value; see the factories.
///
/// However the rows are cut, the result of a step is the whole batch's (design: exact under any
/// chunking).
class ChunkPolicy {
 public:
  /// Sizes differ by at most one; larger ones first. The default.
  ChunkPolicy() = default;
  static ChunkPolicy even() { return {}; }
  /// These rows for each device. A shorter batch is shared out in the same proportion, by largest
  /// remainder.
  /// @throws InvalidArgument  a size is negative, or all are zero.
  static ChunkPolicy sizes(std::vector<std::int64_t> sizes);
  /// In proportion to positive weights, by largest remainder.
  /// @throws InvalidArgument  a weight is negative or not finite, or all are zero.
  static ChunkPolicy weights(std::vector<double> weights);
  /// In proportion to the bytes that each device's limit leaves free; even where no device has a
  /// limit.
  static ChunkPolicy free_memory();
  /// min(rows, gpu0_bsz) for device 0, the rest even. 0 leaves device 0 without rows; one device
  /// takes all.
  /// @source kimiyoung/transformer-xl, BalancedDataParallel; always honoured here.
  /// @throws InvalidArgument  gpu0_bsz is negative.
  static ChunkPolicy gpu0(std::int64_t gpu0_bsz);
  /// As torch.nn.DataParallel cuts: ceil(rows / devices) rows for each device until none are left.
  /// 9 rows on 4 devices: 3, 3, 3, 0. For comparison.
  /// @source PyTorch, torch.chunk
  static ChunkPolicy torch_chunk();
  /// As BalancedDataParallel cuts, for comparison: gpu0 where gpu0_bsz is below what each other
  /// device gets, else torch_chunk, without saying so (0: over the other devices).
  /// @source kimiyoung/transformer-xl, BalancedDataParallel
  /// @throws InvalidArgument  gpu0_bsz is negative.
  static ChunkPolicy balanced_data_parallel(std::int64_t gpu0_bsz);

  /// By what each device needs: the goal is reached as well as it can be, and limits are kept to.
  /// The model is measured by the first DataParallel::step, on parts of its batch; until then, and
  /// for other calls before it, even.
  static ChunkPolicy planned(PlanGoal goal = PlanGoal::least_peak);
  /// The same by a model that there is already.
  static ChunkPolicy planned(StepModel model, PlanGoal goal = PlanGoal::least_peak);

  /// A planned one whose model is still to be measured.
  bool wants_model() const noexcept;
  /// Of a planned policy; null: none, or not measured yet.
  const StepModel* model() const noexcept;
  /// Of a planned policy; of another one least_peak.
  PlanGoal goal() const noexcept;

  /// Rows for each of `devices`; they add up to `rows`. Zero rows is normal.
  ///
  /// @throws InvalidArgument  the policy is for another number of devices, or its sizes are less
  /// than `rows`.
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
  struct Planned {
    std::shared_ptr<const StepModel> model;
    PlanGoal goal;
  };
  std::variant<Even, Sizes, Weights, FreeMemory, Gpu0, TorchChunk, Balanced, Planned> kind_;
};

}  // namespace tandem::parallel
