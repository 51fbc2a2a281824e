// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "runtime/cuda/peers.hpp"
#include "runtime/gpu/gpu_device.hpp"
#include "stand_in/control.hpp"

// What the tests of the CUDA backend share.
namespace tandem::cuda::test {

/// Orders of tasks in which a test is run.
inline constexpr int kSeeds = 24;

inline Device gpu(int index) {
  return {DeviceType::cuda, index};
}

/// The GPU that a logical device is on.
inline int gpu_of(Device device) {
  return logical_device(device).gpu()->ordinal();
}

/// A process whose stand-in has two GPUs, and no devices yet.
class BareTest : public ::testing::Test {
 protected:
  BareTest() {
    stand_in::reset();
    stand_in::set_gpus(2);
  }
  void SetUp() override {
    static bool used = false;
    if (used) GTEST_SKIP() << "the process has its devices: run the tests by ctest, one in each";
    used = true;
  }
};

/// Two logical devices on each of two GPUs: cuda:0 and cuda:1, cuda:2 and cuda:3.
class GpusTest : public BareTest {
 protected:
  GpusTest() { configure_devices("cuda:0x2,cuda:1x2"); }
};

/// Streams, memory and the like that are in use: what devices keep of freed memory is given back.
inline std::size_t objects_in_use() {
  for (const Device d : default_devices())
    logical_device(d).release_cached();
  return stand_in::live_objects();
}

/// Runs `f(seed)` in each order.
template <class F>
void for_each_seed(F f) {
  for (int s = 0; s < kSeeds; ++s) {
    SCOPED_TRACE("seed " + std::to_string(s));
    stand_in::seed(static_cast<std::uint64_t>(s));
    f(s);
  }
}

/// first, first + 1, ...
inline std::vector<double> count_from(double first, std::int64_t n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), first);
  return values;
}

inline Tensor tensor_of(const std::vector<double>& values, Device device) {
  return from_host(
      std::span<const double>(values), {static_cast<std::int64_t>(values.size())}, device);
}

/// Work for a device's main stream that takes a while, and changes nothing that is looked at.
inline void keep_busy(Device device) {
  Tensor x = zeros({100}, {.dtype = DType::f64, .device = device});
  for (int i = 0; i < 6; ++i)
    x.fill_(i);
}

}  // namespace tandem::cuda::test
