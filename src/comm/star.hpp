// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "comm/collective_plan.hpp"
#include "comm/gpu_links.hpp"
#include "comm/staged.hpp"

namespace tandem::comm {

/// A small collective of GPUs that do not reach each other, through one of them, the hub: it gets
/// copies of what the others have, makes all results, and gives each rank its own. Those are 2 (n -
/// 1) copies between n GPUs, where shares that each GPU makes need n (n - 1) or twice as many. More
/// bytes go through the hub for it, and so only small collectives gain.
class Star {
 public:
  /// Bytes of a collective up to which fewer copies are worth more than more bytes: a copy costs
  /// the host about 10 us, in which a link moves as much.
  static constexpr std::size_t kMostBytes = 128 * 1024;

  /// Whether a collective of ranks that are apart goes through a hub.
  ///
  /// @param pieces  of the collective.
  static bool takes(const Signature& signature, std::span<const Piece> pieces);

  Star(const GpuLinks& links, int hub) : links_(links), hub_(hub) {}

  /// Queues a collective on the side streams.
  ///
  /// @return  the bytes from rank to rank.
  Traffic queue(const char* what, std::span<const Piece> pieces);

 private:
  /// Pieces that lie one behind the other in all sources, and that a kernel makes at once.
  struct Run {
    std::vector<const Piece*> pieces;
    std::int64_t count = 0;
    std::vector<const void*> sources = {};  // as the hub reads them
    void* result = nullptr;                 // on the hub
  };
  struct Copy {
    int rank;
    const char* from;
    char* to;
    std::size_t nbytes;
  };

  static bool follows(const Run& run, const Piece& piece);
  void* stage(std::size_t nbytes);
  void fetch(Run& run);
  void make(const char* what, const Run& run) const;
  void add_results(const Run& run, std::vector<Copy>& results) const;
  void copy(const void* from, int from_rank, void* to, int to_rank, std::size_t nbytes);

  const GpuLinks& links_;
  int hub_;
  Traffic traffic_;
  std::vector<std::unique_ptr<Staged>> staged_;
};

}  // namespace tandem::comm
