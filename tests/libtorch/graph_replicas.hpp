// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replicas of a module in one graph of PyTorch, as simple as they can be: each call starts a thread
// for each device.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/ThreadLocalState.h>
#include <torch/torch.h>

#include "tandem/libtorch/detail/gradient_gate.hpp"
#include "tandem/libtorch/devices.hpp"

#include "libtorch/graph/broadcast_parameters.hpp"

namespace tandem::testing {

inline torch::Device virtual_device(int index) {
  return libtorch::torch_device({DeviceType::cpu, index});
}

/// Where replicas meet: each waits for all others, and gets the sum of their tensors.
class Meeting {
 public:
  explicit Meeting(int count, std::chrono::seconds deadline = std::chrono::seconds(20))
      : deadline_(deadline), tensors_(static_cast<std::size_t>(count)) {}

  at::Tensor sum(int rank, const at::Tensor& x) {
    std::unique_lock lock(mutex_);
    const int meeting = meeting_;
    tensors_[static_cast<std::size_t>(rank)] = x.to(torch::kCPU);
    if (++arrived_ == tensors_.size()) {
      total_ = std::accumulate(tensors_.begin() + 1, tensors_.end(), tensors_[0]);
      arrived_ = 0;
      ++meeting_;
      changed_.notify_all();
    } else if (!changed_.wait_for(lock, deadline_, [&] { return meeting_ > meeting || broken_; })) {
      broken_ = true;
      changed_.notify_all();
    }
    if (broken_) throw std::runtime_error("the replicas have not met");
    return total_.to(x.device());
  }

 private:
  const std::chrono::seconds deadline_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<at::Tensor> tensors_;
  at::Tensor total_;
  std::size_t arrived_ = 0;
  int meeting_ = 0;
  bool broken_ = false;
};

/// Subtracts the mean over the rows of all replicas, as a synchronised batch norm does. It is its
/// own gradient.
class CentreFunction : public torch::autograd::Function<CentreFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx,
                            const at::Tensor& x,
                            std::int64_t meeting,
                            std::int64_t rank) {
    ctx->saved_data["meeting"] = meeting;
    ctx->saved_data["rank"] = rank;
    const at::Tensor rows = at::full({1}, x.size(0), x.options());
    const at::Tensor all =
        reinterpret_cast<Meeting*>(meeting)->sum(static_cast<int>(rank), at::cat({x.sum(0), rows}));
    return x - all.narrow(0, 0, x.size(1)) / all[x.size(1)];
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& dy) {
    return {CentreFunction::apply(
                dy[0], ctx->saved_data["meeting"].toInt(), ctx->saved_data["rank"].toInt()),
            {},
            {}};
  }
};

/// Sleeps of random lengths, other ones for each seed.
class Jitter {
 public:
  explicit Jitter(unsigned seed) : turn_(seed * 1000003u) {}
  void operator()() {
    std::minstd_rand random(++turn_);
    random.discard(3);
    if (random() % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 800));
  }

 private:
  std::atomic<unsigned> turn_;
};

/// The identity, which sleeps in forward and in backward.
class JitterFunction : public torch::autograd::Function<JitterFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx,
                            const at::Tensor& x,
                            std::int64_t jitter) {
    ctx->saved_data["jitter"] = jitter;
    (*reinterpret_cast<Jitter*>(jitter))();
    return x.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& dy) {
    return {JitterFunction::apply(dy[0], ctx->saved_data["jitter"].toInt()), {}};
  }
};

/// Two branches with two outputs. `scale` is used twice, `unused` never.
struct Branches : torch::nn::Cloneable<Branches> {
  Branches() { Branches::reset(); }
  void reset() override {
    first = register_module("first", torch::nn::Linear(4, 6));
    left = register_module("left", torch::nn::Linear(6, 5));
    right = register_module("right", torch::nn::Linear(6, 5));
    scale = register_parameter("scale", torch::rand({5}));
    unused = register_parameter("unused", torch::rand({3}));
  }
  std::vector<at::Tensor> forward(const at::Tensor& x) {
    at::Tensor h = first->forward(x).tanh();
    if (on_first_gradient && h.requires_grad()) {
      h.register_hook([f = on_first_gradient](const at::Tensor&) { f(); });
    }
    const at::Tensor a = met(left->forward(h), 0) * scale;
    const at::Tensor b = met(right->forward(h), 1).sigmoid() * scale;
    return {a.tanh(), b};
  }
  at::Tensor met(const at::Tensor& x, std::size_t branch) const {
    if (meetings.empty()) return x;
    at::Tensor y = delayed(x);
    y = CentreFunction::apply(y, reinterpret_cast<std::int64_t>(meetings[branch].get()), rank);
    return delayed(y);
  }
  at::Tensor delayed(const at::Tensor& x) const {
    return jitter ? JitterFunction::apply(x, reinterpret_cast<std::int64_t>(jitter.get())) : x;
  }

  torch::nn::Linear first = nullptr, left = nullptr, right = nullptr;
  at::Tensor scale, unused;
  std::vector<std::shared_ptr<Meeting>> meetings;  // of the branches; none: do not meet
  std::shared_ptr<Jitter> jitter;
  std::function<void()> on_first_gradient;
  int rank = 0;
};

/// Copies of a module on virtual devices 0 to count - 1, in one graph with it.
class GraphReplicas {
 public:
  using Reduce = libtorch::BroadcastParameters::Reduce;

  /// @param buckets  how many; the last parameters are in the first of them.
  GraphReplicas(Branches& net, int count, std::size_t buckets = 2, Reduce reduce = {})
      : home_(net.parameters()[0].device()) {
    for (int d = 0; d < count; ++d) {
      const auto copy = std::dynamic_pointer_cast<Branches>(net.clone(virtual_device(d)));
      copy->rank = d;
      copies.push_back(copy);
    }
    std::vector<std::vector<at::Tensor>> tensors;
    for (const auto& copy : copies)
      tensors.push_back(copy->parameters());
    std::vector<std::vector<std::size_t>> members(buckets);
    const std::size_t n = tensors[0].size();
    for (std::size_t k = n; k-- > 0;)
      members[(n - 1 - k) * buckets / n].push_back(k);
    graph = std::make_unique<libtorch::BroadcastParameters>(
        net.parameters(), std::move(tensors), std::move(members), std::move(reduce));
  }

  std::vector<at::Tensor> operator()(const at::Tensor& x) {
    graph->attach();
    std::vector<std::vector<at::Tensor>> outputs(copies.size());
    std::vector<std::exception_ptr> errors(copies.size());
    const at::ThreadLocalState state;
    std::vector<std::thread> threads;
    for (std::size_t d = 0; d < copies.size(); ++d) {
      threads.emplace_back([&, d] {
        const at::ThreadLocalStateGuard guard(state);
        try {
          outputs[d] = part(d, x);
        } catch (...) {
          errors[d] = std::current_exception();
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    for (const std::exception_ptr& error : errors) {
      if (error) std::rethrow_exception(error);
    }
    return gathered(outputs);
  }

  std::vector<std::shared_ptr<Branches>> copies;
  std::unique_ptr<libtorch::BroadcastParameters> graph;

 private:
  std::vector<at::Tensor> part(std::size_t d, const at::Tensor& x) {
    const auto n = static_cast<std::int64_t>(copies.size()), i = static_cast<std::int64_t>(d);
    const std::int64_t from = x.size(0) * i / n, to = x.size(0) * (i + 1) / n;
    const at::Tensor rows = x.narrow(0, from, to - from).to(virtual_device(static_cast<int>(d)));
    return libtorch::leave_replica(copies[d]->forward(libtorch::enter_replica({rows}).front()));
  }
  std::vector<at::Tensor> gathered(const std::vector<std::vector<at::Tensor>>& outputs) const {
    std::vector<at::Tensor> whole;
    for (std::size_t j = outputs[0].size();
         j-- > 0;) {  // the first gradients are those of the last
      std::vector<at::Tensor> parts;
      for (const auto& of_device : outputs)
        parts.push_back(of_device[j].to(home_));
      whole.push_back(at::cat(parts));
    }
    std::reverse(whole.begin(), whole.end());
    return whole;
  }

  torch::Device home_;
};

}  // namespace tandem::testing
