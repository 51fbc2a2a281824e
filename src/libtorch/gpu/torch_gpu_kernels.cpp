// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/torch_gpu_kernels.hpp"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>

#include "libtorch/gpu/gpu_tensors.hpp"
#include "libtorch/gpu/op_scope.hpp"

namespace tandem::libtorch {

using kernels::Binary;
using kernels::Reduction;
using kernels::View;

namespace {

bool is_half(at::ScalarType type) {
  return type == at::kHalf || type == at::kBFloat16;
}

/// In what a reduction computes.
at::Tensor widened(const at::Tensor& x) {
  return is_half(x.scalar_type()) ? x.to(at::kFloat) : x;
}

at::Tensor combined(Reduction reduction, const at::Tensor& a, const at::Tensor& b) {
  const bool is_bool = a.scalar_type() == at::kBool;
  switch (reduction) {
    case Reduction::min:
      return at::minimum(a, b);
    case Reduction::max:
      return at::maximum(a, b);
    case Reduction::product:
      return is_bool ? at::logical_and(a, b) : at::mul(a, b);
    case Reduction::band:
      return at::bitwise_and(a, b);
    case Reduction::bor:
      return at::bitwise_or(a, b);
    case Reduction::bxor:
      return at::bitwise_xor(a, b);
    default:
      return is_bool ? at::logical_or(a, b) : at::add(a, b);
  }
}

void write_binary(at::Tensor& out, Binary op, const at::Tensor& a, const at::Tensor& b) {
  switch (op) {
    case Binary::add:
      at::add_out(out, a, b);
      return;
    case Binary::sub:
      at::sub_out(out, a, b);
      return;
    case Binary::mul:
      at::mul_out(out, a, b);
      return;
    case Binary::div:
      at::div_out(out, a, b);
      return;
    case Binary::maximum:
      at::maximum_out(out, a, b);
      return;
    case Binary::minimum:
      at::minimum_out(out, a, b);
      return;
  }
}

/// Whether elements of this type have the reduction; where not, targets stay as they are.
bool has_reduction(Reduction reduction, bool is_float) {
  const bool is_of_bits =
      reduction == Reduction::band || reduction == Reduction::bor || reduction == Reduction::bxor;
  return is_float ? !is_of_bits : reduction != Reduction::premul_sum;
}

/// Whether the first target can take the sum source by source, in the order of the ranks: then it
/// needs no memory besides.
bool sums_in_place(Reduction reduction,
                   at::ScalarType type,
                   std::span<const void* const> sources,
                   std::span<void* const> targets) {
  const bool is_sum = reduction == Reduction::sum || reduction == Reduction::avg;
  return is_sum && type != at::kBool && !is_half(type) && sources.size() > 1 && !targets.empty() &&
         std::ranges::find(sources.subspan(1), targets.front()) == sources.end();
}

}  // namespace

void TorchGpuKernels::sum_ranks(const Stream& stream,
                                Reduction reduction,
                                DType dtype,
                                std::span<const void* const> sources,
                                std::span<void* const> targets,
                                std::int64_t begin,
                                std::int64_t end,
                                std::span<const double> factors) {
  const at::ScalarType type = scalar_type(dtype);
  const bool is_float = at::isFloatingType(type);
  if (sources.size() > 1 && !has_reduction(reduction, is_float)) return;
  run_ops(stream, "sum_ranks", [&](int ordinal) {
    const auto range = [&](const void* p) { return range_of_gpu(p, dtype, begin, end, ordinal); };
    const auto source = [&](std::size_t r) {
      const at::Tensor x = widened(range(sources[r]));
      return reduction == Reduction::premul_sum ? at::mul(x, factors[r]) : x;
    };
    at::Tensor sum;
    if (sums_in_place(reduction, type, sources, targets)) {
      sum = range(targets.front());
      at::add_out(sum, range(sources[0]), range(sources[1]));
      for (std::size_t r = 2; r < sources.size(); ++r)
        sum.add_(range(sources[r]));
    } else {
      sum = source(0);
      for (std::size_t r = 1; r < sources.size(); ++r)
        sum = combined(reduction, sum, source(r));
    }
    if (reduction == Reduction::avg && is_float && sources.size() > 1)
      sum.div_(static_cast<double>(sources.size()));
    for (void* const target : targets) {
      const at::Tensor y = range(target);
      if (y.const_data_ptr() != sum.const_data_ptr()) y.copy_(sum);
    }
  });
}

void TorchGpuKernels::divide(const Stream& stream,
                             DType dtype,
                             void* x,
                             double divisor,
                             std::int64_t begin,
                             std::int64_t end) {
  if (!at::isFloatingType(scalar_type(dtype))) return;
  run_ops(stream, "divide", [&](int ordinal) {
    range_of_gpu(x, dtype, begin, end, ordinal).div_(divisor);
  });
}

void TorchGpuKernels::copy(const Stream& stream, const View& x, const View& y) {
  run_ops(
      stream, "copy", [&](int ordinal) { view_of_gpu(y, ordinal).copy_(view_of_gpu(x, ordinal)); });
}

void TorchGpuKernels::fill(const Stream& stream, double value, const View& y) {
  run_ops(stream, "fill", [&](int ordinal) { view_of_gpu(y, ordinal).fill_(value); });
}

void TorchGpuKernels::binary(
    const Stream& stream, Binary op, const View& a, const View& b, const View& y) {
  run_ops(stream, "binary", [&](int ordinal) {
    at::Tensor out = view_of_gpu(y, ordinal);
    write_binary(out, op, view_of_gpu(a, ordinal), view_of_gpu(b, ordinal));
  });
}

void TorchGpuKernels::binary(
    const Stream& stream, Binary op, const View& a, double b, const View& y) {
  run_ops(stream, "binary", [&](int ordinal) {
    at::Tensor out = view_of_gpu(y, ordinal);
    const at::Tensor x = view_of_gpu(a, ordinal);
    const bool is_float = at::isFloatingType(x.scalar_type());
    write_binary(
        out, op, x, is_float ? at::native::wrapped_scalar_tensor(b) : at::full({}, b, x.options()));
  });
}

void TorchGpuKernels::scaled_add(
    const Stream& stream, const View& a, const View& b, double alpha, const View& y) {
  run_ops(stream, "scaled_add", [&](int ordinal) {
    at::Tensor out = view_of_gpu(y, ordinal);
    const bool is_float = at::isFloatingType(out.scalar_type());
    const at::Scalar factor =
        is_float ? at::Scalar(alpha) : at::Scalar(static_cast<std::int64_t>(alpha));
    at::add_out(out, view_of_gpu(a, ordinal), view_of_gpu(b, ordinal), factor);
  });
}

void TorchGpuKernels::scale(
    const Stream& stream, DType t, std::int64_t n, void* x, const void* factor) {
  run_ops(stream, "scale", [&](int ordinal) {
    range_of_gpu(x, t, 0, n, ordinal).mul_(range_of_gpu(factor, t, 0, 1, ordinal));
  });
}

void TorchGpuKernels::clamp(const Stream& stream, DType t, std::int64_t n, void* x, double limit) {
  run_ops(stream, "clamp", [&](int ordinal) {
    range_of_gpu(x, t, 0, n, ordinal).clamp_(-limit, limit);
  });
}

void TorchGpuKernels::find_nonfinite(
    const Stream& stream, DType t, std::int64_t n, const void* x, std::int32_t* flag) {
  run_ops(stream, "find_nonfinite", [&](int ordinal) {
    const at::Tensor is_bad = at::isfinite(range_of_gpu(x, t, 0, n, ordinal)).all().logical_not();
    range_of_gpu(flag, DType::i32, 0, 1, ordinal).bitwise_or_(is_bad.to(at::kInt));
  });
}

void TorchGpuKernels::average(
    const Stream& stream, DType t, std::int64_t n, double share, const void* x, void* average) {
  run_ops(stream, "average", [&](int ordinal) {
    range_of_gpu(average, t, 0, n, ordinal).lerp_(range_of_gpu(x, t, 0, n, ordinal), share);
  });
}

void TorchGpuKernels::swap(const Stream& stream, DType t, std::int64_t n, void* a, void* b) {
  run_ops(stream, "swap", [&](int ordinal) {
    const at::Tensor x = range_of_gpu(a, t, 0, n, ordinal), y = range_of_gpu(b, t, 0, n, ordinal);
    const at::Tensor old = x.clone();
    x.copy_(y);
    y.copy_(old);
  });
}

}  // namespace tandem::libtorch
