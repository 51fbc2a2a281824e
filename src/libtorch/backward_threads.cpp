// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/backward_threads.hpp"

#include <memory>
#include <thread>

#include <torch/csrc/autograd/engine.h>

namespace tandem::libtorch {
namespace {

/// What PyTorch's engine leaves to those who derive from it: its queues, one a device.
struct EngineQueues : torch::autograd::Engine {
  static void fill_up(Engine& engine, int count) {
    const bool has_started = engine.*(&EngineQueues::thread_pool_shared_) != nullptr;
    auto& queues = engine.*(&EngineQueues::device_ready_queues_);
    if (!has_started) return;  // the first backward will count them
    for (int device = static_cast<int>(queues.size()); device < count; ++device) {
      const auto queue = std::make_shared<torch::autograd::ReadyQueue>();
      queues.push_back(queue);
      std::thread([&engine, device, queue] { engine.thread_init(device, queue); }).detach();
    }
  }
};

}  // namespace

void start_backward_threads(int count) {
  EngineQueues::fill_up(torch::autograd::Engine::get_default_engine(), count);
}

}  // namespace tandem::libtorch
