// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/ends_within.hpp"

#include <thread>

#include "runtime/cuda/check.hpp"

namespace tandem::cuda {
namespace {

constexpr auto kPollEvery = std::chrono::microseconds(50);

}  // namespace

bool ends_within(std::chrono::steady_clock::duration patience, CUstream_st* stream) noexcept {
  for (const auto end = std::chrono::steady_clock::now() + patience;;) {
    const cudaError_t status = cudaStreamQuery(stream);
    forgive(status);
    if (status != cudaErrorNotReady || std::chrono::steady_clock::now() > end)
      return status == cudaSuccess;
    std::this_thread::sleep_for(kPollEvery);
  }
}

}  // namespace tandem::cuda
