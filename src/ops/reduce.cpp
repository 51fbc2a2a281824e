// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/reduce.hpp"

#include <algorithm>
#include <limits>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/reduce.hpp"
#include "ops/autocast.hpp"
#include "ops/index.hpp"
#include "ops/output.hpp"
#include "ops/sort.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::record;
using autograd::Saved;

/// The shapes of a reduction's result.
struct Reduced {
  Reduced(const Tensor& x, const Dims& dims, KeepDims keep, const char* op) : kept(x.shape()) {
    Dims reduced = Dims::filled(x.ndim(), dims.empty() ? 1 : 0);
    for (const std::int64_t dim : dims) {
      const int d = normalize_dim(static_cast<int>(dim), x.ndim(), op);
      TANDEM_CHECK(
          reduced[d] == 0, op, ": ", dims, " names dimension ", d, " of ", x.shape(), " twice");
      reduced[d] = 1;
    }
    for (int d = 0; d < x.ndim(); ++d) {
      if (reduced[d] != 0) {
        count *= kept[d];
        kept[d] = 1;
      }
      if (reduced[d] == 0 || keep == KeepDims::yes) result.push_back(kept[d]);
    }
  }

  Shape kept;  ///< with ones where it is reduced: broadcasts to x's
  Shape result;
  std::int64_t count = 1;  ///< elements of x for each of the result's
};

/// A kernel's view of `y` in the shape `kept`.
kernels::View kept_view(const Tensor& y, const Shape& kept) {
  return {y.data(), y.dtype(), kept, contiguous_strides(kept)};
}

template <class Kernel>
Tensor run(
    const char* name, const Tensor& x, const Reduced& shape, DType dtype, const Kernel& kernel) {
  const Tensor y = empty(shape.result, {.dtype = dtype, .device = x.device()});
  const auto flops = static_cast<double>(x.numel());
  dispatch(x.stream(), make_work(Work::Kind::reduce, name, {x}, {y}, flops), [&](auto& s) {
    kernel(s, view_of(x), kept_view(y, shape.kept));
  });
  return y;
}

/// dy of a reduction, beside each element that went into it.
Tensor spread(const Tensor& dy, const Shape& kept, const Shape& shape) {
  return dy.reshape(kept).expand(shape);
}

Tensor scaled_sum(const char* name, const Tensor& x, const Reduced& shape, double scale) {
  const DType dtype = is_float(x.dtype()) ? x.dtype() : DType::i64;
  const Tensor y =
      run(name, x, shape, dtype, [&](auto& s, const kernels::View& vx, const kernels::View& vy) {
        kernels::sum(s, kernels::Term::value, scale, vx, vy);
      });
  return record(name, y, {x}, [kept = shape.kept, old = x.shape(), scale](const Tensor& dy) {
    return Gradients{spread(scale == 1 ? dy : dy * scale, kept, old)};
  });
}

Tensor extremum(
    const char* name, kernels::Extremum which, const Tensor& x, const Dims& dims, KeepDims keep) {
  const Reduced shape(x, dims, keep, name);
  TANDEM_CHECK(shape.count > 0 || numel(shape.result) == 0,
               name,
               ": there is nothing to choose from in ",
               x.shape());
  const Tensor y = run(
      name, x, shape, x.dtype(), [&](auto& s, const kernels::View& vx, const kernels::View& vy) {
        kernels::extremum(s, which, vx, vy);
      });
  return record(
      name, y, {x}, [kept = shape.kept, s = Saved(x)](const Tensor& dy, const Tensor& found) {
        Tensor share;
        {
          const autograd::NoGrad off;
          const Tensor ties = eq(s.get(), found.reshape(kept)).to(dy.dtype());
          share = ties / sum_to(ties, kept);
        }
        return Gradients{share * dy.reshape(kept)};
      });
}

/// The first along a dimension; a NaN above all.
ValuesIndices extreme_along(
    const char* name, bool largest, const Tensor& x, int dim, KeepDims keep) {
  const int d = normalize_dim(dim, x.ndim(), name);
  Shape lines = x.shape();
  lines[d] = 1;
  TANDEM_CHECK(
      x.size(d) > 0 || numel(lines) == 0, name, ": there is nothing to choose from in ", x.shape());
  const Tensor index = topk_indices(name, {largest, true}, x, 1, d);
  const Tensor value = take(x, d, index);
  if (keep == KeepDims::yes) return {value, index};
  return {value.squeeze(d), index.squeeze(d)};
}

}  // namespace

Tensor sum(const Tensor& terms, const Dims& dims, KeepDims keep) {
  const Tensor x = as_range(terms);
  return scaled_sum("sum", x, Reduced(x, dims, keep, "sum"), 1);
}

Tensor mean(const Tensor& x, const Dims& dims, KeepDims keep) {
  TANDEM_CHECK(is_float(x.dtype()),
               "mean: needs a float tensor, got ",
               x.describe(),
               "; convert it with .to(DType::f32)");
  const Reduced shape(x, dims, keep, "mean");
  return scaled_sum("mean", x, shape, 1 / static_cast<double>(shape.count));
}

Tensor var(const Tensor& x, const Dims& dims, int correction, KeepDims keep) {
  TANDEM_CHECK(is_float(x.dtype()),
               "var: needs a float tensor, got ",
               x.describe(),
               "; convert it with .to(DType::f32)");
  const Reduced shape(x, dims, keep, "var");
  const double count = static_cast<double>(shape.count - correction);
  return scaled_sum(
      "var", square(x - mean(x, dims, KeepDims::yes)), shape, 1 / std::max(count, 0.0));
}

Tensor std(const Tensor& x, const Dims& dims, int correction, KeepDims keep) {
  const Reduced shape(x, dims, keep, "std");
  const double count = std::max(static_cast<double>(shape.count - correction), 0.0);
  const auto off_tape = [&] {
    const autograd::NoGrad off;
    return sqrt(var(x, dims, correction, keep));
  };
  return record("std",
                off_tape(),
                {x},
                [dims, count, kept = shape.kept, s = Saved(x)](const Tensor& dy, const Tensor& y) {
                  const Tensor share = masked_fill(dy / (y * count), eq(y, 0.0), 0);
                  const Tensor centred = s.get() - mean(s.get(), dims, KeepDims::yes);
                  return Gradients{centred * share.reshape(kept)};
                });
}

Tensor logsumexp(const Tensor& input, const Dims& dims, KeepDims keep) {
  const Tensor x = is_float(input.dtype()) ? input : input.to(DType::f32);
  const Reduced shape(x, dims, keep, "logsumexp");
  const auto off_tape = [&] {
    const autograd::NoGrad off;
    const Tensor largest = amax(x, dims, KeepDims::yes);
    const Tensor most = where(isfinite(largest), largest, 0.0);
    return (log(sum(exp(x - most), dims, KeepDims::yes)) + most).reshape(shape.result);
  };
  return record("logsumexp",
                off_tape(),
                {x},
                [kept = shape.kept, s = Saved(x)](const Tensor& dy, const Tensor& y) {
                  constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
                  const Tensor base =
                      masked_fill(y, eq(y, kMinusInfinity), 0);  // of no weight at all
                  return Gradients{exp(s.get() - base.reshape(kept)) * dy.reshape(kept)};
                });
}

Tensor amax(const Tensor& x, const Dims& dims, KeepDims keep) {
  return extremum("amax", kernels::Extremum::largest, x, dims, keep);
}
Tensor amin(const Tensor& x, const Dims& dims, KeepDims keep) {
  return extremum("amin", kernels::Extremum::smallest, x, dims, keep);
}

Tensor argmax(const Tensor& x, int dim, KeepDims keep) {
  const int d = normalize_dim(dim, x.ndim(), "argmax");
  const Reduced shape(x, {d}, keep, "argmax");
  TANDEM_CHECK(shape.count > 0 || numel(shape.result) == 0,
               "argmax: there is nothing to choose from in ",
               x.shape());
  return run("argmax",
             x,
             shape,
             DType::i64,
             [&](auto& s, const kernels::View& vx, const kernels::View& vy) {
               kernels::argmax(s, d, vx, vy);
             });
}

ValuesIndices max(const Tensor& x, int dim, KeepDims keep) {
  return extreme_along("max", true, x, dim, keep);
}
ValuesIndices min(const Tensor& x, int dim, KeepDims keep) {
  return extreme_along("min", false, x, dim, keep);
}

Tensor argmin(const Tensor& x, int dim, KeepDims keep) {
  const autograd::NoGrad off;
  return extreme_along("argmin", false, x, dim, keep).indices;
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  TANDEM_CHECK(broadcast_shapes(shape, x.shape(), "sum_to") == x.shape(),
               "sum_to: ",
               shape,
               " does not broadcast to ",
               x.shape());
  const int added = x.ndim() - shape.size();
  Dims dims;
  for (int d = 0; d < x.ndim(); ++d) {
    if (d < added || (shape[d - added] == 1 && x.shape()[d] != 1)) dims.push_back(d);
  }
  return sum(x, dims, KeepDims::yes).reshape(shape);
}

Tensor global_norm(const std::vector<Tensor>& tensors) {
  TANDEM_CHECK(!tensors.empty(), "global_norm: got no tensors; give at least one");
  const autograd::NoGrad off;
  const auto n = static_cast<std::int64_t>(tensors.size());
  const Tensor squares = empty({n}, {.dtype = DType::f64, .device = tensors.front().device()});
  for (std::int64_t i = 0; i < n; ++i) {
    const Tensor& x = tensors[static_cast<std::size_t>(i)];
    TANDEM_CHECK(is_float(x.dtype()), "global_norm: needs float tensors, got ", x.describe());
    const Tensor y = squares.select(0, i);
    const auto flops = 2 * static_cast<double>(x.numel());
    dispatch(
        x.stream(), make_work(Work::Kind::reduce, "global_norm", {x}, {y}, flops), [&](auto& s) {
          kernels::sum(
              s, kernels::Term::square, 1, view_of(x), kept_view(y, Shape::filled(x.ndim(), 1)));
        });
  }
  return sqrt(sum(squares)).to(tensors.front().dtype());
}

Tensor Tensor::sum() const {
  return tandem::sum(*this);
}
Tensor Tensor::sum(const Dims& dims) const {
  return tandem::sum(*this, dims);
}
Tensor Tensor::mean() const {
  return tandem::mean(*this);
}
Tensor Tensor::mean(const Dims& dims) const {
  return tandem::mean(*this, dims);
}

}  // namespace tandem
