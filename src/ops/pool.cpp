// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/pool.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "core/checked_size.hpp"
#include "kernels/pool.hpp"
#include "ops/autocast.hpp"
#include "ops/memory_format.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Formula;
using autograd::Gradients;
using autograd::Saved;
using kernels::PoolAxis;
using kernels::Pooling;
using kernels::Window;

/// A pooling with what its ops need; shared by forward and the ops of its gradients.
struct Pool {
  Pooling pooling;
  Shape in, out;
  MemoryFormat format = MemoryFormat::contiguous;
};
using PoolPtr = std::shared_ptr<const Pool>;

void check_input(const char* op, const Tensor& x) {
  TANDEM_CHECK(x.ndim() == 4 && is_float(x.dtype()),
               op,
               ": needs a float tensor (N, C, H, W), got ",
               x.describe());
}

PoolAxis sliding(const char* op,
                 const Tensor& x,
                 int axis,
                 Pair kernel,
                 const Pool2dOptions& options,
                 PadCount count) {
  const auto a = static_cast<std::size_t>(axis);
  const std::int64_t size = x.size(2 + axis), k = kernel[a], padding = options.padding[a];
  const std::int64_t stride = options.stride ? (*options.stride)[a] : k;
  TANDEM_CHECK(k >= 1 && stride >= 1 && padding >= 0 && padding <= k / 2,
               op,
               ": needs kernel >= 1, stride >= 1 and padding of at most half the kernel, got ",
               k,
               ", ",
               stride,
               ", ",
               padding);
  const std::int64_t padded = (CheckedSize(op, padding) * 2 + size).value();
  TANDEM_CHECK(padded >= k,
               op,
               ": the kernel ",
               k,
               " is larger than the ",
               padded,
               " padded ",
               axis == 0 ? "rows" : "columns",
               " of x ",
               x.shape(),
               "; use a smaller kernel");
  return PoolAxis::sliding(size, k, stride, padding, count == PadCount::include);
}

PoolAxis adaptive(const Tensor& x, int axis, Pair output) {
  const std::int64_t size = x.size(2 + axis), n = output[static_cast<std::size_t>(axis)];
  TANDEM_CHECK(n >= 1 && size >= 1,
               "adaptive_avg_pool2d: cannot average x ",
               x.shape(),
               " to (",
               output[0],
               ", ",
               output[1],
               "); all sizes must be at least 1");
  detail::nbytes_of("adaptive_avg_pool2d", x.dtype(), {x.size(0), x.size(1), output[0], output[1]});
  return PoolAxis::adaptive(size, n);
}

std::vector<Window> windows_of(const PoolAxis& axis) {
  std::vector<Window> windows;
  for (std::int64_t i = 0; i < axis.outputs(); ++i)
    windows.push_back(axis.window(i));
  return windows;
}

/// Windows follow each other without gap or overlap and cover [0, size).
bool covers(const std::vector<Window>& windows, std::int64_t size) {
  std::int64_t at = 0;
  for (const Window& w : windows) {
    if (w.begin != at) return false;
    at = w.end;
  }
  return at == size;
}

/// The windows as the longest runs that are alike.
std::vector<kernels::ColumnRun> runs_of(const std::vector<Window>& columns) {
  std::vector<kernels::ColumnRun> runs;
  for (const Window& w : columns) {
    const std::int64_t width = w.end - w.begin;
    if (!runs.empty() && runs.back().width == width && runs.back().count == w.count) {
      kernels::ColumnRun& run = runs.back();
      if (run.size == 1) run.stride = w.begin - run.begin;
      if (run.stride > 0 && w.begin == run.begin + run.size * run.stride) {
        ++run.size;
        continue;
      }
    }
    runs.push_back({.size = 1, .begin = w.begin, .width = width, .count = w.count});
  }
  return runs;
}

Pool make_pool(const Tensor& x, const PoolAxis& row_axis, const PoolAxis& column_axis) {
  Pool pool;
  std::vector<Window> rows = windows_of(row_axis), columns = windows_of(column_axis);
  const Shape& s = x.shape();
  pool.in = s;
  pool.out = {s[0],
              s[1],
              static_cast<std::int64_t>(rows.size()),
              static_cast<std::int64_t>(columns.size())};
  pool.format = format_of(x);
  const bool last = pool.format == MemoryFormat::channels_last;
  const std::int64_t channels = last ? s[1] : 1;
  const bool tiles = covers(rows, s[2]) && covers(columns, s[3]);
  pool.pooling = {.images = last ? s[0] : s[0] * s[1],
                  .channels = channels,
                  .h = s[2],
                  .w = s[3],
                  .row_axis = row_axis,
                  .column_axis = column_axis,
                  .rows = std::move(rows),
                  .columns = std::move(columns),
                  .tiles = tiles};
  if (channels == 1) pool.pooling.column_runs = runs_of(pool.pooling.columns);
  return pool;
}

Tensor dense(const Tensor& x, const Pool& pool) {
  return x.detach().contiguous(pool.format);
}

Tensor new_like(const Tensor& x, const Shape& shape, const Pool& pool, DType dtype) {
  return empty(shape, {.dtype = dtype, .device = x.device(), .format = pool.format});
}

/// Runs `kernel(stream, view of x, view of result)` into a new tensor of `shape`. Off the tape.
///
/// @param index  that the kernel reads too; undefined: none.
template <class Kernel>
Tensor run(const char* op,
           const Pool& pool,
           const Tensor& x_,
           const Tensor& index,
           const Shape& shape,
           Kernel kernel) {
  const Tensor x = dense(x_, pool), y = new_like(x, shape, pool, x.dtype());
  dispatch(x.stream(), make_work(Work::Kind::pool, op, {x, index}, {y}), [&](auto& s) {
    kernel(s, view_of(x), view_of(y));
  });
  return y;
}

Tensor max_gather(const Tensor& x, const PoolPtr& pool, const Tensor& index);

/// Gradient of max pooling: dy goes to where the maxima were. @param index  i32, of shape `out`.
Tensor max_scatter(const Tensor& dy, const PoolPtr& pool, const Tensor& index) {
  Tensor dx = run("max_pool2d_scatter",
                  *pool,
                  dy,
                  index,
                  pool->in,
                  [&](auto& s, const kernels::View& from, const kernels::View& to) {
                    kernels::max_pool_scatter(s, pool->pooling, from, view_of(index), to);
                  });
  return autograd::record("max_pool2d_scatter",
                          std::move(dx),
                          {dy},
                          Formula([pool, index = Saved(index)](const Tensor& g) {
                            return Gradients{max_gather(g, pool, index.get())};
                          }));
}

/// Takes from x what stands where the maxima were.
Tensor max_gather(const Tensor& x, const PoolPtr& pool, const Tensor& index) {
  Tensor y = run("max_pool2d_gather",
                 *pool,
                 x,
                 index,
                 pool->out,
                 [&](auto& s, const kernels::View& from, const kernels::View& to) {
                   kernels::max_pool_gather(s, pool->pooling, from, view_of(index), to);
                 });
  return autograd::record("max_pool2d_gather",
                          std::move(y),
                          {x},
                          Formula([pool, index = Saved(index)](const Tensor& g) {
                            return Gradients{max_scatter(g, pool, index.get())};
                          }));
}

Tensor average(const Tensor& x, const PoolPtr& pool);

Tensor average_grad(const Tensor& dy, const PoolPtr& pool) {
  Tensor dx = run("avg_pool2d_grad",
                  *pool,
                  dy,
                  {},
                  pool->in,
                  [&](auto& s, const kernels::View& from, const kernels::View& to) {
                    kernels::avg_pool_grad(s, pool->pooling, from, to);
                  });
  return autograd::record("avg_pool2d_grad", std::move(dx), {dy}, Formula([pool](const Tensor& g) {
                            return Gradients{average(g, pool)};
                          }));
}

Tensor average(const Tensor& x, const PoolPtr& pool) {
  Tensor y = run("avg_pool2d",
                 *pool,
                 x,
                 {},
                 pool->out,
                 [&](auto& s, const kernels::View& from, const kernels::View& to) {
                   kernels::avg_pool(s, pool->pooling, from, to);
                 });
  return autograd::record("avg_pool2d", std::move(y), {x}, Formula([pool](const Tensor& dy) {
                            return Gradients{average_grad(dy, pool)};
                          }));
}

/// Maximum and i32 index.
std::pair<Tensor, Tensor> max_pool(const Tensor& x_, Pair kernel, const Pool2dOptions& options) {
  check_input("max_pool2d", x_);
  if (is_float16(x_.dtype())) {
    auto [y, index] = max_pool(widened(x_), kernel, options);
    return {y.to(x_.dtype()), std::move(index)};
  }
  Pool pool = make_pool(x_,
                        sliding("max_pool2d", x_, 0, kernel, options, PadCount::exclude),
                        sliding("max_pool2d", x_, 1, kernel, options, PadCount::exclude));
  const Tensor x = dense(x_, pool);
  Tensor y = new_like(x, pool.out, pool, x.dtype());
  const Tensor index = new_like(x, pool.out, pool, DType::i32);
  dispatch(x.stream(), make_work(Work::Kind::pool, "max_pool2d", {x}, {y, index}), [&](auto& s) {
    kernels::max_pool(s, pool.pooling, view_of(x), view_of(y), view_of(index));
  });
  y = autograd::record(
      "max_pool2d",
      std::move(y),
      {x_},
      Formula([kept = std::make_shared<const Pool>(std::move(pool)), index = Saved(index)](
                  const Tensor& dy) { return Gradients{max_scatter(dy, kept, index.get())}; }));
  return {std::move(y), index};
}

}  // namespace

Tensor max_pool2d(const Tensor& x, Pair kernel, Pool2dOptions options) {
  return max_pool(x, kernel, options).first;
}

std::pair<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x,
                                                  Pair kernel,
                                                  Pool2dOptions options) {
  auto [y, index] = max_pool(x, kernel, options);
  return {std::move(y), index.to(DType::i64)};
}

Tensor avg_pool2d(const Tensor& x, Pair kernel, Pool2dOptions options, PadCount count) {
  check_input("avg_pool2d", x);
  if (is_float16(x.dtype())) return avg_pool2d(widened(x), kernel, options, count).to(x.dtype());
  return average(
      x,
      std::make_shared<const Pool>(make_pool(x,
                                             sliding("avg_pool2d", x, 0, kernel, options, count),
                                             sliding("avg_pool2d", x, 1, kernel, options, count))));
}

Tensor adaptive_avg_pool2d(const Tensor& x, Pair output) {
  check_input("adaptive_avg_pool2d", x);
  if (is_float16(x.dtype())) return adaptive_avg_pool2d(widened(x), output).to(x.dtype());
  return average(
      x,
      std::make_shared<const Pool>(make_pool(x, adaptive(x, 0, output), adaptive(x, 1, output))));
}

}  // namespace tandem
