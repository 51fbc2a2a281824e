// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/differentiable.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/copy.hpp"
#include "kernels/sum_ranks.hpp"
#include "tensor/view_of.hpp"

namespace tandem::comm {
namespace {

using autograd::Formula;
using autograd::Gradients;
using autograd::record;
using Rows = std::vector<std::int64_t>;

/// The others would wait for a rank that never comes.
[[noreturn]] void refuse(Communicator& comm, const std::string& text) {
  comm.abort(detail::concat("rank ", comm.rank(), " (", comm.device(), ") failed: ", text));
  throw InvalidArgument(text);
}

Tensor copied(const Tensor& x) {
  const Tensor y = empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  dispatch_on_any(x.stream(), make_work(Work::Kind::copy, "copy", {x}, {y}), [&](auto& s) {
    kernels::copy(s, view_of(x), view_of(y));
  });
  return y;
}

/// `x` as a collective takes it to read.
Tensor dense(const Tensor& x) {
  return x.is_contiguous() ? x.detach() : copied(x);
}

/// factor * x, differentiable.
Tensor scaled(const Tensor& x, double factor) {
  if (factor == 1) return x;
  const Tensor input = dense(x);
  const Tensor y = empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  const std::array<const void*, 1> from{input.data()};
  const std::array<void*, 1> to{y.data()};
  const std::array factors{factor};
  dispatch(x.stream(), make_work(Work::Kind::elementwise, "scale", {input}, {y}), [&](auto& s) {
    constexpr auto kReduction = kernels::Reduction::premul_sum;
    if constexpr (std::is_same_v<std::decay_t<decltype(s)>, CudaStream>)
      kernels::sum_ranks(s, kReduction, x.dtype(), from, to, 0, x.numel(), factors);
    else
      kernels::sum_ranks(kReduction, x.dtype(), from, to, 0, x.numel(), factors);
  });
  return record("scale", y, {x}, Formula([factor](const Tensor& dy) {
                  return Gradients{scaled(dy, factor)};
                }));
}

/// What this rank's values are multiplied by in the reduction.
double factor_of(Communicator& comm, const char* op, Reduction reduction) {
  if (reduction.op == ReduceOp::sum) return 1;
  if (reduction.op == ReduceOp::avg) return 1. / comm.size();
  if (reduction.op == ReduceOp::premul_sum) return reduction.factor;
  refuse(comm,
         detail::concat(op,
                        " on the tape: ",
                        name(reduction.op),
                        " is not differentiable here; use sum, avg or premul_sum, or "
                        "Communicator::",
                        op));
}

void check_rows(Communicator& comm, const char* op, const Tensor& x) {
  if (x.defined() && x.ndim() == 0)
    refuse(comm, detail::concat(op, " on the tape: needs a tensor with rows to cut, got a scalar"));
}

/// The sum of `rows`, which are even parts of `total` where none are given.
std::int64_t complete_rows(Communicator& comm, const char* op, std::int64_t total, Rows& rows) {
  const auto size = static_cast<std::size_t>(comm.size());
  if (rows.empty()) {
    if (total % comm.size() != 0) {
      refuse(comm,
             detail::concat(op,
                            " on the tape: ",
                            total,
                            " rows do not divide into ",
                            size,
                            " even parts; give the rows of each rank"));
    }
    rows.assign(size, total / comm.size());
  }
  if (rows.size() != size)
    refuse(comm,
           detail::concat(op,
                          " on the tape: got ",
                          rows.size(),
                          " counts of rows for ",
                          size,
                          " ranks; give one for each"));
  std::int64_t sum = 0;
  for (const std::int64_t n : rows) {
    if (n < 0 || __builtin_add_overflow(sum, n, &sum)) {
      refuse(comm,
             detail::concat(op,
                            " on the tape: a rank's count of rows is ",
                            n,
                            "; counts may not be negative, and their sum must fit in 64 bits"));
    }
  }
  return sum;
}

void check_count(Communicator& comm, const char* op, std::int64_t actual, std::int64_t expected) {
  if (actual == expected) return;
  refuse(comm,
         detail::concat(
             op, " on the tape: the tensor has ", actual, " rows, but the counts say ", expected));
}

/// An empty tensor like `x` but for its rows.
Tensor with_rows(const Tensor& x, std::int64_t rows) {
  Shape shape = x.shape();
  shape[0] = rows;
  return empty(shape, {.dtype = x.dtype(), .device = x.device()});
}

/// Elements of each rank's rows.
Rows elements(const Tensor& x, Rows rows) {
  const Shape shape = x.shape();
  std::int64_t inner = 1;
  for (int d = 1; d < x.ndim(); ++d)
    inner *= shape[d];
  for (std::int64_t& count : rows)
    count *= inner;
  return rows;
}

std::size_t index(int rank) {
  return static_cast<std::size_t>(rank);
}

}  // namespace

Tensor all_reduce(Communicator& comm, const Tensor& x, Reduction reduction) {
  const double factor = factor_of(comm, "all_reduce", reduction);
  const Tensor y = copied(x);
  comm.all_reduce(y, reduction);
  return record("all_reduce", y, {x}, Formula([&comm, factor](const Tensor& dy) {
                  return Gradients{scaled(all_reduce(comm, dy), factor)};
                }));
}

Tensor broadcast(Communicator& comm, const Tensor& x, int root) {
  const Tensor y = copied(x);
  comm.broadcast(y, root);
  return record("broadcast", y, {x}, Formula([&comm, root](const Tensor& dy) {
                  return Gradients{reduce(comm, dy, ReduceOp::sum, root)};
                }));
}

Tensor reduce(Communicator& comm, const Tensor& x, Reduction reduction, int root) {
  const double factor = factor_of(comm, "reduce", reduction);
  const bool is_root = comm.rank() == root;
  const Tensor own = is_root ? copied(x) : dense(x);
  comm.reduce(own, reduction, root);
  const Tensor y = is_root ? own : zeros(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  return record("reduce", y, {x}, Formula([&comm, root, factor](const Tensor& dy) {
                  return Gradients{scaled(broadcast(comm, dy, root), factor)};
                }));
}

Tensor gather(Communicator& comm, const Tensor& x, int root, Rows rows) {
  check_rows(comm, "gather", x);
  const std::int64_t own = x.size(0);
  const std::int64_t total = complete_rows(comm, "gather", own * comm.size(), rows);
  check_count(comm, "gather", own, rows[index(comm.rank())]);
  const Tensor y = with_rows(x, comm.rank() == root ? total : 0);
  comm.gather(dense(x), y, root);
  return record("gather", y, {x}, Formula([&comm, root, rows](const Tensor& dy) {
                  return Gradients{scatter(comm, dy, root, rows)};
                }));
}

Tensor scatter(Communicator& comm, const Tensor& x, int root, Rows rows) {
  check_rows(comm, "scatter", x);
  const std::int64_t total = complete_rows(comm, "scatter", x.size(0), rows);
  check_count(comm, "scatter", x.size(0), comm.rank() == root ? total : 0);
  const Tensor y = with_rows(x, rows[index(comm.rank())]);
  comm.scatter(dense(x), y, root);
  return record("scatter", y, {x}, Formula([&comm, root, rows](const Tensor& dy) {
                  return Gradients{gather(comm, dy, root, rows)};
                }));
}

Tensor all_gather(Communicator& comm, const Tensor& x, Rows rows) {
  check_rows(comm, "all_gather", x);
  const std::int64_t own = x.size(0);
  const std::int64_t total = complete_rows(comm, "all_gather", own * comm.size(), rows);
  check_count(comm, "all_gather", own, rows[index(comm.rank())]);
  const Tensor y = with_rows(x, total);
  comm.all_gather(dense(x), y);
  return record("all_gather", y, {x}, Formula([&comm, rows](const Tensor& dy) {
                  return Gradients{reduce_scatter(comm, dy, ReduceOp::sum, rows)};
                }));
}

Tensor reduce_scatter(Communicator& comm, const Tensor& x, Reduction reduction, Rows rows) {
  const double factor = factor_of(comm, "reduce_scatter", reduction);
  check_rows(comm, "reduce_scatter", x);
  const std::int64_t total = complete_rows(comm, "reduce_scatter", x.size(0), rows);
  check_count(comm, "reduce_scatter", x.size(0), total);
  const Tensor y = with_rows(x, rows[index(comm.rank())]);
  comm.reduce_scatter(dense(x), y, reduction);
  return record("reduce_scatter", y, {x}, Formula([&comm, rows, factor](const Tensor& dy) {
                  return Gradients{scaled(all_gather(comm, dy, rows), factor)};
                }));
}

Tensor all_to_all(Communicator& comm, const Tensor& x, Rows input_rows, Rows output_rows) {
  check_rows(comm, "all_to_all", x);
  const std::int64_t given = complete_rows(comm, "all_to_all", x.size(0), input_rows);
  check_count(comm, "all_to_all", x.size(0), given);
  if (output_rows.empty()) {
    if (std::ranges::count(input_rows, input_rows[0]) != std::ssize(input_rows))
      refuse(comm,
             "all_to_all on the tape: input_rows differ from rank to rank, and so the rows that "
             "come from each rank are not known; give output_rows");
    output_rows = input_rows;
  }
  const std::int64_t total = complete_rows(comm, "all_to_all", 0, output_rows);
  const Tensor y = with_rows(x, total);
  comm.all_to_all(dense(x), y, elements(x, input_rows), elements(x, output_rows));
  return record("all_to_all", y, {x}, Formula([&comm, input_rows, output_rows](const Tensor& dy) {
                  return Gradients{all_to_all(comm, dy, output_rows, input_rows)};
                }));
}

}  // namespace tandem::comm
