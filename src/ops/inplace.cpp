// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/arithmetic.hpp"
#include "kernels/copy.hpp"
#include "kernels/fill.hpp"
#include "ops/copy.hpp"
#include "ops/output.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

/// In-place ops do not go on the tape: they would change what it has saved.
void check_in_place(const char* name, const Tensor& x, const Tensor& source = {}) {
  for (int d = 0; d < x.ndim(); ++d) {
    TANDEM_CHECK(x.strides()[d] != 0 || x.shape()[d] <= 1,
                 name,
                 ": elements of ",
                 x.describe(),
                 " share memory because it was expanded; clone() it first");
  }
  if (!context().grad_enabled) return;
  TANDEM_CHECK(
      !x.requires_grad() || !x.is_leaf(),
      name,
      ": ",
      x.describe(),
      " is a leaf that requires grad; change it within autograd::NoGrad, or change x.detach()");
  TANDEM_CHECK(!x.requires_grad(),
               name,
               ": ",
               x.describe(),
               " is the result of a recorded op; use the out-of-place op, or change x.detach()");
  TANDEM_CHECK(!source.defined() || !source.requires_grad(),
               name,
               ": the source ",
               source.describe(),
               " requires grad, which an in-place op would lose; use the out-of-place op, or "
               "source.detach()");
}

void check_broadcasts(const char* name, const Tensor& x, const Tensor& source) {
  TANDEM_CHECK(broadcast_shapes(x.shape(), source.shape(), name) == x.shape(),
               name,
               ": ",
               source.shape(),
               " does not broadcast to ",
               x.shape());
}

}  // namespace

Tensor& Tensor::fill_(double value) {
  check_in_place("fill_", *this);
  dispatch_on_any(stream(), make_work(Work::Kind::elementwise, "fill_", {}, {*this}), [&](auto& s) {
    kernels::fill(s, value, view_of(*this));
  });
  return *this;
}

Tensor& Tensor::copy_(const Tensor& source) {
  check_in_place("copy_", *this, source);
  check_broadcasts("copy_", *this, source);
  if (source.device() != device()) {
    const bool bytes =
        source.dtype() == dtype() && source.shape() == shape() && source.strides() == strides();
    if (!bytes || !is_dense(source)) return copy_(transferred(source, device()));
    copy_bytes(source.buffer(), first_byte(source), buffer(), first_byte(*this), nbytes());
    return *this;
  }
  dispatch_on_any(stream(), make_work(Work::Kind::copy, "copy_", {source}, {*this}), [&](auto& s) {
    kernels::copy(s, view_as(source, shape()), view_of(*this));
  });
  return *this;
}

Tensor& Tensor::add_(const Tensor& other, double alpha) {
  check_in_place("add_", *this, other);
  check_broadcasts("add_", *this, other);
  TANDEM_CHECK(is_float(dtype()) || promote(dtype(), other.dtype()) == dtype(),
               "add_: the sum with ",
               other.describe(),
               " cannot be stored in ",
               describe());
  const autograd::NoGrad off;
  const Tensor term = other.to(dtype());
  const double flops = 2 * static_cast<double>(numel());
  dispatch_on_any(stream(),
                  make_work(Work::Kind::elementwise, "add_", {*this, term}, {*this}, flops),
                  [&](auto& s) {
                    kernels::scaled_add(
                        s, view_of(*this), view_as(term, shape()), alpha, view_of(*this));
                  });
  return *this;
}

Tensor& Tensor::mul_(double factor) {
  check_in_place("mul_", *this);
  TANDEM_CHECK(number_dtype(dtype(), factor) == dtype(),
               "mul_: ",
               factor,
               " times ",
               describe(),
               " cannot be stored in that dtype");
  const auto flops = static_cast<double>(numel());
  dispatch_on_any(
      stream(), make_work(Work::Kind::elementwise, "mul_", {*this}, {*this}, flops), [&](auto& s) {
        kernels::binary(s, kernels::Binary::mul, view_of(*this), factor, view_of(*this));
      });
  return *this;
}

}  // namespace tandem
