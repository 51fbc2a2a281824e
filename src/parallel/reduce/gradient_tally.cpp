// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/gradient_tally.hpp"

#include <algorithm>

namespace tandem::parallel {

GradientTally::GradientTally(std::size_t places, const std::vector<Bucket>& buckets)
    : bucket_of_(places, SIZE_MAX), used_(places), complete_(places) {
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    sizes_.push_back(buckets[b].places.size());
    for (const std::size_t place : buckets[b].places)
      bucket_of_[place] = b;
  }
  pending_ = sizes_;
}

void GradientTally::begin(std::int64_t backwards, Used used) {
  backward_ = 0;
  backwards_ = backwards;
  if (used == Used::fresh) std::ranges::fill(used_, std::uint8_t{0});
  std::ranges::fill(complete_, std::uint8_t{0});
  ready_.clear();
  pending_ = sizes_;
}

std::vector<std::size_t> GradientTally::missing() const {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < bucket_of_.size(); ++place)
    if (bucket_of_[place] != SIZE_MAX && !is_complete(place)) places.push_back(place);
  return places;
}

}  // namespace tandem::parallel
