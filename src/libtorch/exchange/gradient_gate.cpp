// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/detail/gradient_gate.hpp"

#include <cstddef>
#include <string>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "libtorch/exchange/replica_graph.hpp"
#include "libtorch/gpu/torch_memory.hpp"
#include "libtorch/versions/torch_differences.hpp"

namespace tandem::libtorch {
namespace {

/// The identity, to the tensors' own devices or to others. It has an input for each tensor that
/// requires grad.
class GradientGate final : public torch::autograd::Node, public ReplicaBorder {
 public:
  std::string name() const override { return "GradientGate"; }
  void add(const at::Tensor& x) {
    add_next_edge(torch::autograd::impl::gradient_edge(x));
    devices_.push_back(x.device());
  }

 protected:
  std::vector<at::Tensor> apply(std::vector<at::Tensor>&& gradients) override {
    return move_together(std::move(gradients), devices_);  // a gate only for double backward
  }

 private:
  std::vector<c10::Device> devices_;  // of the gradients, by input
};

/// Off the graph. @return  `x` itself, or a tensor over its memory if it is on a graph
at::Tensor moved(const at::Tensor& x, c10::Device device) {
  const bool is_there = x.device() == device;
  if (!is_there) return x.detach().to(device);
  return x.requires_grad() ? x.tensor_data() : x;  // not detach(), which would be an op
}

std::vector<c10::Device> devices_of(const std::vector<at::Tensor>& tensors) {
  std::vector<c10::Device> devices;
  for (const at::Tensor& x : tensors)
    devices.push_back(x.defined() ? x.device() : c10::Device(c10::kCPU));
  return devices;
}

}  // namespace

std::vector<at::Tensor> move_together(std::vector<at::Tensor> tensors,
                                      const std::vector<c10::Device>& devices) {
  const bool records =
      c10::GradMode::is_enabled() && torch::autograd::any_variable_requires_grad(tensors);
  const auto gate = records ? make_node<GradientGate>() : nullptr;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    at::Tensor& x = tensors[i];
    if (!x.defined()) continue;
    if (x.device() == devices[i]) keep_for_current_stream(x);  // its own device may be on this GPU
    if (!records) {
      if (x.device() != devices[i]) x = x.to(devices[i]);
      continue;
    }
    const at::Tensor y = moved(x, devices[i]);
    if (x.requires_grad()) {
      gate->add(x);
      torch::autograd::set_history(y, gate);
    }
    x = y;
  }
  return tensors;
}

std::vector<at::Tensor> leave_replica(std::vector<at::Tensor> outputs) {
  std::vector<std::size_t> on_graph;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].defined() && outputs[i].requires_grad()) on_graph.push_back(i);
  if (on_graph.size() < 2 || !c10::GradMode::is_enabled()) return enter_replica(std::move(outputs));
  for (const auto& members : separate_graphs(outputs, on_graph)) {
    std::vector<at::Tensor> together;
    for (const std::size_t i : members)
      together.push_back(std::move(outputs[i]));
    together = enter_replica(std::move(together));
    for (std::size_t k = 0; k < members.size(); ++k)
      outputs[members[k]] = std::move(together[k]);
  }
  return outputs;
}

std::vector<at::Tensor> enter_replica(std::vector<at::Tensor> inputs) {
  const auto devices = devices_of(inputs);
  return move_together(std::move(inputs), devices);
}

}  // namespace tandem::libtorch
