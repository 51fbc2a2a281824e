// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/device/backward_threads.hpp"

#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <torch/csrc/autograd/engine.h>

#include "tandem/core/check.hpp"

#include "libtorch/versions/torch_differences.hpp"

namespace tandem::libtorch {
namespace {

/// What PyTorch's engine leaves to those who derive from it: its queues, one a device.
struct EngineQueues : torch::autograd::Engine {
  static void fill_up(Engine& engine, int count) {
    auto& queues = engine.*(&EngineQueues::device_ready_queues_);
    if (!have_started(engine)) return;  // the first backward will count them
    for (int device = static_cast<int>(queues.size()); device < count; ++device) {
      const auto queue = std::make_shared<torch::autograd::ReadyQueue>();
      start(engine, device, queue);
      queues.push_back(queue);
    }
  }
  static bool have_started(Engine& engine) {
    return engine.*(&EngineQueues::thread_pool_shared_) != nullptr;
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

/// Runs on a device's thread, and does nothing.
class Visit final : public torch::autograd::Node {
 public:
  explicit Visit(const at::Tensor& on_device) { add_input_metadata(on_device); }

 protected:
  std::vector<at::Tensor> apply(std::vector<at::Tensor>&& /*gradients*/) override { return {}; }
};

void visit_devices(int count) {
  torch::autograd::edge_list roots;
  std::vector<at::Tensor> gradients;
  for (int device = 0; device < count; ++device) {
    const at::Device place(at::kPrivateUse1, static_cast<c10::DeviceIndex>(device));
    gradients.push_back(at::empty({0}, at::TensorOptions(at::kFloat).device(place)));
    roots.emplace_back(make_node<Visit>(gradients.back()), 0);
  }
  torch::autograd::Engine::get_default_engine().execute(
      roots, gradients, /*keep_graph=*/false, /*create_graph=*/false, /*accumulate_grad=*/true);
}

}  // namespace

void settle_backward_threads(int count, std::chrono::milliseconds patience) {
  if (count == 0 || !EngineQueues::have_started(torch::autograd::Engine::get_default_engine()))
    return;
  std::packaged_task<void()> visit([count] { visit_devices(count); });
  const std::future<void> visited = visit.get_future();
  std::thread(std::move(visit)).detach();  // a device's thread may hang in a backward
  visited.wait_for(patience);
}

void start_backward_threads(int count) {
  EngineQueues::fill_up(torch::autograd::Engine::get_default_engine(), count);
}

}  // namespace tandem::libtorch
