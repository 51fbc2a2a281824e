// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "tandem/libtorch/module_options.hpp"

#include "libtorch/modules/backward_meetings.hpp"
#include "libtorch/modules/batch_norms.hpp"
#include "libtorch/modules/gradient_sink.hpp"
#include "libtorch/modules/stopped_replica.hpp"
#include "parallel/replicas/device/replica_source.hpp"

namespace tandem::libtorch {

// A wrapper lays out parameters and buffers in arenas, as tensors of tandem. A source puts
// PyTorch's tensors over the same bytes (set_data). They stay the same tensors, so optimizers that
// hold them go on. Each library counts its own writes; what PyTorch has written is told to tandem
// before and after a forward (ModuleChanges).

/// Whether a tensor does not require grad, but has a gradient from before: an optimizer uses that.
bool has_frozen_gradient(const at::Tensor& x);

/// Buffers of a copy require grad where those of the user's module do: they are then trained as
/// parameters are.
void follow_trained_buffers(const torch::nn::Module& original, const torch::nn::Module& copy);

/// A replica that is a module of PyTorch. The source of device 0 stands for the user's module, and
/// for its copy on that device, which runs in its place: they share the memory of their parameters,
/// but the copy has the buffers that a call may write.
class TorchSource final : public parallel::ReplicaSource {
 public:
  /// A tensor of the module. `own` is the user's and undefined in sources of other devices, `copy`
  /// is the replica's, and `shown` has their memory.
  struct Slot {
    std::string name;
    nn::TensorKind kind;
    Tensor shown;
    at::Tensor own, copy;
    bool has_frozen_gradient = false;
  };

  /// What ops of a replica need to know.
  struct Ops {
    BatchNorms batch_norms;
    DropoutMask dropout;
    std::shared_ptr<BackwardMeetings> meetings;  // of all replicas
    std::weak_ptr<TorchSource> first = {};       // of the first device; empty: it is this one
  };

  /// @param original  the user's module; null for devices other than the first.
  /// @param copy      the module that runs on `device`, with the same tensors under the same names.
  /// @param ops       of the copy.
  /// @throws InvalidArgument  tensors differ in name, parts in class, a tensor of the user's module
  ///                          is on a device that is neither PyTorch's `cpu` nor `device`, or its
  ///                          dtype is none of tandem's.
  TorchSource(std::shared_ptr<torch::nn::Module> original,
              std::shared_ptr<torch::nn::Module> copy,
              Device device,
              Ops ops);

  void visit_tensors(const TensorVisitor& f) override;
  /// Whether any part is.
  bool is_training() const override;
  std::vector<std::string> unit_paths(const parallel::UnitPolicy& policy) override;
  std::vector<Tensor> equal_buffers() override;
  void check_unwrapped() override;
  void mark_wrapped(const std::shared_ptr<const void>& wrapper) override;
  void follow(parallel::ReplicaSource& original) override;

  /// Gives the replica the mode of each part of `module`. @throws InvalidArgument  see follow.
  void follow_mode(torch::nn::Module& module) const;
  /// Whether `module` has the parts that the original had. Of the first device's source.
  bool has_parts_of(const torch::nn::Module& module) const;
  /// Puts PyTorch's tensors over memory that has moved, and watches their gradients. To be called
  /// when a wrapper has laid out its arenas.
  void settle();
  /// Whether the user's module is on PyTorch's `cpu`; one without tensors is, unless devices are
  /// GPUs. Of the first device's source.
  bool is_on_host() const noexcept;
  torch::nn::Module& module() const noexcept { return *copy_; }
  /// The name of the module's class, without namespaces.
  const std::shared_ptr<const std::string>& class_name() const noexcept { return class_name_; }
  const std::vector<Slot>& slots() const noexcept { return slots_; }
  /// Gives the user's module the buffers of this copy that differ, outside of a call.
  void keep_buffers() const;
  Device device() const noexcept { return device_; }
  GradientSink& sink() const noexcept { return *sink_; }
  Ops& ops() noexcept { return ops_; }
  StoppedReplica& stopped() noexcept { return stopped_; }

 private:
  /// Puts the replica's tensor over the slot's memory.
  void bind_copy(const Slot& slot) const;
  void watch_gradients();

  std::shared_ptr<torch::nn::Module> original_, copy_;
  Device device_;
  Ops ops_;
  std::shared_ptr<const std::string> class_name_;
  std::vector<std::shared_ptr<torch::nn::Module>> parts_;  // of the original
  std::vector<Slot> slots_;
  std::vector<Tensor> own_;  // by slot: what is shown between calls; only of device 0
  std::shared_ptr<GradientSink> sink_;
  StoppedReplica stopped_;
};

}  // namespace tandem::libtorch
