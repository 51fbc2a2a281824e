// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/index.hpp"

#include <algorithm>
#include <string>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "core/checked_size.hpp"
#include "kernels/copy.hpp"
#include "kernels/index.hpp"
#include "ops/index.hpp"
#include "ops/output.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::record;
using autograd::Saved;

/// An index in i64. @throws InvalidArgument  a float or bool tensor.
Tensor as_index(const char* op, const Tensor& index) {
  TANDEM_CHECK(!is_float(index.dtype()) && index.dtype() != DType::boolean,
               op,
               ": the index must hold integers, got ",
               index.describe());
  return index.to(DType::i64);
}

/// `index` has x's dimensions and, but for `dim`, no larger sizes.
void check_within(const char* op, const Tensor& index, const Tensor& x, int dim) {
  bool fits = index.ndim() == x.ndim();
  for (int d = 0; fits && d < x.ndim(); ++d)
    fits = d == dim || index.shape()[d] <= x.shape()[d];
  TANDEM_CHECK(fits,
               op,
               ": the index ",
               index.shape(),
               " does not fit into ",
               x.shape(),
               " outside dimension ",
               dim);
}

void copy_between(const char* name, const Tensor& x, const Tensor& y) {
  dispatch(x.stream(), make_work(Work::Kind::copy, name, {x}, {y}), [&](auto& s) {
    kernels::copy(s, view_of(x), view_of(y));
  });
}

MemoryFormat kept_format(const Tensor& x) {
  const bool last = !x.is_contiguous() && x.is_contiguous(MemoryFormat::channels_last);
  return last ? MemoryFormat::channels_last : MemoryFormat::contiguous;
}

/// A slice of `x`, off the tape.
Tensor slice_off(const Tensor& x, int dim, Slice range) {
  const autograd::NoGrad off;
  return x.slice(dim, range);
}

/// ", at (5, 17)," of row-major position `at`; nothing where the row says it all.
std::string place_of(std::int64_t at, const Shape& shape) {
  if (shape.size() < 2) return "";
  Shape place = shape;
  for (int d = shape.size() - 1; d >= 0; --d) {
    place[d] = at % shape[d];
    at /= shape[d];
  }
  return detail::concat(", at ", place, ',');
}

Tensor zeros_of(const Shape& shape, const Tensor& like) {
  return zeros(shape, {.dtype = like.dtype(), .device = like.device()});
}

}  // namespace

void check_index(const char* op,
                 const char* what,
                 const Tensor& index,
                 std::int64_t size,
                 std::optional<std::int64_t> ignored) {
  if (index.numel() == 0) return;
  TANDEM_CHECK(size > 0, op, ": there is nothing to choose from");
  const std::optional<IntegerBounds> known = index.buffer().integers();
  if (known && known->show_within(size, ignored)) return;
  const autograd::NoGrad off;
  const Tensor found = empty({}, {.dtype = DType::i64, .device = index.device()});
  dispatch(index.stream(), make_work(Work::Kind::index, op, {index}, {found}), [&](auto& s) {
    kernels::find_outside(s, view_of(index), 0, size, ignored.value_or(0), view_of(found));
  });
  const auto at = static_cast<std::int64_t>(found.item_or(-1));
  if (at < 0) [[likely]]
    return;
  const auto value = static_cast<std::int64_t>(index.reshape({-1}).select(0, at).item());
  const std::int64_t row =
      at / (index.numel() / std::max<std::int64_t>(1, index.ndim() == 0 ? 1 : index.shape()[0]));
  throw InvalidArgument(detail::concat(op,
                                       ": ",
                                       what,
                                       ' ',
                                       value,
                                       " in row ",
                                       context().rows.begin + row,
                                       place_of(at, index.shape()),
                                       " is outside [0, ",
                                       size,
                                       ")"));
}

Tensor cat(const std::vector<Tensor>& tensors, int dim) {
  TANDEM_CHECK(!tensors.empty(), "cat: got no tensors; give at least one");
  const Tensor& first = tensors.front();
  const int d = normalize_dim(dim, first.ndim(), "cat");
  Shape shape = first.shape();
  DType dtype = first.dtype();
  shape[d] = 0;
  for (const Tensor& x : tensors) {
    Shape rest = x.shape();
    TANDEM_CHECK(x.ndim() == shape.size(),
                 "cat: ",
                 first.shape(),
                 " and ",
                 x.shape(),
                 " differ in their number of dimensions");
    rest[d] = shape[d];
    TANDEM_CHECK(
        rest == shape, "cat: ", first.shape(), " and ", x.shape(), " differ outside dimension ", d);
    shape[d] = (CheckedSize("cat", shape[d]) + x.shape()[d]).value();
    dtype = promote(dtype, x.dtype());
  }
  const Tensor y =
      empty(shape, {.dtype = dtype, .device = first.device(), .format = kept_format(first)});
  std::vector<std::int64_t> sizes;
  std::vector<DType> dtypes;
  std::int64_t start = 0;
  for (const Tensor& x : tensors) {
    sizes.push_back(x.shape()[d]);
    dtypes.push_back(x.dtype());
    copy_between("cat", x, slice_off(y, d, {start, start + sizes.back()}));
    start += sizes.back();
  }
  return record("cat", y, tensors, [d, sizes, dtypes](const Tensor& dy) {
    Gradients gradients = split(dy, sizes, d);
    for (std::size_t i = 0; i < gradients.size(); ++i)
      gradients[i] = gradients[i].to(dtypes[i]);
    return gradients;
  });
}

Tensor stack(const std::vector<Tensor>& tensors, int dim) {
  TANDEM_CHECK(!tensors.empty(), "stack: got no tensors; give at least one");
  const int d = normalize_dim(dim, tensors.front().ndim() + 1, "stack");
  std::vector<Tensor> rows;
  for (const Tensor& x : tensors) {
    TANDEM_CHECK(x.shape() == tensors.front().shape(),
                 "stack: the shapes ",
                 tensors.front().shape(),
                 " and ",
                 x.shape(),
                 " differ");
    rows.push_back(x.unsqueeze(d));
  }
  return cat(rows, d);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int dim) {
  const int d = normalize_dim(dim, x.ndim(), "split");
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    TANDEM_CHECK(size >= 0, "split: a size is ", size, "; it may not be negative");
    total = (CheckedSize("split", total) + size).value();
  }
  TANDEM_CHECK(total == x.shape()[d],
               "split: the sizes add up to ",
               total,
               ", but dimension ",
               d,
               " of ",
               x.shape(),
               " has ",
               x.shape()[d]);
  std::vector<Tensor> views;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    views.push_back(x.narrow(d, start, size));
    start += size;
  }
  return views;
}

Tensor index_select(const Tensor& x, int dim, const Tensor& index) {
  const int d = normalize_dim(dim, x.ndim(), "index_select");
  TANDEM_CHECK(index.ndim() == 1, "index_select: the index must be 1-D, got ", index.describe());
  Shape beside = Shape::filled(x.ndim(), 1);
  Shape shape = x.shape();
  beside[d] = shape[d] = index.numel();
  const Tensor positions = as_index("index_select", index).reshape(beside).expand(shape);
  check_index("index_select", "index", as_index("index_select", index), x.shape()[d]);
  const Tensor y = empty(shape, {.dtype = x.dtype(), .device = x.device()});
  dispatch(x.stream(),
           make_work(Work::Kind::index, "index_select", {x, positions}, {y}),
           [&](auto& s) { kernels::gather(s, d, view_of(x), view_of(positions), view_of(y)); });
  return record(
      "index_select", y, {x}, [d, old = x.shape(), i = Saved(positions)](const Tensor& dy) {
        return Gradients{put(zeros_of(old, dy), d, i.get(), dy)};
      });
}

Tensor gather(const Tensor& x, int dim, const Tensor& index) {
  const int d = normalize_dim(dim, x.ndim(), "gather");
  check_within("gather", index, x, d);
  const Tensor positions = as_index("gather", index);
  check_index("gather", "index", positions, x.shape()[d]);
  return take(x, d, positions);
}

Tensor take(const Tensor& x, int dim, const Tensor& index) {
  const Tensor y = empty(index.shape(), {.dtype = x.dtype(), .device = x.device()});
  dispatch(x.stream(), make_work(Work::Kind::index, "gather", {x, index}, {y}), [&](auto& s) {
    kernels::gather(s, dim, view_of(x), view_of(index), view_of(y));
  });
  return record("gather", y, {x}, [dim, old = x.shape(), i = Saved(index)](const Tensor& dy) {
    return Gradients{put(zeros_of(old, dy), dim, i.get(), dy)};
  });
}

Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  const int d = normalize_dim(dim, x.ndim(), "scatter_add");
  TANDEM_CHECK(source.dtype() == x.dtype(),
               "scatter_add: the source ",
               source.describe(),
               " and ",
               x.describe(),
               " differ in dtype");
  check_within("scatter_add", index, x, d);
  check_within("scatter_add", index, source, -1);
  const Tensor positions = as_index("scatter_add", index);
  check_index("scatter_add", "index", positions, x.shape()[d]);
  Tensor used = source;
  for (int i = 0; i < source.ndim(); ++i)
    used = used.narrow(i, 0, index.shape()[i]);
  return put(x, d, positions, used);
}

Tensor put(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  const Tensor y = make_output(x.shape(), x.dtype(), {x});
  dispatch(x.stream(),
           make_work(Work::Kind::index, "scatter_add", {x, index, source}, {y}),
           [&](auto& s) {
             kernels::copy(s, view_of(x), view_of(y));
             kernels::scatter_add(s, dim, view_of(source), view_of(index), view_of(y));
           });
  return record("scatter_add", y, {x, source}, [dim, i = Saved(index)](const Tensor& dy) {
    return Gradients{dy, take(dy, dim, i.get())};
  });
}

Tensor one_hot(const Tensor& index, std::int64_t num_classes) {
  const autograd::NoGrad off;
  TANDEM_CHECK(num_classes > 0, "one_hot: num_classes is ", num_classes, "; it must be above 0");
  const Tensor entries = as_index("one_hot", index);
  check_index("one_hot", "class", entries, num_classes);
  const Tensor classes = arange(
      0, static_cast<double>(num_classes), 1, {.dtype = DType::i64, .device = index.device()});
  return eq(entries.unsqueeze(-1), classes).to(DType::i64);
}

Tensor slice_backward(const Tensor& x, const Shape& shape, int dim, Slice range) {
  const int d = normalize_dim(dim, shape.size(), "slice_backward");
  const Tensor y =
      empty(shape, {.dtype = x.dtype(), .device = x.device(), .format = kept_format(x)}).zero_();
  const Tensor slice = slice_off(y, d, range);
  TANDEM_CHECK(slice.shape() == x.shape(),
               "slice_backward: the slice of ",
               shape,
               " has the shape ",
               slice.shape(),
               ", got ",
               x.shape());
  copy_between("slice_backward", x, slice);
  return record("slice_backward", y, {x}, [d, range](const Tensor& dy) {
    return Gradients{dy.slice(d, range)};
  });
}

}  // namespace tandem
