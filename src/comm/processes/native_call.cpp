// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/native_call.hpp"

#include "comm/algorithms/list.hpp"
#include "comm/collective_plan.hpp"

namespace tandem::comm {
namespace {

using Native = ProcessLinks::Native;

std::optional<Native::Type> type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return Native::Type::f32;
    case DType::f64:
      return Native::Type::f64;
    case DType::i32:
      return Native::Type::i32;
    case DType::i64:
      return Native::Type::i64;
    case DType::u8:
      return Native::Type::u8;
    default:
      return std::nullopt;
  }
}

std::optional<Native::Op> op_of(ReduceOp op) {
  switch (undivided(op)) {
    case ReduceOp::sum:
      return Native::Op::sum;
    case ReduceOp::product:
      return Native::Op::product;
    case ReduceOp::min:
      return Native::Op::min;
    case ReduceOp::max:
      return Native::Op::max;
    default:
      return std::nullopt;
  }
}

/// Minima and maxima of floats are NaN if any rank has a NaN. Those of gloo and of MPI compare, so
/// that it depends on the order whether a NaN stays.
bool loses_nan(const Signature& s) {
  const ReduceOp op = undivided(s.op);
  return s.kind != Collective::Kind::broadcast && is_float(s.dtype) &&
         (op == ReduceOp::min || op == ReduceOp::max);
}

std::optional<Native::Kind> kind_of(Collective::Kind kind) {
  switch (kind) {
    case Collective::Kind::all_reduce:
      return Native::Kind::all_reduce;
    case Collective::Kind::broadcast:
      return Native::Kind::broadcast;
    case Collective::Kind::reduce:
      return Native::Kind::reduce;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Native> native_call(const Signature& s) {
  if (algorithm_of(s) != &native() || s.count == 0 || loses_nan(s)) return std::nullopt;
  const auto type = type_of(s.dtype);
  const auto op = op_of(s.op);
  const auto kind = kind_of(s.kind);
  if (!type || !op || !kind) return std::nullopt;
  Native call;
  call.kind = *kind;
  call.type = *type;
  call.op = s.kind == Collective::Kind::broadcast ? Native::Op::sum : *op;
  call.count = static_cast<std::size_t>(s.count);
  return call;
}

}  // namespace tandem::comm
