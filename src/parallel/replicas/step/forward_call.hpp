// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "parallel/replicas/step/engine.hpp"

namespace tandem::parallel {

/// A forward of all replicas whose outputs the caller gathers. All of it takes effect, or nothing.
class ForwardCall {
 public:
  /// The work of one replica.
  using Body = std::function<void(const Replica&)>;

  /// Opens the call.
  ForwardCall(std::shared_ptr<Engine> engine, const std::vector<RowRange>& rows, Body body);

  /// @param gather  runs on the caller's thread, once all replicas have gone forward; if it fails,
  ///                so has the call.
  /// @throws ReplicaError, Timeout  nothing has changed.
  static void take(const std::shared_ptr<ForwardCall>& forward,
                   CallGate::Pass& gate,
                   const std::function<void()>& gather);

 private:
  void on_device(Call::Part& part);

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Call> call_;
  Body body_;
};

}  // namespace tandem::parallel
