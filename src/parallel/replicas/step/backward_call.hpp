// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "parallel/replicas/step/earlier_gradients.hpp"
#include "parallel/replicas/step/engine.hpp"

namespace tandem::parallel {

/// A backward through the tapes of an earlier forward of all replicas, which reduces the gradients
/// into the module's. All of it takes effect, or nothing.
class BackwardCall {
 public:
  /// The work of one replica.
  using Body = std::function<void(const Replica&)>;

  /// Opens the call.
  ///
  /// @param prepare  is run before: no device begins `body` until all have ended this.
  BackwardCall(std::shared_ptr<Engine> engine,
               const std::vector<RowRange>& rows,
               Body body,
               Body prepare);

  /// @throws ReplicaError, Timeout  nothing has changed.
  static void take(const std::shared_ptr<BackwardCall>& backward, CallGate::Pass& gate);

 private:
  // In the order in which a call calls them.
  void prepare();
  void on_device(Call::Part& part);
  void add_earlier(Call::Part& first);
  void commit();

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Call> call_;
  Body body_, prepare_;
  EarlierGradients earlier_;
};

}  // namespace tandem::parallel
