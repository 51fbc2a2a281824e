// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/dropout.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/dropout.hpp"
#include "ops/dropout.hpp"
#include "ops/output.hpp"
#include "tensor/frame_draw.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::Saved;

}  // namespace

int row_dim_of(int ndim) {
  const int dim = context().row_dim;
  return dim < ndim && dim >= -ndim ? normalize_dim(dim, ndim, "dropout") : 0;
}

kernels::DropoutKey next_dropout_key(std::int64_t rows) {
  const DrawPosition position = next_draw();
  return {.seed = position.seed,
          .forward = position.forward,
          .path_hash = position.path_hash,
          .first_row = batch_range(rows, RowMatch::multiple).first};
}

Tensor dropout(const Tensor& x, double p, DropoutOptions options) {
  TANDEM_CHECK(p >= 0 && p < 1, "dropout: p is ", p, "; it must be a probability in [0, 1)");
  TANDEM_CHECK(is_float(x.dtype()), "dropout: needs a float tensor, got ", x.describe());
  if (p == 0) return x;
  const int row_dim =
      options.row_dim ? normalize_dim(*options.row_dim, x.ndim(), "dropout") : row_dim_of(x.ndim());
  const Tensor y = make_output(x.shape(), x.dtype(), {x});
  const Tensor mask = empty_strided(y.shape(), y.strides(), DType::boolean, y.device());
  const kernels::DropoutKey key = next_dropout_key(x.shape()[row_dim]);
  dispatch(x.stream(), make_work(Work::Kind::random, "dropout", {x}, {y, mask}), [&](auto& s) {
    kernels::dropout(s, p, key, row_dim, view_of(x), view_of(y), view_of(mask));
  });
  return autograd::record(
      "dropout", y, {x}, [m = Saved(mask), scale = 1 / (1 - p)](const Tensor& dy) {
        return Gradients{where(m.get(), dy * scale, 0.0)};
      });
}

}  // namespace tandem
