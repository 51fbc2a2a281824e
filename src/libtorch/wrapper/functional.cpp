// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/functional.hpp"

#include <algorithm>
#include <string>

#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>

#include "tandem/libtorch/detail/module_copy.hpp"
#include "tandem/libtorch/detail/torch_device.hpp"
#include "tandem/parallel/parallel_apply.hpp"
#include "tandem/runtime/context.hpp"

#include "libtorch/modules/replica_scope.hpp"

namespace tandem::libtorch::detail {
namespace {

namespace impl = torch::autograd::impl;
using NamedTensors = torch::OrderedDict<std::string, at::Tensor>;

/// Gives a tensor of a copy the value of the module's, and its place in the graph: behind the op
/// that has copied the value.
void link(at::Tensor copy, const at::Tensor& own, c10::Device device) {
  const at::Tensor value = own.to(device, /*non_blocking=*/false, /*copy=*/true);
  copy.set_requires_grad(false);  // of a leaf; from now on the graph says it
  copy.set_data(value.detach());
  if (value.requires_grad()) impl::set_gradient_edge(copy, impl::gradient_edge(value));
}

void link_all(const NamedTensors& copies, const NamedTensors& own, c10::Device device) {
  TANDEM_CHECK(copies.keys() == own.keys(),
               "replicate: the module has ",
               own.size(),
               " tensors of a kind, and its copy ",
               copies.size(),
               ", or with other names; let clone() register the same ones");
  for (const auto& item : own) {
    if (item.value().defined()) link(copies[item.key()], item.value(), device);
  }
}

}  // namespace

void link_copies(torch::nn::Module& module,
                 const std::vector<std::shared_ptr<torch::nn::Module>>& copies,
                 const std::vector<Device>& devices) {
  const c10::AutoGradMode grad(true);  // a copy's place in the graph is kept for calls with grad
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const c10::Device device = torch_device(devices[i]);
    link_all(copies[i]->named_parameters(), module.named_parameters(), device);
    link_all(copies[i]->named_buffers(), module.named_buffers(), device);
    copy_mode(module, *copies[i]);
  }
}

std::vector<at::Tensor> apply_beside(const std::vector<at::Tensor>& inputs,
                                     std::function<at::Tensor(std::size_t)> forward) {
  std::vector<Device> devices;
  for (const at::Tensor& input : inputs) {
    devices.push_back(input.device().is_cpu() ? Device{DeviceType::cpu, 0}
                                              : tandem_device(input.device()));
  }
  // Shared with the jobs, because a job that hangs outlives this call.
  const auto outputs = std::make_shared<std::vector<at::Tensor>>(inputs.size());
  const auto caller = std::make_shared<const CallerState>();
  const auto job = [inputs, outputs, caller, forward = std::move(forward)](int number) {
    const auto i = static_cast<std::size_t>(number);
    const at::ThreadLocalStateGuard state(caller->state);
    const c10::DeviceGuard device(inputs[i].device());
    const ThreadLimit threads(std::min(caller->threads, context().threads));
    (*outputs)[i] = forward(i).to(inputs[i].device());
  };
  parallel::detail::run_on_devices(devices, job, {});
  return *outputs;
}

}  // namespace tandem::libtorch::detail
