// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/runtime/stream.hpp"

#include "runtime/copy_times.hpp"
#include "runtime/gpu/stream_times.hpp"

namespace tandem {

/// Times a copy for observers, from here on.
class CopyTimer {
 public:
  /// @param out, in  the streams of source and target. They outlive the timer.
  CopyTimer(const Stream& out, const Stream& in);
  /// The times of the copy, which has been done or queued.
  CopyTimes end();

 private:
  CopyTimes::Moment begin_ = CopyTimes::now();
  const Stream& last_;  // to have the bytes under way
  bool is_timed_ = streams_are_timed();
  StreamTimes streams_;
};

}  // namespace tandem
