// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/backward_threads.hpp"

#include <memory>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <torch/csrc/autograd/engine.h>

#include "tandem/core/check.hpp"

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
      start(engine, device, queue);
      queues.push_back(queue);
    }
  }

 private:
  struct Place {
    Engine& engine;
    int device;
    std::shared_ptr<torch::autograd::ReadyQueue> queue;
  };
  /// Python ends a thread that wants its lock while the interpreter ends, by unwinding its stack. A
  /// std::thread would take that for an exception, and end the process.
  static void start(Engine& engine,
                    int device,
                    std::shared_ptr<torch::autograd::ReadyQueue> queue) {
    auto place = std::make_unique<Place>(Place{engine, device, std::move(queue)});
    pthread_t thread{};
    const int error = pthread_create(&thread, nullptr, &run, place.get());
    TANDEM_CHECK(error == 0,
                 "DataParallel: no thread for the backward of device ",
                 device,
                 " can be started: ",
                 std::generic_category().message(error),
                 "; raise the limit on the number of processes (ulimit -u)");
    place.release();
    pthread_detach(thread);
  }
  static void* run(void* argument) {
    const std::unique_ptr<Place> place(static_cast<Place*>(argument));
    place->engine.thread_init(place->device, place->queue);
    return nullptr;
  }
};

}  // namespace

void start_backward_threads(int count) {
  EngineQueues::fill_up(torch::autograd::Engine::get_default_engine(), count);
}

}  // namespace tandem::libtorch
