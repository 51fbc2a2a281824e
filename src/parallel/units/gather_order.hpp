// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::parallel {

/// The order in which passes gather blocks, from which the next ones are foretold. Ranks that
/// gather in the same order foretell the same.
class GatherOrder {
 public:
  enum class Pass : std::uint8_t { forward, backward };

  /// A pass begins, and the one before has ended.
  void begin(Pass pass);
  /// Notes that a block is gathered.
  ///
  /// @return the blocks that followed it in the last pass of this kind, at most `count`; none where
  ///         this pass differs from that one.
  std::vector<int> note(int block, std::size_t count);
  /// A number of the passes that are known, by which ranks compare them.
  std::int64_t digest() const noexcept;
  /// Forgets all passes.
  void clear();

 private:
  std::array<std::vector<int>, 2> last_;  // by pass
  std::vector<int> present_;
  Pass pass_ = Pass::forward;
  bool is_as_last_ = true;
};

}  // namespace tandem::parallel
