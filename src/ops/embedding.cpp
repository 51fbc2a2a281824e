// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/embedding.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/embedding.hpp"
#include "kernels/index.hpp"
#include "ops/autocast.hpp"
#include "ops/index.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::Saved;

/// Where a gradient goes: rows of a (vocabulary, width) by an index (n).
struct Rows {
  Saved index;
  Shape weight;
  std::int64_t padding;  // -1: none

  Shape rows() const { return {index.get().numel(), weight[1]}; }

  /// Off the tape.
  Tensor sum(const Tensor& dy_) const {
    const Tensor& at = index.get();
    const Tensor dy = dy_.detach().reshape(rows()).contiguous();
    const Tensor dweight = empty(weight, {.dtype = dy.dtype(), .device = dy.device()});
    dispatch(dy.stream(),
             make_work(Work::Kind::index,
                       "embedding_grad",
                       {dy, at},
                       {dweight},
                       static_cast<double>(dy.numel())),
             [&](auto& s) {
               kernels::embedding_grad(s, view_of(dy), view_of(at), padding, view_of(dweight));
             });
    return dweight;
  }

  /// In differentiable ops.
  Tensor sum_formula(const Tensor& dy_) const {
    const Tensor& at = index.get();
    Tensor dy = dy_.reshape(rows());
    const Tensor column = at.reshape({at.numel(), 1});
    if (padding >= 0) dy = where(ne(column, static_cast<double>(padding)), dy, 0.0);
    const Tensor nothing = zeros(weight, {.dtype = dy.dtype(), .device = dy.device()});
    return scatter_add(nothing, 0, column.expand(rows()), dy);
  }
};

std::int64_t padding_entry(std::optional<std::int64_t> padding_idx, std::int64_t vocabulary) {
  if (!padding_idx) return -1;
  TANDEM_CHECK(*padding_idx >= -vocabulary && *padding_idx < vocabulary,
               "embedding: padding_idx ",
               *padding_idx,
               " is outside [",
               -vocabulary,
               ", ",
               vocabulary,
               ")");
  return *padding_idx < 0 ? *padding_idx + vocabulary : *padding_idx;
}

}  // namespace

Tensor embedding(const Tensor& index,
                 const Tensor& weight,
                 std::optional<std::int64_t> padding_idx) {
  TANDEM_CHECK(!is_float(index.dtype()) && index.dtype() != DType::boolean,
               "embedding: the index must hold integers, got ",
               index.describe());
  TANDEM_CHECK(weight.ndim() == 2 && is_float(weight.dtype()),
               "embedding: weight needs floats (vocabulary, width), got ",
               weight.describe());
  if (is_float16(weight.dtype()))
    return narrowed(embedding(index, widened(weight), padding_idx), weight.dtype());
  const std::int64_t padding = padding_entry(padding_idx, weight.size(0));
  const Tensor at = index.to(DType::i64);
  check_index("embedding", "index", at, weight.size(0));
  Shape shape = index.shape();
  shape.push_back(weight.size(1));
  const Tensor flat = at.reshape({at.numel()});
  const Tensor w = weight.detach();
  const Tensor y = empty(shape, {.dtype = w.dtype(), .device = w.device()});
  dispatch(w.stream(), make_work(Work::Kind::index, "embedding", {w, flat}, {y}), [&](auto& s) {
    const Shape rows{flat.numel(), weight.size(1)};
    const kernels::View entries{flat.data(), flat.dtype(), rows, {1, 0}};
    const kernels::View to{y.data(), y.dtype(), rows, {weight.size(1), 1}};
    kernels::gather(s, 0, view_of(w), entries, to);
  });
  const Rows rows{Saved(flat.contiguous()), weight.shape(), padding};
  return autograd::record(
      "embedding",
      y,
      {weight},
      [rows](const Tensor& dy) { return Gradients{rows.sum_formula(dy)}; },
      [rows](const Tensor& dy) { return Gradients{rows.sum(dy)}; });
}

}  // namespace tandem
