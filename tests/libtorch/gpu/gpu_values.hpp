// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/core/dtype.hpp"
#include "tandem/runtime/device.hpp"
#include "tandem/tensor/factories.hpp"

// Values on GPUs, and threads that use them.
namespace tandem::libtorch::test {

inline Tensor values(const std::vector<double>& all, Device device, DType dtype = DType::f32) {
  return from_host(std::span<const double>(all), {static_cast<std::int64_t>(all.size())}, Device{})
      .to(dtype)
      .to(device);
}

/// Runs f(rank) on a thread for each rank.
template <class F>
void on_each(int ranks, F f) {
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] { EXPECT_NO_THROW(f(r)); });
  for (std::thread& t : threads)
    t.join();
}

}  // namespace tandem::libtorch::test
