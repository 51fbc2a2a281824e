// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/nccl/part.hpp"

#include "stand_in/nccl/reduction.hpp"

namespace tandem::stand_in {

std::size_t Part::read_bytes(std::size_t rank, std::size_t ranks) const {
  if (kind == Kind::join || kind == Kind::receive) return 0;
  if (kind == Kind::broadcast && static_cast<int>(rank) != root) return 0;
  return count * nccl_size(type) * (kind == Kind::reduce_scatter ? ranks : 1);
}

std::size_t Part::written_bytes(std::size_t rank, std::size_t ranks) const {
  if (kind == Kind::join || kind == Kind::send) return 0;
  if (kind == Kind::reduce && static_cast<int>(rank) != root) return 0;
  return count * nccl_size(type) * (kind == Kind::all_gather ? ranks : 1);
}

bool Part::has_its_place(std::size_t rank, std::size_t ranks) const {
  const std::size_t reads = read_bytes(rank, ranks), writes = written_bytes(rank, ranks);
  if (reads == 0 || writes == 0) return true;
  const auto* const in = static_cast<const std::byte*>(from);
  const auto* const out = static_cast<const std::byte*>(to);
  if (in + reads <= out || out + writes <= in) return true;
  if (reads < writes) return in == out + rank * reads;
  return out == in + (reads > writes ? rank * writes : 0);
}

bool Part::matches(const Part& other) const {
  return kind == other.kind && count == other.count && type == other.type && root == other.root &&
         op == other.op;
}

std::string Part::text() const {
  std::string text = name;
  if (kind == Kind::join) return text;
  text += " of " + std::to_string(count) + " " + nccl_type_name(type);
  if (is_reduction()) text += std::string(" by ") + nccl_op_name(op);
  if (kind == Kind::broadcast) text += " from rank " + std::to_string(root);
  if (kind == Kind::reduce) text += " to rank " + std::to_string(root);
  return text;
}

}  // namespace tandem::stand_in
