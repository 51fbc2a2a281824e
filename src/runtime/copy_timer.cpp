// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/copy_timer.hpp"

#include <memory>
#include <utility>
namespace tandem {

CopyTimer::CopyTimer(const Stream& out, const Stream& in)
    : last_(in.native() != nullptr ? in : out) {
  for (const Stream* s : {&out, &in})
    if (is_timed_ && s->native() != nullptr) streams_.begin.push_back(point_of(*s));
}

CopyTimes CopyTimer::end() {
  CopyTimes times{begin_, {}};
  if (is_timed_ && last_.native() != nullptr) {
    streams_.end.push_back(point_of(last_));
    times.streams = std::make_shared<const StreamTimes>(std::move(streams_));
  }
  times.end = CopyTimes::now();
  return times;
}

}  // namespace tandem
