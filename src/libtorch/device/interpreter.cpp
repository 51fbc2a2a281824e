// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/device/interpreter.hpp"

#include <atomic>

namespace tandem::libtorch {
namespace {

std::atomic<const Interpreter*> one = nullptr;

}  // namespace

void Interpreter::set(const Interpreter& interpreter) noexcept {
  one = &interpreter;
}

const Interpreter* Interpreter::get() noexcept {
  return one;
}

}  // namespace tandem::libtorch
