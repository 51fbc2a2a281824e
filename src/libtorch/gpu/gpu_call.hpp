// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include <c10/core/Device.h>

namespace tandem::libtorch {

/// PyTorch's GPU of this number.
inline c10::Device gpu_of(int ordinal) {
  return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(ordinal)};
}

/// Throws what a call of PyTorch for a GPU has thrown as tandem's DeviceError or OutOfMemory.
/// tandem's own errors stay.
///
/// @param call  named by the message.
[[noreturn]] void rethrow_of_gpu(int ordinal, const char* call, const std::exception_ptr& error);

/// f(), whose errors are a GPU's; see rethrow_of_gpu.
template <class F>
decltype(auto) call_gpu(int ordinal, const char* call, F&& f) {
  try {
    return f();
  } catch (...) {
    rethrow_of_gpu(ordinal, call, std::current_exception());
  }
}

}  // namespace tandem::libtorch
