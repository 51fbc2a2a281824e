// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parallel/reduce/buckets.hpp"

namespace tandem::parallel {

/// Counts which gradients of a replica are complete, and so which buckets are. It sends nothing.
///
/// To be used on the replica's own thread. What a backward calls for each gradient is inline.
class GradientTally {
 public:
  /// @param places  the number of the arena's places; those that train are in a bucket.
  GradientTally(std::size_t places, const std::vector<Bucket>& buckets);

  /// Whether gradients of earlier backwards that were not reduced count too (kept), or not (fresh).
  enum class Used : std::uint8_t { fresh, kept };
  /// From here on, no gradient is complete.
  ///
  /// @param backwards  the number of backwards that add up to the gradients. Only the last one
  ///                   completes them.
  void begin(std::int64_t backwards, Used used);
  /// A backward begins, with or without work for this replica.
  void begin_backward() noexcept { ++backward_; }
  /// A backward has made the gradient of `place`. @return whether that has completed it
  bool note_made(std::size_t place) {
    if (bucket_of_[place] == SIZE_MAX) return false;
    used_[place] = 1;
    if (backward_ < backwards_ || is_complete(place)) return false;
    complete(place);
    ready_.push_back(place);
    return true;
  }
  /// Completes the gradient of a missing place, though this replica does not make it.
  void complete(std::size_t place) {
    complete_[place] = 1;
    --pending_[bucket_of_[place]];
  }

  /// The gradient of `place` that earlier backwards have made was dropped.
  void forget(std::size_t place) { used_[place] = 0; }

  /// Whether the gradient of `place` is complete.
  bool is_complete(std::size_t place) const noexcept { return complete_[place] != 0; }
  /// Whether all gradients of a bucket are complete.
  bool is_bucket_complete(std::size_t bucket) const noexcept { return pending_[bucket] == 0; }
  /// Places whose gradient a backward has completed, in that order.
  const std::vector<std::size_t>& ready() const noexcept { return ready_; }
  /// By place: 1 if its gradient was made since begin (or, if kept, earlier).
  const std::vector<std::uint8_t>& used() const noexcept { return used_; }
  /// The places that train and whose gradient is not complete.
  std::vector<std::size_t> missing() const;

 private:
  std::vector<std::size_t> sizes_;      // by bucket: its number of places
  std::vector<std::size_t> pending_;    // by bucket: places whose gradient is not complete
  std::vector<std::size_t> bucket_of_;  // by place; SIZE_MAX if it does not train
  std::vector<std::uint8_t> used_;      // by place
  std::vector<std::uint8_t> complete_;  // by place: already counted in pending_
  std::vector<std::size_t> ready_;
  std::int64_t backward_ = 0;  // number of the current backward, from 1
  std::int64_t backwards_ = 1;
};

}  // namespace tandem::parallel
