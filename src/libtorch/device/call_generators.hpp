// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include "tandem/runtime/device.hpp"

namespace tandem::libtorch {

/// Copies a generator's state, under its lock.
at::Tensor state_of(at::Generator generator);
/// Sets it, under its lock.
void set_state(at::Generator generator, const at::Tensor& state);

// One number of the first device's generator seeds a call. Each device draws from a seed of its own
// that is made from it. So numbers depend on torch::manual_seed, on the calls so far, and on the
// device, and on nothing that happens in time.

/// After a replica's forward and loss. On a GPU of several devices a recomputation would draw other
/// numbers than the forward.
/// @throws InvalidArgument  it has drawn there.
void check_draws(Device device);

/// PyTorch's generators of the devices in one call, and that of the host, from which a replica's
/// loss may draw. Unless the call ends with keep(), they are afterwards as they were before.
class CallGenerators {
 public:
  explicit CallGenerators(const std::vector<Device>& devices);
  ~CallGenerators();
  CallGenerators(const CallGenerators&) = delete;
  CallGenerators& operator=(const CallGenerators&) = delete;

  /// The number that seeds the call.
  std::uint64_t seed() const noexcept { return seed_; }
  /// Whether an op has drawn a number of a device since the call began.
  bool have_drawn() const;
  /// The call has taken effect: the next one draws other numbers.
  void keep() noexcept { keeps_ = true; }

 private:
  std::vector<Device> devices_;
  at::Tensor host_;                 // the state before
  std::vector<at::Tensor> before_;  // states, by device
  std::uint64_t seed_ = 0;
  at::Tensor next_;  // state of the first device, after the draw
  bool keeps_ = false;
};

}  // namespace tandem::libtorch
