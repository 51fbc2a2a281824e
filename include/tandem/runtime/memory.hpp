// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace tandem {

/// What memory is held for.
enum class Category : std::uint8_t {
  parameter,
  gradient,
  optimizer,
  buffer,
  input,
  activation,
  output,
  output_gradient,
  communication,
  workspace,
};
inline constexpr int kCategories = 10;

/// "parameter", "gradient", ...
const char* name(Category category) noexcept;
std::ostream& operator<<(std::ostream& s, Category category);

/// A part of a training step.
enum class Phase : std::uint8_t {
  none,
  scatter,
  replicate,
  forward,
  gather,
  loss,
  backward,
  reduce,
  update
};
inline constexpr int kPhases = 9;

const char* name(Phase phase) noexcept;
std::ostream& operator<<(std::ostream& s, Phase phase);

/// The part of a block that belongs to one module.
struct ModuleShare {
  std::string module_path;
  std::size_t nbytes;
};
/// Which modules own a block that serves several of them, such as parameters stored one after
/// another. The shares sum to the block's bytes.
using ModuleShares = std::vector<ModuleShare>;

/// What a device's allocator holds. Bytes are counted as requested, before rounding.
struct MemoryStats {
  std::size_t in_use = 0;
  std::size_t peak = 0;                                ///< the highest in_use since the last reset
  std::array<std::size_t, kCategories> by_category{};  ///< sums to in_use
  std::array<std::size_t, kCategories>
      peak_by_category{};                ///< at the moment of the peak; sums to peak
  std::uint64_t allocations = 0;         ///< number of allocations so far
  std::uint64_t system_allocations = 0;  ///< number of those that reached the system's allocator
  std::size_t adopted = 0;  ///< bytes of other owners that buffers use; not in in_use, not limited
};

}  // namespace tandem
