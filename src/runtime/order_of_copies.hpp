// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "tandem/runtime/upload.hpp"

namespace tandem {

/// A part that a buffer is filled with, and where it begins there.
struct PlacedPart {
  const BufferPart* part;
  std::size_t at;
};

/// `parts` one after the other, from the first one of `device` on and then from the beginning. If
/// all devices began with the same part, its device's links would have to serve all at once.
inline std::vector<PlacedPart> in_order_of_copies(std::span<const BufferPart> parts,
                                                  Device device) {
  std::vector<PlacedPart> placed;
  std::size_t at = 0;
  for (const BufferPart& part : parts) {
    placed.push_back({&part, at});
    at += part.nbytes;
  }
  const auto own = std::ranges::find(
      placed, device, [](const PlacedPart& one) { return one.part->buffer->device(); });
  std::rotate(placed.begin(), own, placed.end());
  return placed;
}

}  // namespace tandem
