// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "libtorch/modules/torch_source.hpp"

namespace tandem::libtorch {

/// How many writes PyTorch has counted. 0 for tensors of inference mode, which have no count.
std::uint32_t version_of(const at::Tensor& x);
/// Counts a write to PyTorch's tensor itself, as PyTorch does for its own.
void count_write(const at::Tensor& x);
/// Counts a write of PyTorch to the memory of one of tandem's tensors.
void count_write(const Tensor& x);

/// What has been written to a module's tensors by one library, and has to be told to the other.
class ModuleChanges {
 public:
  using Sources = std::vector<std::shared_ptr<TorchSource>>;

  /// @param sources  of all devices, settled. Their tensors count as unchanged.
  explicit ModuleChanges(const Sources& sources);

  /// Whether the module still has the tensors that the source shows, in the same memory. If not,
  /// its replicas must be made anew.
  static bool has_same_tensors(const torch::nn::Module& module, const TorchSource& source);

  /// Before a call: counts in tandem what PyTorch has written to the user's tensors.
  void tell_tandem();
  /// Counts what PyTorch has written without counting it: `p.data().clamp_()` does so, and so do
  /// its optimizers. The values are compared with those that another device has got.
  ///
  /// @cost  reads the parameters of two devices that are not counted as written.
  void find_unseen() const;
  /// After a call: counts in PyTorch what tandem has written to any device's tensors. So a graph
  /// that has saved such a tensor does not go backward with changed values.
  void tell_torch();
  /// The same for one device, on any thread: a replica's, before its forward uses them.
  void tell_torch(std::size_t device);

 private:
  struct Versions {
    std::uint32_t torch = 0;   ///< of the user's tensor
    std::uint64_t tandem = 0;  ///< of the shown one
  };

  void see(std::size_t device, std::size_t slot);

  Sources sources_;
  std::vector<std::vector<Versions>> seen_;  // by device, by slot
  std::vector<bool> counted_;                // by slot: tell_tandem has counted a write
};

}  // namespace tandem::libtorch
