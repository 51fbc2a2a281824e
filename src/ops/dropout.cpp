// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <string>

#include <xxhash.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/elementwise.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/random.hpp"
#include "ops/dropout_key.hpp"
#include "ops/output.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::Saved;

/// Global index of the first of `rows` rows of this replica. Where a row of the batch became
/// several of the tensor (tokens of a sentence), each counts.
std::int64_t first_row(std::int64_t rows) {
  const RowRange range = context().rows;
  const std::int64_t batch = range.end - range.begin;
  if (range.end < 0 || batch <= 0) return 0;
  return range.begin * (rows % batch == 0 ? rows / batch : 1);
}

}  // namespace

kernels::DropoutKey next_dropout_key(std::int64_t rows) {
  kernels::DropoutKey key;
  key.first_row = first_row(rows);
  if (ForwardFrame* frame = context().frame.get(); frame != nullptr) {
    const std::string& path = current_module_path();
    const int call = frame->calls[path]++;
    key.seed = frame->seed;
    key.forward = frame->forward;
    // The seed of the hash tells calls within one module apart.
    key.path_hash = XXH64(path.data(), path.size(), static_cast<XXH64_hash_t>(call));
  } else {
    Runtime& runtime = Runtime::instance();
    key.seed = runtime.seed();
    key.forward = runtime.draws().fetch_add(1, std::memory_order_relaxed);
  }
  return key;
}

Tensor dropout(const Tensor& x, double p, DropoutOptions options) {
  TANDEM_CHECK(p >= 0 && p < 1, "dropout: p is ", p, ", expected a probability in [0, 1)");
  TANDEM_CHECK(is_float(x.dtype()), "dropout: needs a float tensor, got ", x.describe());
  if (p == 0) return x;
  const int row_dim = normalize_dim(options.row_dim, x.ndim(), "dropout");
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
