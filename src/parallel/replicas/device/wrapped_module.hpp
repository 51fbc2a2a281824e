// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/optim/arena.hpp"

#include "parallel/replicas/device/replica_source.hpp"

namespace tandem::parallel {

/// What a module was like when it was wrapped, and checks of what has changed since.
class WrappedModule {
 public:
  /// Marks the parts of the module and of its replicas as wrapped, for as long as this object
  /// lives.
  ///
  /// @param replicas  the user's module, then its replicas.
  /// @param place  what the device is, for messages.
  /// @throws InvalidArgument  a tensor is not on `device`, or a part is wrapped already.
  WrappedModule(Device device, ReplicaSources replicas, const char* place = "the first device");
  WrappedModule(const std::vector<nn::Module*>& modules, Device device);

  ReplicaSource& original() const noexcept { return *replicas_.front(); }
  /// Makes this wrapper the only owner of an arena's tensors.
  void claim(optim::Arena& arena) const;
  /// Notes which parameters train. @param parameters  the module's.
  void note_training(const optim::Arena& parameters);
  /// Whether any parameter was frozen or unfrozen since note_training, or a frozen one's gradient
  /// dropped.
  bool training_changed(const optim::Arena& parameters) const;
  /// @throws InvalidArgument  a tensor was added, removed, resized or moved since.
  void check_tensors(const optim::Arena& parameters, const optim::Arena& buffers) const;
  /// Makes the replicas follow the module (ReplicaSource::follow).
  ///
  /// @throws InvalidArgument  the module has more or fewer parts than when it was wrapped.
  void follow() const;

 private:
  ReplicaSources replicas_;
  std::vector<bool> trains_;                                           // at note_training
  std::shared_ptr<const int> token_ = std::make_shared<const int>(0);  // for the marks
};

}  // namespace tandem::parallel
