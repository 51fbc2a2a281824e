// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What PyTorch's test/cpp/api/parallel.cpp includes of PyTorch, over tandem: it stands in place of
// torch/nn/parallel/data_parallel.h, torch/csrc/autograd/functions/comm.h and
// test/cpp/api/support.h. scripts/torch-acceptance compiles the file with it.
//
// GPUs become virtual devices: kCUDA, is_cuda and torch::cuda::device_count are macros for them.

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tandem/libtorch/devices.hpp"
#include "tandem/libtorch/functional.hpp"
#include "tandem/libtorch/nest.hpp"
#include "tandem/parallel/chunks.hpp"
#include "tandem/parallel/scatter_gather.hpp"
#include "tandem/runtime/runtime.hpp"

namespace torch::test {

inline std::vector<tandem::Device> virtual_devices(const std::vector<torch::Device>& devices) {
  std::vector<tandem::Device> list;
  for (const torch::Device device : devices)
    list.push_back(tandem::libtorch::tandem_device(device));
  return list;
}

struct SeedingFixture : ::testing::Test {
  SeedingFixture() {
    tandem::libtorch::register_devices(static_cast<int>(tandem::default_devices().size()));
    torch::manual_seed(0);
  }
};

/// What `f` throws, in words; empty if it throws nothing.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

}  // namespace torch::test

#define ASSERT_THROWS_WITH(statement, part) \
  ASSERT_NE(torch::test::error_of([&] { statement; }).find(part), std::string::npos)

namespace torch::autograd {

class Scatter {
 public:
  explicit Scatter(const std::vector<torch::Device>& devices)
      : devices_(torch::test::virtual_devices(devices)) {}
  variable_list apply(const variable_list& inputs) const {
    const auto rows = tandem::parallel::count_rows(0, inputs.at(0));
    const auto sizes = tandem::parallel::ChunkPolicy::torch_chunk().plan(rows, devices_);
    return tandem::parallel::scatter(inputs[0], devices_, sizes);
  }

 private:
  std::vector<tandem::Device> devices_;
};

class Gather {
 public:
  explicit Gather(torch::Device device) : device_(tandem::libtorch::tandem_device(device)) {}
  variable_list apply(const variable_list& inputs) const {
    return {tandem::parallel::gather(std::span<const torch::Tensor>(inputs), device_)};
  }

 private:
  tandem::Device device_;
};

}  // namespace torch::autograd

namespace torch::cuda {

inline c10::DeviceIndex virtual_device_count() {
  return static_cast<c10::DeviceIndex>(tandem::default_devices().size());
}

}  // namespace torch::cuda

namespace torch::nn::parallel {

template <class Module>
auto replicate(const Module& module, const std::vector<torch::Device>& devices) {
  return tandem::libtorch::replicate(module, torch::test::virtual_devices(devices));
}

template <class Module>
std::vector<torch::Tensor> parallel_apply(
    const std::vector<Module>& modules,
    const std::vector<torch::Tensor>& inputs,
    const std::optional<std::vector<torch::Device>>& devices = std::nullopt) {
  std::vector<torch::Tensor> outputs = tandem::libtorch::parallel_apply(modules, inputs);
  for (std::size_t i = 0; devices && i < outputs.size(); ++i)
    outputs[i] = outputs[i].to((*devices)[i]);
  return outputs;
}

template <class Module>
torch::Tensor data_parallel(const Module& module,
                            const torch::Tensor& input,
                            const std::optional<std::vector<torch::Device>>& devices = std::nullopt,
                            const std::optional<torch::Device>& output_device = std::nullopt) {
  std::optional<tandem::Device> output;
  if (output_device) output = tandem::libtorch::tandem_device(*output_device);
  return tandem::libtorch::data_parallel(
      module,
      input,
      devices ? torch::test::virtual_devices(*devices) : tandem::default_devices(),
      output);
}

}  // namespace torch::nn::parallel

#define kCUDA kPrivateUse1
#define is_cuda is_privateuseone
#define device_count virtual_device_count
