// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/collective.hpp"

#include <array>

#include "tandem/core/check.hpp"

#include "comm/collective_check.hpp"

namespace tandem::comm {
namespace {

bool reduces(Collective::Kind kind) noexcept {
  using Kind = Collective::Kind;
  return kind == Kind::reduce || kind == Kind::all_reduce || kind == Kind::reduce_scatter;
}

bool has_root(Collective::Kind kind) noexcept {
  using Kind = Collective::Kind;
  return kind == Kind::broadcast || kind == Kind::reduce || kind == Kind::gather ||
         kind == Kind::scatter;
}

void check_tensor(const Tensor& x, const Collective& c, Device device) {
  if (!x.defined()) return;
  TANDEM_CHECK(x.device() == device,
               name(c.kind),
               ": the tensor is ",
               x.describe(),
               ", but this rank is on ",
               device,
               "; move it with .to(device)");
  TANDEM_CHECK(x.is_contiguous(),
               name(c.kind),
               ": the tensor is ",
               x.describe(),
               " with strides ",
               x.strides(),
               "; it must be dense in row-major order, see .contiguous()");
}

void check_reduction(const Collective& c) {
  if (!reduces(c.kind)) return;
  const DType dtype = c.input.dtype();
  const ReduceOp op = c.reduction.op;
  if (op == ReduceOp::avg || op == ReduceOp::premul_sum) {
    TANDEM_CHECK(is_float(dtype),
                 name(c.kind),
                 ": ",
                 name(op),
                 " of ",
                 dtype,
                 " is no ",
                 dtype,
                 "; use sum, or a float tensor");
  }
  if (op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor) {
    TANDEM_CHECK(!is_float(dtype),
                 name(c.kind),
                 ": ",
                 name(op),
                 " of ",
                 dtype,
                 " has no meaning; use a tensor of integers or bool");
  }
  TANDEM_CHECK(op != ReduceOp::sum || dtype != DType::boolean,
               name(c.kind),
               ": sum of bool is no bool; use bor or max for any, band or min for all");
}

void check_ends(const Collective& c, int rank) {
  using Kind = Collective::Kind;
  if (c.kind == Kind::barrier) return;
  const bool gives = c.kind != Kind::scatter || rank == c.root;
  const bool gets = c.kind != Kind::gather || rank == c.root;
  TANDEM_CHECK(!gives || c.input.defined(), name(c.kind), ": the tensor to send is undefined");
  TANDEM_CHECK(!gets || c.output.defined(), name(c.kind), ": the tensor to fill is undefined");
  if (gives && gets) {
    TANDEM_CHECK(c.input.dtype() == c.output.dtype(),
                 name(c.kind),
                 ": sends ",
                 c.input.describe(),
                 " but fills ",
                 c.output.describe(),
                 "; the dtypes must be equal");
  }
}

}  // namespace

const char* name(ReduceOp op) noexcept {
  constexpr std::array kNames{
      "sum", "avg", "min", "max", "product", "band", "bor", "bxor", "premul_sum"};
  return kNames[static_cast<std::size_t>(op)];
}

const char* name(Collective::Kind kind) noexcept {
  constexpr std::array kNames{"broadcast",
                              "reduce",
                              "all_reduce",
                              "gather",
                              "scatter",
                              "all_gather",
                              "reduce_scatter",
                              "barrier"};
  return kNames[static_cast<std::size_t>(kind)];
}

void check_part(const Collective& c, int rank, int size, Device device) {
  TANDEM_CHECK(!has_root(c.kind) || (c.root >= 0 && c.root < size),
               name(c.kind),
               ": root ",
               c.root,
               " is not one of the ",
               size,
               " ranks; expected 0 to ",
               size - 1);
  check_ends(c, rank);
  check_tensor(c.input, c, device);
  check_tensor(c.output, c, device);
  check_reduction(c);
}

}  // namespace tandem::comm
