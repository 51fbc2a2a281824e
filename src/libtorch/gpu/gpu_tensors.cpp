// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/gpu_tensors.hpp"

#include <ATen/ops/from_blob.h>

#include "tandem/core/error.hpp"

#include "libtorch/gpu/gpu_call.hpp"

namespace tandem::libtorch {
namespace {

at::Tensor over(const void* p, std::int64_t count, at::ScalarType dtype, c10::Device device) {
  return at::for_blob(const_cast<void*>(p), {count})
      .options(at::TensorOptions(dtype).device(device))
      .target_device(device)
      .make_tensor();
}

}  // namespace

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return at::kFloat;
    case DType::f64:
      return at::kDouble;
    case DType::bf16:
      return at::kBFloat16;
    case DType::f16:
      return at::kHalf;
    case DType::i32:
      return at::kInt;
    case DType::i64:
      return at::kLong;
    case DType::u8:
      return at::kByte;
    case DType::boolean:
      return at::kBool;
  }
  throw InternalError("a dtype without a name");
}

at::Tensor bytes_of_host(const void* p, std::size_t nbytes) {
  return over(p, static_cast<std::int64_t>(nbytes), at::kByte, c10::Device(at::kCPU));
}

at::Tensor bytes_of_gpu(const void* p, std::size_t nbytes, int ordinal) {
  return over(p, static_cast<std::int64_t>(nbytes), at::kByte, gpu_of(ordinal));
}

at::Tensor range_of_gpu(
    const void* p, DType dtype, std::int64_t begin, std::int64_t end, int ordinal) {
  const auto size = static_cast<std::int64_t>(itemsize(dtype));
  return over(
      static_cast<const char*>(p) + begin * size, end - begin, scalar_type(dtype), gpu_of(ordinal));
}

at::Tensor view_of_gpu(const kernels::View& x, int ordinal) {
  const c10::Device device = gpu_of(ordinal);
  return at::for_blob(x.data, at::IntArrayRef(x.shape.begin(), x.shape.end()))
      .strides(at::IntArrayRef(x.strides.begin(), x.strides.end()))
      .options(at::TensorOptions(scalar_type(x.dtype)).device(device))
      .target_device(device)
      .make_tensor();
}

}  // namespace tandem::libtorch
