// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/tensor/tensor.hpp"

#include "core/checked_size.hpp"

namespace tandem {
namespace {

using autograd::Formula;
using autograd::Gradients;
using autograd::record;

Tensor view(const char* name,
            const Tensor& x,
            const Shape& shape,
            const Strides& strides,
            std::int64_t offset,
            Formula formula) {
  return record(
      name, as_strided(x, shape, strides, x.impl().offset + offset), {x}, std::move(formula));
}

/// `shape` with its -1 replaced.
Shape infer(const Tensor& x, Shape shape) {
  int unknown = -1;
  std::int64_t known = 1;
  for (int d = 0; d < shape.size(); ++d) {
    TANDEM_CHECK(shape[d] >= -1, "reshape: ", shape, " has a negative size");
    if (shape[d] >= 0) {
      known = (CheckedSize("reshape", known) * shape[d]).value();
      continue;
    }
    TANDEM_CHECK(
        unknown < 0, "reshape: ", shape, " has -1 more than once; only one size can be left open");
    unknown = d;
  }
  if (unknown >= 0 && known > 0 && x.numel() % known == 0) shape[unknown] = x.numel() / known;
  TANDEM_CHECK((unknown < 0 || shape[unknown] >= 0) && numel(shape) == x.numel(),
               "reshape: ",
               x.shape(),
               " holds ",
               x.numel(),
               " elements, which do not fit ",
               shape);
  return shape;
}

/// Strides that show `x` in `shape` without a copy, where there are any.
std::optional<Strides> view_strides(const Tensor& x, const Shape& shape) {
  if (x.numel() == 0 || x.is_contiguous()) return contiguous_strides(shape);
  Strides strides = Strides::filled(shape.size(), 0);
  int to = shape.size() - 1;
  for (int d = x.ndim() - 1; d >= 0;) {
    // A run of x's dimensions that lie in memory as one, and the new dimensions that split it.
    const std::int64_t step = x.strides()[d];
    std::int64_t run = x.shape()[d];
    for (--d; d >= 0 && (x.shape()[d] == 1 || x.strides()[d] == step * run); --d)
      run *= x.shape()[d];
    std::int64_t taken = 1;
    for (; to >= 0 && (taken < run || shape[to] == 1); --to) {
      strides[to] = step * taken;
      taken *= shape[to];
    }
    if (taken != run) return std::nullopt;
  }
  return strides;
}

}  // namespace

Tensor Tensor::reshape(const Shape& wanted) const {
  const Shape shape = infer(*this, wanted);
  if (shape == this->shape()) return *this;
  const std::optional<Strides> strides = view_strides(*this, shape);
  if (!strides) return contiguous().reshape(shape);
  return view("reshape", *this, shape, *strides, 0, [old = this->shape()](const Tensor& dy) {
    return Gradients{dy.reshape(old)};
  });
}

Tensor Tensor::permute(const Dims& dims) const {
  TANDEM_CHECK(dims.size() == ndim(),
               "permute: ",
               dims,
               " does not name each dimension of ",
               shape(),
               " once");
  Shape sizes;
  Strides steps;
  Dims inverse = Dims::filled(ndim(), -1);
  for (int i = 0; i < ndim(); ++i) {
    const int d = normalize_dim(static_cast<int>(dims[i]), ndim(), "permute");
    TANDEM_CHECK(
        inverse[d] < 0, "permute: ", dims, " names dimension ", d, " of ", shape(), " twice");
    inverse[d] = i;
    sizes.push_back(shape()[d]);
    steps.push_back(strides()[d]);
  }
  return view("permute", *this, sizes, steps, 0, [inverse](const Tensor& dy) {
    return Gradients{dy.permute(inverse)};
  });
}

Tensor Tensor::transpose(int a, int b) const {
  Dims dims;
  for (int d = 0; d < ndim(); ++d)
    dims.push_back(d);
  const int first = normalize_dim(a, ndim(), "transpose");
  const int second = normalize_dim(b, ndim(), "transpose");
  std::swap(dims[first], dims[second]);
  return permute(dims);
}

Tensor Tensor::expand(const Shape& wanted) const {
  TANDEM_CHECK(wanted.size() >= ndim(), "expand: ", shape(), " has more dimensions than ", wanted);
  const int added = wanted.size() - ndim();
  Shape sizes = wanted;
  Strides steps = Strides::filled(wanted.size(), 0);
  for (int d = 0; d < ndim(); ++d) {
    std::int64_t& size = sizes[d + added];
    if (size == -1) size = shape()[d];
    TANDEM_CHECK(shape()[d] == 1 || shape()[d] == size,
                 "expand: ",
                 shape(),
                 " does not expand to ",
                 wanted,
                 "; only dimensions of size one can grow");
    if (shape()[d] == size) steps[d + added] = strides()[d];
  }
  detail::nbytes_of("expand", dtype(), sizes);
  if (sizes == shape()) return *this;
  return view("expand", *this, sizes, steps, 0, [old = shape()](const Tensor& dy) {
    return Gradients{sum_to(dy, old)};
  });
}

Tensor Tensor::squeeze(int dim) const {
  const int d = normalize_dim(dim, ndim(), "squeeze");
  if (shape()[d] != 1) return *this;
  Shape sizes = shape();
  Strides steps = strides();
  sizes.erase(d);
  steps.erase(d);
  return view("squeeze", *this, sizes, steps, 0, [d](const Tensor& dy) {
    return Gradients{dy.unsqueeze(d)};
  });
}

Tensor Tensor::unsqueeze(int dim) const {
  const int d = normalize_dim(dim, ndim() + 1, "unsqueeze");
  Shape sizes = shape();
  Strides steps = strides();
  steps.insert(d, d < ndim() ? sizes[d] * steps[d] : 1);
  sizes.insert(d, 1);
  return view("unsqueeze", *this, sizes, steps, 0, [d](const Tensor& dy) {
    return Gradients{dy.squeeze(d)};
  });
}

Tensor Tensor::flatten(int start, int end) const {
  if (ndim() == 0) return reshape({1});
  const int first = normalize_dim(start, ndim(), "flatten");
  const int last = normalize_dim(end, ndim(), "flatten");
  TANDEM_CHECK(first <= last, "flatten: dimension ", start, " comes after ", end, " in ", shape());
  Shape sizes;
  for (int d = 0; d < ndim(); ++d) {
    if (d > first && d <= last)
      sizes[first] *= shape()[d];
    else
      sizes.push_back(shape()[d]);
  }
  return reshape(sizes);
}

Tensor Tensor::slice(int dim, Slice range) const {
  const int d = normalize_dim(dim, ndim(), "slice");
  TANDEM_CHECK(range.step >= 1, "slice: step is ", range.step, "; it must be at least 1");
  const std::int64_t size = shape()[d];
  const std::int64_t step =
      std::clamp<std::int64_t>(range.step, 1, std::max<std::int64_t>(size, 1));
  const auto bound = [size](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + size : i, 0, size);
  };
  const std::int64_t start = bound(range.start);
  const std::int64_t stop = std::max(start, bound(range.stop.value_or(size)));
  Shape sizes = shape();
  Strides steps = strides();
  sizes[d] = (stop - start) / step + ((stop - start) % step != 0);
  steps[d] *= step;
  return view("slice",
              *this,
              sizes,
              steps,
              start * strides()[d],
              [old = shape(), d, part = Slice{start, stop, step}](const Tensor& dy) {
                return Gradients{slice_backward(dy, old, d, part)};
              });
}

Tensor Tensor::narrow(int dim, std::int64_t start, std::int64_t length) const {
  const int d = normalize_dim(dim, ndim(), "narrow");
  TANDEM_CHECK(start >= 0 && length >= 0 && length <= shape()[d] - start,
               "narrow: ",
               length,
               " entries from ",
               start,
               " on do not all lie in dimension ",
               d,
               " of ",
               shape());
  return slice(d, {start, start + length});
}

Tensor Tensor::select(int dim, std::int64_t index) const {
  const int d = normalize_dim(dim, ndim(), "select");
  const std::int64_t i = index < 0 ? index + shape()[d] : index;
  TANDEM_CHECK(i >= 0 && i < shape()[d],
               "select: index ",
               index,
               " is outside dimension ",
               d,
               " of ",
               shape());
  return narrow(d, i, 1).squeeze(d);
}

}  // namespace tandem
