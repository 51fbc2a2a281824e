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

/// Why bytes are held.
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

/// Part of a training step.
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

/// A module's part of a block.
struct ModuleShare {
  std::string module_path;
  std::size_t nbytes;
};
/// Whose a block is that serves several modules, like parameters that lie one after the other. They
/// sum to its bytes.
using ModuleShares = std::vector<ModuleShare>;

/// What a device's allocator holds, in bytes as asked for.
struct MemoryStats {
  std::size_t in_use = 0;
  std::size_t peak = 0;                                ///< highest in_use since the last reset
  std::array<std::size_t, kCategories> by_category{};  ///< sums to in_use
  std::array<std::size_t, kCategories>
      peak_by_category{};                ///< at the moment of the peak; sums to peak
  std::uint64_t allocations = 0;         ///< calls so far
  std::uint64_t system_allocations = 0;  ///< calls that reached the system's allocator
};

}  // namespace tandem
