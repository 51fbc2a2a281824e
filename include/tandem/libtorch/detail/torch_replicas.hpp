// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tandem/libtorch/detail/module_copy.hpp"
#include "tandem/libtorch/module_options.hpp"
#include "tandem/optim/param_group.hpp"
#include "tandem/parallel/detail/replica_set.hpp"
#include "tandem/parallel/options.hpp"

namespace at {
class Tensor;
}
namespace torch::nn {
class Module;
}

namespace tandem::libtorch::detail {

/// The replicas of a module of PyTorch: their copies of the module, and the ReplicaSet below them.
/// DataParallel<M> adds the types.
///
/// Before each call it follows the user's module: modes, values, gradients, and, by making the
/// replicas anew, tensors or parts that were replaced. To be used by one thread at a time.
class TorchReplicas {
 public:
  /// Computes the loss of a replica's rows, on its device's thread.
  using LossBody = std::function<WeightedSum(torch::nn::Module& replica, const parallel::Replica&)>;

  /// How ops of the replicas differ from those of a lone module, see ModuleOptions.
  struct Ops {
    BatchNormSync batch_norm = BatchNormSync::synchronised;
    DropoutMask dropout = DropoutMask::per_device;
    UnusedGradients unused = UnusedGradients::none;
  };

  /// @param copy  makes a copy of the module, whose values do not matter.
  /// @throws InvalidArgument  see DataParallel.
  TorchReplicas(std::shared_ptr<torch::nn::Module> module,
                MakeModule copy,
                Ops ops,
                const parallel::DataParallelOptions& options);
  ~TorchReplicas();
  TorchReplicas(const TorchReplicas&) = delete;
  TorchReplicas& operator=(const TorchReplicas&) = delete;

  const std::vector<Device>& devices() const noexcept;
  std::vector<RowRange> plan(std::int64_t rows);
  const parallel::ChunkPolicy& policy();
  std::size_t parameter_nbytes();
  /// A replica's module. It is the one that the next call uses, unless the user's module changes.
  torch::nn::Module& replica(int index);

  /// Runs `body` in every replica that has rows, on its device's thread. The replicas' parameters
  /// are then functions of the user's in PyTorch's graph, so that a backward of what they make
  /// reaches those.
  using Body = std::function<void(torch::nn::Module& replica, const parallel::Replica&)>;
  void forward(const std::vector<RowRange>& rows, const Body& body);
  /// Where outputs go if the user does not say: the device of PyTorch that the module is on.
  bool is_on_host() const noexcept;
  /// Runs the step of an optimizer of PyTorch on the user's module, as the first device's update.
  ///
  /// @param rows  those of the first device, for the error.
  /// @throws ReplicaError  `step` has thrown.
  void run_own_update(RowRange rows, const std::function<void()>& step);

  /// Gives the optimizer of a call, once the replicas have followed the module. Null: there is
  /// none.
  using GetOptimizer = std::function<optim::Optimizer&()>;
  /// See parallel::ReplicaSet::StepWork.
  struct StepWork {
    parallel::BatchSize batch;
    LossBody loss;
    GetOptimizer optimizer;  ///< null: gradients are added to the module's
  };
  /// See DataParallel::step.
  parallel::StepResult step(const StepWork& work, const parallel::StepOptions& options);
  parallel::StepModel measure(const StepWork& work);
  std::optional<parallel::StepProbe> try_batch(const StepWork& work);
  /// Updates with the gradients that the user's parameters have.
  void update(const GetOptimizer& optimizer);
  void sync();
  void set_syncs(parallel::GradientSync sync);
  parallel::GradientSync syncs() const noexcept;

  /// How often the replicas were made.
  std::uint64_t generation() const noexcept;
  /// The name of one of the module's parameters, and the tensor of tandem over it; none if `x` is
  /// no parameter of the module. Valid for one generation.
  std::optional<optim::NamedParameter> find_parameter(const at::Tensor& x) const;

 private:
  struct Parts;

  std::unique_ptr<Parts> parts_;
};

/// Whether PyTorch has thrown `e` because a device is out of memory.
bool is_out_of_memory(const std::exception& e) noexcept;

}  // namespace tandem::libtorch::detail
