// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/libtorch/data_parallel.hpp"
#include "tandem/libtorch/detail/module_copy.hpp"
#include "tandem/runtime/runtime.hpp"

// The functions of torch::nn::parallel, on virtual devices. They make replicas in each call; a
// program that calls them often is faster with a DataParallel, which keeps its own. What is missing
// here are parallel::scatter and parallel::gather, which take PyTorch's tensors too (nest.hpp).
namespace tandem::libtorch {

namespace detail {

/// Puts copies of a module on the devices, with its values and modes. Their parameters, and buffers
/// that require grad, become functions of the module's in PyTorch's graph.
void link_copies(torch::nn::Module& module,
                 const std::vector<std::shared_ptr<torch::nn::Module>>& copies,
                 const std::vector<Device>& devices);
/// Runs `forward(i)` on the thread of the device of inputs[i], all at once, in PyTorch's state of
/// the calling thread. PyTorch's `cpu` has the thread of cpu:0.
///
/// @return what they return, on the devices of the inputs.
std::vector<at::Tensor> apply_beside(const std::vector<at::Tensor>& inputs,
                                     std::function<at::Tensor(std::size_t)> forward);

/// What a holder of TORCH_MODULE holds.
template <class Holder>
using HeldPointer = std::remove_cvref_t<decltype(std::declval<const Holder&>().ptr())>;

}  // namespace detail

/// Copies of a module, one on each device (torch::nn::parallel::replicate). What is done to a copy
/// leaves the module as it is, but for gradients: a backward through a copy adds to the `grad()` of
/// the module's own parameters.
///
/// The module is on any device, and stays there. It needs a clone(), or a constructor without
/// arguments.
/// @param devices  registered ones (register_devices); a device may come twice.
/// @throws InvalidArgument  the module cannot be copied, or a device is not registered.
/// @cost  a copy of all parameters and buffers for each device.
template <class M>
std::vector<std::shared_ptr<M>> replicate(const std::shared_ptr<M>& module,
                                          const std::vector<Device>& devices) {
  const detail::MakeModule copy = detail::copies_of<M>(module, nullptr);
  std::vector<std::shared_ptr<torch::nn::Module>> copies;
  for (std::size_t i = 0; i < devices.size(); ++i)
    copies.push_back(copy());
  detail::link_copies(*module, copies, devices);
  std::vector<std::shared_ptr<M>> replicas;
  for (const auto& made : copies)
    replicas.push_back(std::dynamic_pointer_cast<M>(made));
  return replicas;
}
/// The same for a holder of TORCH_MODULE: holders of the copies.
template <class Holder>
requires std::constructible_from<Holder, detail::HeldPointer<Holder>> std::vector<Holder> replicate(
    const Holder& module, const std::vector<Device>& devices) {
  std::vector<Holder> replicas;
  for (auto& copy : replicate(module.ptr(), devices))
    replicas.push_back(Holder(std::move(copy)));
  return replicas;
}

/// Calls `modules[i]->forward(inputs[i])` for all i at once, each on the thread of the input's
/// device (torch::nn::parallel::parallel_apply). Grad mode and the rest of PyTorch's state are the
/// caller's.
///
/// @param modules  pointers, or holders of TORCH_MODULE; each module once.
/// @param inputs   one at::Tensor for each module, on a virtual device or on PyTorch's `cpu`. The
///                 calls of one device run one after the other.
/// @return the outputs, on the devices of the inputs; `to` and parallel::gather move them on.
/// @throws InvalidArgument  the numbers of modules and inputs differ, or an input is on another
///                          device.
/// @throws ReplicaError     a module failed: the first error, with the others attached.
template <class Module>
std::vector<at::Tensor> parallel_apply(const std::vector<Module>& modules,
                                       const std::vector<at::Tensor>& inputs) {
  TANDEM_CHECK(modules.size() == inputs.size(),
               "parallel_apply: got ",
               modules.size(),
               " modules and ",
               inputs.size(),
               " inputs; give the same number of each");
  return detail::apply_beside(inputs, [modules, inputs](std::size_t i) {
    Module module = modules[i];
    return module->forward(inputs[i]);
  });
}

/// One call of a DataParallel (torch::nn::parallel::data_parallel): scatters the input along `dim`,
/// runs a replica of the module on each device, and gathers the outputs. A backward through the
/// output reaches the module's own parameters.
///
/// Other than in PyTorch, one device does not move the module there, and batch norms use the
/// statistics of the whole batch, as in a DataParallel without options.
/// @param module         on PyTorch's `cpu` or on the first device.
/// @param input          an at::Tensor, or a nest of them.
/// @param devices        empty: default_devices().
/// @param output_device  none: the first device.
/// @throws InvalidArgument  see DataParallel.
/// @throws ReplicaError     a replica failed.
/// @cost  that of wrapping the module, in each call.
template <class M, parallel::Argument Input>
auto data_parallel(const std::shared_ptr<M>& module,
                   const Input& input,
                   std::vector<Device> devices = {},
                   std::optional<Device> output_device = std::nullopt,
                   int dim = 0) {
  if (devices.empty()) devices = default_devices();
  const Device output = output_device.value_or(devices.front());
  return DataParallel(module, {.devices = devices, .output_device = output, .dim = dim})(input);
}
/// The same for a holder of TORCH_MODULE.
template <class Holder, parallel::Argument Input>
requires std::constructible_from<Holder, detail::HeldPointer<Holder>>
auto data_parallel(const Holder& module,
                   const Input& input,
                   std::vector<Device> devices = {},
                   std::optional<Device> output_device = std::nullopt,
                   int dim = 0) {
  return data_parallel(module.ptr(), input, std::move(devices), output_device, dim);
}

}  // namespace tandem::libtorch
