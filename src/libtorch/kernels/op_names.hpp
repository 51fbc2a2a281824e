// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/record_function.h>

namespace tandem::libtorch {

/// If someone observes, the module path of the calling thread ends with the op of PyTorch that the
/// program calls, until the end of the scope: "NetImpl.linear". Otherwise nothing is installed.
class OpNames {
 public:
  OpNames();
  ~OpNames();
  OpNames(const OpNames&) = delete;
  OpNames& operator=(const OpNames&) = delete;

 private:
  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
};

}  // namespace tandem::libtorch
