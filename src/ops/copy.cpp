// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/copy.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "ops/copy.hpp"
#include "ops/output.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::record;

void copy_into(const char* name, const Tensor& x, const Tensor& y) {
  dispatch(y.stream(), make_work(Work::Kind::copy, name, {x}, {y}), [&](auto& s) {
    kernels::copy(s, view_of(x), view_of(y));
  });
}

Tensor copied(const char* name, const Tensor& x, const Tensor& y) {
  copy_into(name, x, y);
  return record(name, y, {x}, [](const Tensor& dy) { return Gradients{dy}; });
}

}  // namespace

std::size_t first_byte(const Tensor& x) {
  return static_cast<std::size_t>(x.impl().offset) * itemsize(x.dtype());
}

Tensor transferred(const Tensor& x, Device device) {
  const autograd::NoGrad off;
  const Tensor source = is_dense(x) ? x : x.contiguous();
  const Tensor y = empty_strided(source.shape(), source.strides(), source.dtype(), device);
  copy_bytes(source.buffer(), first_byte(source), y.buffer(), 0, y.nbytes());
  return y;
}

Tensor Tensor::to(Device device) const {
  if (device == this->device()) return *this;
  return record(
      "to", transferred(*this, device), {*this}, [home = this->device()](const Tensor& dy) {
        return Gradients{dy.to(home)};
      });
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
