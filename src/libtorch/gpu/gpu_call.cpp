// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/gpu_call.hpp"

#include <string>

#include <c10/util/Exception.h>

#include "tandem/core/error.hpp"

#include "libtorch/gpu/torch_out_of_memory.hpp"

namespace tandem::libtorch {
namespace {

[[noreturn]] void fail(int ordinal, const char* call, int code, const c10::Error& e) {
  const std::string text = e.what_without_backtrace();
  throw DeviceError("GPU " + std::to_string(ordinal), call, code, text.substr(0, text.find('\n')));
}

}  // namespace

void rethrow_of_gpu(int ordinal, const char* call, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::OutOfMemoryError& e) {
    throw TorchOutOfMemory("GPU " + std::to_string(ordinal), ordinal, e);
  } catch (const c10::AcceleratorError& e) {
    fail(ordinal, call, e.get_error_code(), e);
  } catch (const c10::Error& e) {
    fail(ordinal, call, 0, e);
  }
}

}  // namespace tandem::libtorch
