// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parallel/update/parameter_update.hpp"

namespace tandem::parallel {

/// Only device 0 updates, with the gradients that were reduced to it.
class CentralUpdate final : public ParameterUpdate {
 public:
  optim::ArenaSharing* sharing() noexcept override { return nullptr; }
  void complete() noexcept override {}
  void begin_backward() noexcept override {}
  void reduced() noexcept override {}
  void discard() noexcept override {}
  void gather_values(comm::Communicator&, int) const noexcept override {}
};

}  // namespace tandem::parallel
