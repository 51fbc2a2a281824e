// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/copy_times.hpp"

#include <algorithm>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"

namespace tandem {

bool streams_are_timed() noexcept {
  const auto* observers = Runtime::instance().observers();
  return observers != nullptr &&
         std::ranges::any_of(*observers, [](const Observer* o) { return o->times_streams(); });
}

namespace {

/// @param from, to  the memory of the two buffers; null: it is not told.
void tell(Device source,
          const Buffer& target,
          std::size_t nbytes,
          const CopyTimes& times,
          const void* from,
          const void* to) noexcept {
  if (nbytes == 0 || source == target.device()) return;
  const auto* observers = Runtime::instance().observers();
  if (observers == nullptr) [[likely]]
    return;
  const CopyEvent event{source,
                        target.device(),
                        nbytes,
                        target.category(),
                        context().phase,
                        times.begin,
                        times.end,
                        times.streams,
                        times.exchange,
                        from,
                        to,
                        times.carrier};
  for (Observer* o : *observers)
    o->on_copy(event);
}

}  // namespace

void count_copy(Device source,
                const Buffer& target,
                std::size_t nbytes,
                const CopyTimes& times) noexcept {
  tell(source, target, nbytes, times, nullptr, nullptr);
}

void count_copy(const Buffer& source,
                const Buffer& target,
                std::size_t nbytes,
                const CopyTimes& times) noexcept {
  tell(source.device(), target, nbytes, times, source.data(), target.data());
}

void count_side_work(const Stream& side_stream,
                     const Work& work,
                     const std::shared_ptr<const StreamTimes>& times) noexcept {
  const auto* observers = Runtime::instance().observers();
  if (observers == nullptr) [[likely]]
    return;
  for (Observer* o : *observers)
    o->on_side_work(work, side_stream, times);
}

}  // namespace tandem
