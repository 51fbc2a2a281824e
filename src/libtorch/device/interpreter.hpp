// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

namespace torch::autograd {
struct PostAccumulateGradHook;
}

namespace tandem::libtorch {

/// What only the interpreter of Python knows and does, in a program that has one. Thread-safe.
struct Interpreter {
  /// Keeps an exception of Python in its C++ object, which lacks it until then, on the thread that
  /// has caught it.
  void (*keep_exception)(std::exception&);
  /// Ends the calling thread's exception: PyTorch sets it there too where a backward throws it.
  void (*forget_exception)();
  /// Whether the program has removed all of these hooks: PyTorch leaves the object there.
  bool (*are_removed)(const torch::autograd::PostAccumulateGradHook&);

  /// @param interpreter  outlives all wrappers.
  static void set(const Interpreter& interpreter) noexcept;
  /// null: there is none.
  static const Interpreter* get() noexcept;
};

}  // namespace tandem::libtorch
