// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/communicator.hpp"

#include <array>
#include <utility>

#include "tandem/core/check.hpp"

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
  TANDEM_CHECK(c.op != ReduceOp::avg || is_float(dtype),
               name(c.kind),
               ": avg of ",
               dtype,
               " is no ",
               dtype,
               "; use sum, or a float tensor");
  TANDEM_CHECK(c.op != ReduceOp::sum || dtype != DType::boolean,
               name(c.kind),
               ": sum of bool is no bool; use max for any, min for all");
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
  constexpr std::array kNames{"sum", "avg", "min", "max"};
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

void Handle::wait() {
  if (pending_ == nullptr) return;
  pending_->wait();
  pending_.reset();
}

void Communicator::gather(const Tensor& part, const Tensor& whole, int root) {
  start({Collective::Kind::gather, part, rank() == root ? whole : Tensor(), ReduceOp::sum, root})
      .wait();
}

void Communicator::scatter(const Tensor& whole, const Tensor& part, int root) {
  start({Collective::Kind::scatter, rank() == root ? whole : Tensor(), part, ReduceOp::sum, root})
      .wait();
}

void Communicator::all_gather(const Tensor& part, const Tensor& whole) {
  start({Collective::Kind::all_gather, part, whole}).wait();
}

void Communicator::reduce_scatter(const Tensor& whole, const Tensor& part, ReduceOp op) {
  start({Collective::Kind::reduce_scatter, whole, part, op}).wait();
}

Handle Communicator::start_broadcast(const Tensor& x, int root) {
  return start({Collective::Kind::broadcast, x, x, ReduceOp::sum, root});
}

Handle Communicator::start_reduce(const Tensor& x, ReduceOp op, int root) {
  return start({Collective::Kind::reduce, x, x, op, root});
}

Handle Communicator::start_all_reduce(const Tensor& x, ReduceOp op) {
  return start({Collective::Kind::all_reduce, x, x, op});
}

Handle Communicator::start(Collective collective) {
  try {
    const Collective& c = collective;
    TANDEM_CHECK(!has_root(c.kind) || (c.root >= 0 && c.root < size()),
                 name(c.kind),
                 ": root ",
                 c.root,
                 " is not one of the ",
                 size(),
                 " ranks; expected 0 to ",
                 size() - 1);
    check_ends(c, rank());
    check_tensor(c.input, c, device());
    check_tensor(c.output, c, device());
    check_reduction(c);
  } catch (const InvalidArgument& e) {
    // The others would wait for a rank that never comes.
    abort(detail::concat("rank ", rank(), " (", device(), ") failed: ", e.what()));
    throw;
  }
  return launch(std::move(collective));
}

}  // namespace tandem::comm
