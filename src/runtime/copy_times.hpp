// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/observer.hpp"

namespace tandem {

/// When bytes were under way between two devices.
struct CopyTimes {
  using Moment = std::chrono::steady_clock::time_point;
  static Moment now() noexcept { return std::chrono::steady_clock::now(); }

  Moment begin;  ///< for GPUs: when the copy was queued
  Moment end;
  std::shared_ptr<const StreamTimes> streams = nullptr;  ///< see CopyEvent
  std::uint64_t exchange = 0;                            ///< likewise
  const char* carrier = "copies";                        ///< likewise
};

/// Whether any observer asks for times of GPUs' streams.
bool streams_are_timed() noexcept;

/// Tells observers about bytes copied from one device to another.
///
/// Does nothing for zero bytes, or if the devices are the same.
void count_copy(Device source,
                const Buffer& target,
                std::size_t nbytes,
                const CopyTimes& times) noexcept;
/// The same of a copy between two buffers, whose memory observers are told, too.
void count_copy(const Buffer& source,
                const Buffer& target,
                std::size_t nbytes,
                const CopyTimes& times) noexcept;

/// Tells observers about work of a GPU's side stream.
void count_side_work(const Stream& side_stream,
                     const Work& work,
                     const std::shared_ptr<const StreamTimes>& times) noexcept;

}  // namespace tandem
