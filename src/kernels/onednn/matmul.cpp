// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <optional>

#include "kernels/onednn/fast_path.hpp"
#include "kernels/onednn/session.hpp"

namespace tandem::kernels::onednn {
namespace {

using Desc = dnnl::memory::desc;

/// A batch of matrices as one matrix by batch index: oneDNN knows no broadcast by stride zero.
struct Stack {
  std::int64_t count = 1;
  std::int64_t step = 0;  // elements between matrices; zero: one for all
};

/// The batch of `x` with its dimensions joined into one; none where the strides do not allow it.
std::optional<Stack> stack_of(const View& x) {
  Stack stack;
  for (int d = x.shape.size() - 3; d >= 0; --d) {
    if (x.shape[d] == 1) continue;
    if (stack.count == 1)
      stack = {x.shape[d], x.strides[d]};
    else if (x.strides[d] == stack.step * stack.count)
      stack.count *= x.shape[d];
    else
      return std::nullopt;
  }
  return stack;
}

Desc desc_of(const View& x, const Stack& stack, bool batched) {
  const std::int64_t rows = x.shape[-2], cols = x.shape[-1];
  // A dimension of one may have any stride; oneDNN's kernels want a plain one.
  const std::int64_t row_stride =
      rows == 1 ? cols * (cols == 1 ? 1 : x.strides[-1]) : x.strides[-2];
  const std::int64_t col_stride =
      cols == 1 ? (rows == 1 || x.strides[-2] != 1 ? 1 : rows) : x.strides[-1];
  if (!batched) return Desc({rows, cols}, type_of(x), dnnl::memory::dims{row_stride, col_stride});
  const std::int64_t count = stack.step == 0 ? 1 : stack.count;
  const std::int64_t step = count == 1 ? rows * cols : stack.step;
  return Desc({count, rows, cols}, type_of(x), dnnl::memory::dims{step, row_stride, col_stride});
}

Desc bias_desc(const View& bias, std::int64_t n, bool batched) {
  return batched ? Desc({1, 1, n}, type_of(bias), dnnl::memory::format_tag::abc)
                 : Desc({1, n}, type_of(bias), dnnl::memory::format_tag::ab);
}

std::unique_ptr<Prepared> prepare(
    const dnnl::engine& engine, const Desc& a, const Desc& b, const Desc* bias, const Desc& c) {
  const auto desc =
      bias == nullptr ? dnnl::matmul::desc(a, b, c) : dnnl::matmul::desc(a, b, *bias, c);
  const dnnl::matmul::primitive_desc primitive(desc, user_scratchpad(), engine);
  if (!is_usable(primitive.impl_info_str())) return nullptr;
  std::vector<Argument> arguments{
      {DNNL_ARG_SRC, a, a}, {DNNL_ARG_WEIGHTS, b, b}, {DNNL_ARG_DST, c, c, true}};
  if (bias != nullptr) arguments.push_back({DNNL_ARG_BIAS, *bias, *bias});
  return std::make_unique<Prepared>(
      engine, dnnl::matmul(primitive), primitive.scratchpad_desc(), arguments);
}

}  // namespace

bool matmul(const HostStream& s, const View& a, const View& b, const View& bias, const View& c) {
  const auto sa = stack_of(a), sb = stack_of(b), sc = stack_of(c);
  if (!sa || !sb || !sc) return false;
  const std::int64_t m = c.shape[-2], n = c.shape[-1], k = a.shape[-1];
  const bool batched = sc->count > 1, biased = bias.data != nullptr;

  Key key;
  key.add({0,
           s.threads,
           biased,
           static_cast<std::int64_t>(c.dtype),
           sc->count,
           m,
           n,
           k,
           a.strides[-2],
           a.strides[-1],
           b.strides[-2],
           b.strides[-1],
           c.strides[-2],
           sa->step,
           sb->step,
           sc->step});
  Session session(s);
  Prepared* primitive = session.find(key, [&](const dnnl::engine& engine) {
    const Desc row = bias_desc(bias, n, batched);
    return prepare(engine,
                   desc_of(a, *sa, batched),
                   desc_of(b, *sb, batched),
                   biased ? &row : nullptr,
                   desc_of(c, *sc, batched));
  });
  if (primitive == nullptr) return false;
  if (biased)
    session.run(*primitive, {a.data, b.data, c.data, bias.data});
  else
    session.run(*primitive, {a.data, b.data, c.data});
  return true;
}

}  // namespace tandem::kernels::onednn
