// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Tensors of tandem for exchange_test.py, which loads this library by ctypes. An error is the text
// of exchange_error() and a null pointer, or false.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/dlpack.hpp"
#include "tandem/tensor/factories.hpp"

#define TANDEM_EXPORT extern "C" __attribute__((visibility("default")))

namespace tandem {
namespace {

thread_local std::string last_error;

template <class F>
auto caught(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception& e) {
    last_error = e.what();
    return {};
  }
}

Tensor* owned(Tensor x) {
  return std::make_unique<Tensor>(std::move(x)).release();
}

MemoryStats stats() {
  return logical_device({DeviceType::cpu, 0}).memory_stats();
}

}  // namespace

TANDEM_EXPORT const char* exchange_error() {
  return last_error.c_str();
}

/// 0, 1, ... in the shape (2, 3, 4); of bool: whether they are 0.
TANDEM_EXPORT Tensor* exchange_make(const char* dtype) {
  return caught([&]() -> Tensor* {
    const Tensor numbers = arange(0, 24, 1, {.dtype = DType::f32}).reshape({2, 3, 4});
    return owned(numbers.to(parse_dtype(dtype)));
  });
}

TANDEM_EXPORT Tensor* exchange_view(const Tensor* x, const char* kind) {
  return caught([&]() -> Tensor* {
    const std::string_view wanted = kind;
    if (wanted == "transposed") return owned(x->transpose(0, 2));
    if (wanted == "strided") return owned(x->slice(2, {.start = 1, .step = 2}));
    if (wanted == "offset") return owned(x->select(1, 2));
    if (wanted == "empty") return owned(x->narrow(0, 1, 0));
    if (wanted == "number") return owned(x->select(0, 1).select(0, 1).select(0, 1));
    throw InvalidArgument("no such view: " + std::string(kind));
  });
}

TANDEM_EXPORT void* exchange_lend(const Tensor* x, bool is_read_only, bool is_versioned) {
  return caught([&]() -> void* {
    const DlpackOptions options{.read_only = is_read_only};
    if (is_versioned) return to_dlpack(*x, options);
    return to_dlpack_unversioned(*x, options);
  });
}

TANDEM_EXPORT Tensor* exchange_borrow(void* managed, bool is_versioned) {
  return caught([&]() -> Tensor* {
    if (is_versioned) return owned(from_dlpack(static_cast<DLManagedTensorVersioned*>(managed)));
    return owned(from_dlpack(static_cast<DLManagedTensor*>(managed)));
  });
}

TANDEM_EXPORT void exchange_free(Tensor* x) {
  delete x;
}

TANDEM_EXPORT const void* exchange_data(const Tensor* x) {
  return x->data();
}

TANDEM_EXPORT int exchange_ndim(const Tensor* x) {
  return x->ndim();
}

TANDEM_EXPORT std::int64_t exchange_size(const Tensor* x, int dim) {
  return x->shape()[dim];
}

/// The element at that place in row-major order.
TANDEM_EXPORT double exchange_element(const Tensor* x, std::int64_t place) {
  return x->to_doubles().at(static_cast<std::size_t>(place));
}

TANDEM_EXPORT bool exchange_fill(Tensor* x, double value) {
  return caught([&] {
    x->fill_(value);
    return true;
  });
}

TANDEM_EXPORT std::size_t exchange_bytes_in_use() {
  return stats().in_use;
}

TANDEM_EXPORT std::size_t exchange_bytes_adopted() {
  return stats().adopted;
}

}  // namespace tandem
