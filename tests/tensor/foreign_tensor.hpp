// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/runtime/device.hpp"

#include "tensor/dlpack_abi.hpp"

// The other side of an exchange: a library that lends tensors by DLPack, and one that borrows them.
namespace tandem::testing {

/// Makes tensors on the host, in a run of the tests for GPUs too.
class HostTest : public ::testing::Test {
 protected:
  HostTest() { set_default_device({DeviceType::cpu, 0}); }
  ~HostTest() override { set_default_device(before_); }

 private:
  const Device before_ = get_default_device();
};

/// A tensor of another library. It frees its memory when its deleter is called.
template <class Managed>
struct ForeignTensor {
  Managed managed{};
  std::unique_ptr<char[]> memory;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::atomic<int>* ends = nullptr;  // calls of deleters
};

/// Lends `values` as a tensor of this shape and these strides. They end where the memory ends, so
/// that the address sanitizer sees who reads on. The members may be changed before they are used.
///
/// @param skipped  elements that the memory has before the first one.
template <class Managed = DLManagedTensorVersioned, class T>
Managed* foreign(const std::vector<T>& values,
                 DLDataType dtype,
                 std::vector<std::int64_t> shape,
                 std::vector<std::int64_t> strides,
                 std::atomic<int>& ends,
                 std::size_t skipped = 0) {
  auto* lent = new ForeignTensor<Managed>;
  lent->memory = std::make_unique<char[]>((skipped + values.size()) * sizeof(T));
  std::size_t at = skipped * sizeof(T);
  for (const T& value : values) {
    __builtin_memcpy(lent->memory.get() + at, &value, sizeof value);
    at += sizeof value;
  }
  lent->shape = std::move(shape);
  lent->strides = std::move(strides);
  lent->ends = &ends;
  lent->managed.dl_tensor = {.data = lent->memory.get(),
                             .device = {kDLCPU, 0},
                             .ndim = static_cast<std::int32_t>(lent->shape.size()),
                             .dtype = dtype,
                             .shape = lent->shape.data(),
                             .strides = lent->strides.data(),
                             .byte_offset = skipped * sizeof(T)};
  if constexpr (requires { lent->managed.version; }) lent->managed.version = {1, 0};
  lent->managed.manager_ctx = lent;
  lent->managed.deleter = [](Managed* self) {
    auto* const ended = static_cast<ForeignTensor<Managed>*>(self->manager_ctx);
    ended->ends->fetch_add(1);
    delete ended;
  };
  return &lent->managed;
}

inline constexpr DLDataType kForeignF32{kDLFloat, 32, 1};

/// What has been lent to another library, which ends it.
template <class Managed = DLManagedTensorVersioned>
struct Ender {
  void operator()(Managed* managed) const { managed->deleter(managed); }
};
template <class Managed = DLManagedTensorVersioned>
using Held = std::unique_ptr<Managed, Ender<Managed>>;

}  // namespace tandem::testing
