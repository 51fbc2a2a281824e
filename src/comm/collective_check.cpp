// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/collective_check.hpp"

#include "tandem/core/check.hpp"

namespace tandem::comm {
namespace {

bool reduces(Collective::Kind kind) noexcept {
  using Kind = Collective::Kind;
  return kind == Kind::reduce || kind == Kind::all_reduce || kind == Kind::reduce_scatter;
}

bool is_point_to_point(Collective::Kind kind) noexcept {
  return kind == Collective::Kind::send || kind == Collective::Kind::recv;
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
               "; it must be dense in row-major order, so pass x.contiguous()");
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
                 " is not ",
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
                 " is not defined; use a tensor of integers or bool");
  }
  TANDEM_CHECK(op != ReduceOp::sum || dtype != DType::boolean,
               name(c.kind),
               ": the sum of bool is not bool; use bor or max for any, band or min for all");
}

void check_ends(const Collective& c, int rank) {
  using Kind = Collective::Kind;
  if (c.kind == Kind::barrier) return;
  const bool gives = c.kind != Kind::recv && (c.kind != Kind::scatter || rank == c.root);
  const bool gets = c.kind != Kind::send && (c.kind != Kind::gather || rank == c.root);
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

void check_counts(const Tensor& x,
                  const char* which,
                  const std::vector<std::int64_t>& counts,
                  int size) {
  TANDEM_CHECK(static_cast<int>(counts.size()) == size,
               "all_to_all: ",
               which,
               "_counts has ",
               counts.size(),
               " numbers for ",
               size,
               " ranks; give one for each");
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) {
    TANDEM_CHECK(count >= 0, "all_to_all: ", which, "_counts has ", count, "; expected 0 or more");
    sum += count;
  }
  TANDEM_CHECK(sum == x.numel(),
               "all_to_all: ",
               which,
               "_counts add up to ",
               sum,
               ", but the ",
               which,
               " has ",
               x.numel(),
               " elements; make them equal");
}

void check_apart(const Collective& c) {
  const auto* input = static_cast<const char*>(c.input.data());
  const auto* output = static_cast<const char*>(c.output.data());
  const bool apart = input + c.input.nbytes() <= output || output + c.output.nbytes() <= input ||
                     c.input.numel() == 0 || c.output.numel() == 0;
  TANDEM_CHECK(apart, name(c.kind), ": input and output share memory; give two separate tensors");
}

}  // namespace

void complete_part(Collective& c, int rank, int size) {
  if (c.kind == Collective::Kind::gather && rank != c.root) c.output = {};
  if (c.kind == Collective::Kind::scatter && rank != c.root) c.input = {};
  if (c.kind != Collective::Kind::all_to_all) return;
  const auto fill = [&](const Tensor& x, const char* which, std::vector<std::int64_t>& counts) {
    if (!x.defined() || !counts.empty()) return;
    TANDEM_CHECK(x.numel() % size == 0,
                 "all_to_all: the ",
                 which,
                 "'s ",
                 x.numel(),
                 " elements do not divide into ",
                 size,
                 " even parts; give ",
                 which,
                 "_counts");
    counts.assign(static_cast<std::size_t>(size), x.numel() / size);
  };
  fill(c.input, "input", c.input_counts);
  fill(c.output, "output", c.output_counts);
}

void check_part(const Collective& c, int rank, int size, Device device) {
  const bool meets_two = is_point_to_point(c.kind);
  const bool of_anyone = c.kind == Collective::Kind::recv && c.root == any_source;
  TANDEM_CHECK(!(has_root(c.kind) || meets_two) || of_anyone || (c.root >= 0 && c.root < size),
               name(c.kind),
               meets_two ? ": rank " : ": root ",
               c.root,
               " is not one of the ",
               size,
               " ranks; expected 0 to ",
               size - 1);
  check_ends(c, rank);
  check_tensor(c.input, c, device);
  check_tensor(c.output, c, device);
  check_reduction(c);
  if (c.kind != Collective::Kind::all_to_all) return;
  check_counts(c.input, "input", c.input_counts, size);
  check_counts(c.output, "output", c.output_counts, size);
  check_apart(c);
}

}  // namespace tandem::comm
