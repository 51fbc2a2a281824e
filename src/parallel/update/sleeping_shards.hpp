// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parallel/update/update_sharing.hpp"

namespace tandem::parallel {

/// An update of shares by devices whose gradients sleep, so that whoever reads one gets it from the
/// shares.
class SleepingShards : public UpdateSharing {
 public:
  using UpdateSharing::UpdateSharing;

  Parts parts() const noexcept final { return Parts::shares; }
  void share_gradients() final;

  void complete() noexcept final {}  // who reads a gradient gets it
  void begin_backward() final { first().sleep(); }
  void reduced() noexcept final {}
  void made_whole() final { first().keep_gradients(); }
  void discard() final;

 private:
  SleepingBlocks& first() const { return *sleeping().front(); }
};

}  // namespace tandem::parallel
