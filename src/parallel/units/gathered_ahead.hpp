// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/upload.hpp"

#include "parallel/units/gather_order.hpp"

namespace tandem::parallel {

/// Whole blocks that a device gathers ahead of the work that uses them, in the order of the last
/// pass.
///
/// To be used on the device's thread, or on the caller's while no call runs.
class GatheredAhead {
 public:
  /// Begins to gather a block.
  using Begin = std::function<FillingBuffer(int block)>;

  /// @param count  how many blocks may be gathered ahead; 0: none are.
  explicit GatheredAhead(std::size_t count) : count_(count) {}

  /// A block that has been gathered; null: it has not. Then those that have are given up, since the
  /// pass goes another way than the last one.
  std::shared_ptr<Buffer> take(int block);
  /// Work of `c` has got a block: those that followed it in the last pass begin.
  ///
  /// @throws OutOfMemory
  void note(int block, const Context& c, const Begin& begin);
  /// The device's job has ended, and so has its pass.
  void end_job();

 private:
  struct Ahead {
    int block;
    FillingBuffer whole;
  };
  void begin_pass(GatherOrder::Pass pass);

  std::size_t count_;
  GatherOrder order_;
  GatherOrder::Pass pass_ = GatherOrder::Pass::forward;
  std::deque<Ahead> ahead_;  // in the order in which they are used
};

}  // namespace tandem::parallel
