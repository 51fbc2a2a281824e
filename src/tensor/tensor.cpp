// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/tensor/tensor.hpp"

#include <ostream>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/copy.hpp"
#include "tensor/print.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

/// `x` converted to `dtype` and dense in row-major order; `x` itself where it is so already.
Tensor dense(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype && x.is_contiguous()) return x;
  const Tensor y = empty(x.shape(), {.dtype = dtype, .device = x.device()});
  dispatch_on_any(x.stream(), make_work(Work::Kind::copy, "to_host", {x}, {y}), [&](auto& s) {
    kernels::copy(s, view_of(x), view_of(y));
  });
  return y;
}

void read_dense(const Tensor& x, void* target, const char* op) {
  read(x.buffer(),
       static_cast<std::size_t>(x.impl().offset) * itemsize(x.dtype()),
       target,
       x.nbytes(),
       op);
}

}  // namespace

TensorImpl& Tensor::impl() const {
  TANDEM_CHECK(impl_ != nullptr,
               "the tensor is undefined; it was default-constructed or moved from");
  return *impl_;
}

std::int64_t Tensor::size(int dim) const {
  return shape()[normalize_dim(dim, ndim(), "size")];
}

bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::contiguous) return tandem::is_contiguous(shape(), strides());
  if (ndim() != 4) return false;
  const Shape& s = shape();
  const Strides& t = strides();
  return tandem::is_contiguous({s[0], s[2], s[3], s[1]}, {t[0], t[2], t[3], t[1]});
}

void* Tensor::data() const {
  char* base = static_cast<char*>(buffer().data());
  return base == nullptr ? nullptr
                         : base + static_cast<std::size_t>(impl().offset) * itemsize(dtype());
}

std::string Tensor::describe() const {
  if (!defined()) return "undefined tensor";
  return detail::concat(dtype(), ' ', shape(), " on ", device());
}

double Tensor::item() const {
  TANDEM_CHECK(numel() == 1, "item: needs a tensor with one element, got ", describe());
  buffer().check_data("item");
  return to_doubles().front();
}

template <Element T>
std::vector<T> Tensor::to_host() const {
  TANDEM_CHECK(dtype() == dtype_of<T>(),
               "to_host: the tensor is ",
               dtype(),
               ", but the call asks for ",
               dtype_of<T>());
  if (!has_data()) buffer().check_data("to_host");  // before a copy is made
  const Tensor source = dense(*this, dtype());
  if constexpr (std::is_same_v<T, bool>) {  // vector<bool> has no array to read into
    std::vector<char> bytes(static_cast<std::size_t>(numel()));
    read_dense(source, bytes.data(), "to_host");
    return {bytes.begin(), bytes.end()};
  } else {
    std::vector<T> values(static_cast<std::size_t>(numel()));
    read_dense(source, values.data(), "to_host");
    return values;
  }
}

template std::vector<float> Tensor::to_host() const;
template std::vector<double> Tensor::to_host() const;
template std::vector<BFloat16> Tensor::to_host() const;
template std::vector<Half> Tensor::to_host() const;
template std::vector<std::int32_t> Tensor::to_host() const;
template std::vector<std::int64_t> Tensor::to_host() const;
template std::vector<std::uint8_t> Tensor::to_host() const;
template std::vector<bool> Tensor::to_host() const;

std::vector<double> Tensor::to_doubles() const {
  return with_dtype(dtype(), [&]<class T>() {
    const std::vector<T> values = to_host<T>();
    return std::vector<double>(values.begin(), values.end());
  });
}

Tensor as_strided(const Tensor& x,
                  const Shape& shape,
                  const Strides& strides,
                  std::int64_t offset) {
  return from_buffer(x.impl().buffer, offset, shape, strides, x.dtype());
}

Tensor from_buffer(std::shared_ptr<Buffer> buffer,
                   std::int64_t offset,
                   const Shape& shape,
                   const Strides& strides,
                   DType dtype) {
  auto impl = std::make_shared<TensorImpl>();
  impl->buffer = std::move(buffer);
  impl->offset = offset;
  impl->shape = shape;
  impl->strides = strides;
  impl->dtype = dtype;
  return Tensor(std::move(impl));
}

bool same_layout(const Tensor& a, const Tensor& b) {
  return a.device() == b.device() && a.dtype() == b.dtype() && a.shape() == b.shape() &&
         a.strides() == b.strides();
}

std::string Tensor::to_string() const {
  return defined() ? printed(*this) : "undefined tensor";
}

std::ostream& operator<<(std::ostream& s, const Tensor& x) {
  s << x.to_string();
  if (x.defined()) s << (x.ndim() > 1 ? "\n" : " ") << '[' << x.describe() << ']';
  return s;
}

}  // namespace tandem
