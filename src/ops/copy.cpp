// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/copy.hpp"

#include <optional>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/runtime/upload.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/integer_bounds.hpp"
#include "ops/copy.hpp"
#include "ops/output.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::record;

/// Numbers of an index that the host looks through: more would take milliseconds, as images of u8
/// do, which are not an index.
constexpr std::int64_t kMostLookedThrough = std::int64_t{1} << 20;

bool is_on_gpu(const Tensor& x) {
  return acts_as_gpu(x.device());
}

/// What is assumed of an index that has no data: it chooses what there is.
constexpr IntegerBounds kInRange{0, 0, 0, 0};

/// Notes with `y`, a fresh copy of `x`, what is known of the integers.
///
/// A copy that goes from the host to a GPU is looked through on the host, unless it is large: an op
/// that is to check its index would have to wait for the GPU.
void pass_integers(const Tensor& x, const Tensor& y) {
  const bool keeps_values = x.dtype() == y.dtype() || y.dtype() == DType::i64;
  if (is_float(x.dtype()) || x.dtype() == DType::boolean || !keeps_values || x.numel() == 0) return;
  std::optional<IntegerBounds> known = x.buffer().integers();
  if (!known && !is_on_gpu(x) && is_on_gpu(y) && x.numel() <= kMostLookedThrough) {
    const Work work = make_work(Work::Kind::reduce, "integer_bounds", {x}, {});
    dispatch(
        x.stream(), work, [&](HostStream& s) { known = kernels::integer_bounds(s, view_of(x)); });
    if (!x.buffer().has_data()) known = kInRange;
  }
  if (known) y.buffer().note_integers(*known);
}

void copy_into(const char* name, const Tensor& x, const Tensor& y) {
  dispatch_on_any(y.stream(), make_work(Work::Kind::copy, name, {x}, {y}), [&](auto& s) {
    kernels::copy(s, view_of(x), view_of(y));
  });
  pass_integers(x, y);
}

Tensor copied(const char* name, const Tensor& x, const Tensor& y) {
  copy_into(name, x, y);
  return record(name, y, {x}, [](const Tensor& dy) { return Gradients{dy}; });
}

}  // namespace

std::size_t first_byte(const Tensor& x) {
  return static_cast<std::size_t>(x.impl().offset) * itemsize(x.dtype());
}

Tensor transferred(const Tensor& x, Device device, NonBlocking non_blocking) {
  const autograd::NoGrad off;
  const Tensor source = is_dense(x) ? x : x.contiguous();
  const std::size_t begin = first_byte(source), nbytes = source.nbytes();
  Tensor y;
  if (non_blocking == NonBlocking::yes && !is_on_gpu(source)) {
    y = from_buffer(upload(source.buffer(), begin, nbytes, device),
                    0,
                    source.shape(),
                    source.strides(),
                    source.dtype());
  } else {
    y = empty_strided(source.shape(), source.strides(), source.dtype(), device);
    copy_bytes(source.buffer(), begin, y.buffer(), 0, nbytes);
  }
  pass_integers(source, y);
  return y;
}

Tensor Tensor::to(Device device, NonBlocking non_blocking) const {
  if (device == this->device()) return *this;
  return record("to",
                transferred(*this, device, non_blocking),
                {*this},
                [home = this->device()](const Tensor& dy) { return Gradients{dy.to(home)}; });
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == this->dtype()) return *this;
  const Tensor y = make_output(shape(), dtype, {*this});
  copy_into("to", *this, y);
  if (!is_float(dtype)) return y;
  return record(
      "to", y, {*this}, [old = this->dtype()](const Tensor& dy) { return Gradients{dy.to(old)}; });
}

Tensor Tensor::contiguous(MemoryFormat format) const {
  if (is_contiguous(format)) return *this;
  return copied("contiguous",
                *this,
                empty(shape(), {.dtype = dtype(), .device = device(), .format = format}));
}

Tensor Tensor::clone() const {
  return copied("clone", *this, make_output(shape(), dtype(), {*this}));
}

}  // namespace tandem
