// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/transfers.hpp"

#include <utility>

#include "tandem/runtime/context.hpp"
#include "tandem/tensor/access.hpp"

#include "parallel/update_sharing.hpp"

namespace tandem::parallel {

std::vector<Piece> plan_pieces(const optim::ArenaLayout& layout,
                               std::size_t first_nbytes,
                               std::size_t nbytes) {
  std::vector<Piece> pieces;
  std::vector<std::size_t> open(layout.blocks().size(), SIZE_MAX);  // by block: its open piece
  for (const optim::ArenaPlace& place : layout.places()) {
    const auto block = static_cast<std::size_t>(place.block);
    auto& current = open[block];
    if (current == SIZE_MAX) {
      current = pieces.size();
      pieces.push_back({place.block, place.offset, place.offset});
    }
    Piece& piece = pieces[current];
    piece.end = place.offset + place.extent;
    const auto size = static_cast<std::size_t>(piece.end - piece.begin);
    if (size * itemsize(layout.blocks()[block].dtype) >= (current == 0 ? first_nbytes : nbytes))
      current = SIZE_MAX;
  }
  return pieces;
}

void Transfers::broadcast(const optim::Arena& values,
                          const std::vector<Piece>& pieces,
                          comm::Communicator& group) {
  drop();
  for (std::size_t b = 0; b < values.layout().blocks().size(); ++b)
    blocks_.push_back(values.params(static_cast<int>(b)));
  for (const Piece& piece : pieces) {
    const Tensor part =
        range(blocks_[static_cast<std::size_t>(piece.block)], {piece.begin, piece.end});
    const auto handle = std::make_shared<comm::Handle>(group.start_broadcast(part, 0));
    const Access bytes = access(part, Direction::write);
    part.buffer().add_transit({bytes.begin,
                               bytes.end,
                               group.rank() == 0 ? Transit::Way::out : Transit::Way::in,
                               [handle] {
                                 const ContextScope scope(
                                     [](Context& c) { c.phase = Phase::replicate; });
                                 handle->wait();
                               }});
  }
}

void Transfers::finish() {
  for (const Tensor& block : blocks_)
    block.buffer().await_transits(0, block.buffer().nbytes(), Direction::write);
  blocks_.clear();
}

void Transfers::drop() noexcept {
  for (const Tensor& block : blocks_)
    block.buffer().clear_transits();
  blocks_.clear();
}

}  // namespace tandem::parallel
