// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <gloo/context.h>

#include "comm/processes/links.hpp"

namespace tandem::comm {

/// A collective of gloo's own, which blocks and so has a thread.
class GlooNative final : public ProcessLinks::Message {
 public:
  /// What it needs of the connections.
  struct Connections {
    std::function<void()> check;  ///< @throws ProcessLinks::Lost  one has gone
    std::function<void()> close;  ///< all of them
    std::function<void()> moved;  ///< to be called once it is done
  };

  GlooNative(std::shared_ptr<gloo::Context> context,
             const ProcessLinks::Native& call,
             Connections connections);
  /// Closes the connections if it does not end soon.
  ~GlooNative() override;
  bool done() override;

 private:
  void run(const std::shared_ptr<gloo::Context>& context, const ProcessLinks::Native& call);

  const Connections connections_;
  std::string why_;  // set before has_ended_; "": it is done
  std::chrono::steady_clock::time_point end_;
  std::atomic<bool> has_ended_{false};
  std::thread thread_;
};

}  // namespace tandem::comm
