// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::stand_in {

/// By stream, how many of its tasks something comes after, whatever order tasks run in.
class Clock {
 public:
  void note(std::size_t stream, std::uint64_t task) {
    if (stream >= last_.size()) last_.resize(stream + 1);
    last_[stream] = std::max(last_[stream], task);
  }
  void join(const Clock& other) {
    if (other.last_.size() > last_.size()) last_.resize(other.last_.size());
    for (std::size_t i = 0; i < other.last_.size(); ++i)
      last_[i] = std::max(last_[i], other.last_[i]);
  }
  bool covers(std::size_t stream, std::uint64_t task) const {
    return task == 0 || (stream < last_.size() && last_[stream] >= task);
  }
  bool covers(const Clock& other) const {
    for (std::size_t i = 0; i < other.last_.size(); ++i)
      if (!covers(i, other.last_[i])) return false;
    return true;
  }

 private:
  std::vector<std::uint64_t> last_;
};

}  // namespace tandem::stand_in
