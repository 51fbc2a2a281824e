// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/optim/arena.hpp"

namespace tandem::parallel {

/// Elements of a block that are sent in one message.
struct Piece {
  int block = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Cuts the values of all places into pieces, in the order in which a forward is likely to read them.
/// The first piece is small, so that the forward begins early.
///
/// @param first_nbytes, nbytes  a piece is closed when it has reached its size.
std::vector<Piece> plan_pieces(const optim::ArenaLayout& layout,
                               std::size_t first_nbytes,
                               std::size_t nbytes);

/// Values of a rank that come from others, or go to them, while it computes: work that touches them
/// waits for them. Used on the rank's thread.
class Transfers {
 public:
  Transfers() = default;
  ~Transfers() { drop(); }
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  /// Device 0's values go out, in `pieces`. @throws Desync, CommAborted, Timeout
  void broadcast(const optim::Arena& values,
                 const std::vector<Piece>& pieces,
                 comm::Communicator& group);
  /// Waits for what is still under way. @throws Desync, CommAborted, Timeout
  void finish();
  /// Forgets it: the values that have not come are of no use.
  void drop() noexcept;

 private:
  std::vector<Tensor> blocks_;
};

}  // namespace tandem::parallel
