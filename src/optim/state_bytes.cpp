// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "optim/state_bytes.hpp"

#include <algorithm>

#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::optim::detail {
namespace {

/// What one run has of a parameter's state, in bytes.
struct Piece {
  Buffer& buffer;
  std::size_t offset;  // in the buffer
  std::size_t begin;   // in the parameter
  std::size_t nbytes;
};

Piece piece_of(const ParameterRun& run, const ArenaPlace& at, const std::string& name) {
  const Tensor& flat = run.find(name)->flat;
  const std::size_t size = itemsize(flat.dtype());
  const auto [begin, most] = run.part_of(at);
  const std::int64_t end = std::max(begin, std::min(most, at.offset + numel(at.shape)));
  return {.buffer = flat.buffer(),
          .offset = static_cast<std::size_t>(flat.impl().offset + begin - run.begin) * size,
          .begin = static_cast<std::size_t>(begin - at.offset) * size,
          .nbytes = static_cast<std::size_t>(end - begin) * size};
}

/// Its elements lie row after row.
bool is_dense(const Member& member) {
  return is_contiguous(member.at.shape, member.at.strides);
}

}  // namespace

void read_state(const StateLayout& layout,
                const Member& member,
                const std::string& name,
                std::span<std::byte> out) {
  if (!is_dense(member) || StateLayout::ranks_of(member) != nullptr) {
    const Tensor rows = layout.state(member, name).contiguous();
    const auto offset = static_cast<std::size_t>(rows.impl().offset) * itemsize(rows.dtype());
    return read(rows.buffer(), offset, out.data(), out.size(), "to_host");
  }
  for (const std::size_t s : member.runs) {
    const ParameterRun& run = layout.runs()[s];
    const Piece piece = piece_of(run, member.at, name);
    read(piece.buffer, piece.offset, out.data() + piece.begin, piece.nbytes, "to_host");
    if (run.has_all_of(member.at)) return;  // the others are copies
  }
}

void write_state(StateLayout& layout,
                 const Member& member,
                 const std::string& name,
                 std::span<const std::byte> bytes) {
  if (member.runs.empty()) return;  // other ranks have all of it
  if (!is_dense(member)) {
    const DType dtype = layout.runs()[member.runs.front()].find(name)->flat.dtype();
    const Tensor rows = empty(member.at.shape, {.dtype = dtype, .device = member.tensor.device()});
    write(bytes.data(), rows.buffer(), 0, bytes.size());
    return layout.set_state(member, name, StateLayout::flat_state(member, rows));
  }
  for (const std::size_t s : member.runs) {
    const Piece piece = piece_of(layout.runs()[s], member.at, name);
    write(bytes.data() + piece.begin, piece.buffer, piece.offset, piece.nbytes);
  }
}

}  // namespace tandem::optim::detail
