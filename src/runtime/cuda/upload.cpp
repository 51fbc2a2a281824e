// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/event.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/copy_timer.hpp"
#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/memory_order.hpp"

namespace tandem::cuda {
namespace {

/// Keeps the source of an upload that the GPU reads later: its end waits for the upload's.
class SourceHold {
 public:
  /// @param stream  the upload's; it lives until the program ends.
  SourceHold(const Stream& stream, std::shared_ptr<const Event> end)
      : stream_(stream), end_(std::move(end)) {}
  // The source's memory is about to be freed.
  ~SourceHold() {
    try {
      if (has_ended()) return;
    } catch (const std::exception&) {  // the GPU takes no more work
    }
    drain(*stream_.logical_device().cuda(), stream_.native());
  }
  SourceHold(const SourceHold&) = delete;
  SourceHold& operator=(const SourceHold&) = delete;

  void wait() const { end_->wait("copy"); }
  bool has_ended() const { return end_->query(); }

 private:
  const Stream& stream_;
  std::shared_ptr<const Event> end_;
};

/// Memory that the upload stream may use at once, whatever the main stream has still to do.
std::shared_ptr<Buffer> early_buffer(const LogicalDevice& device, std::size_t nbytes) {
  const MemoryOrder order(device.cuda()->upload_stream(), device.cuda()->main_stream());
  return std::make_shared<Buffer>(device.device(), nbytes, context().category);
}

}  // namespace

std::shared_ptr<Buffer> upload(const Buffer& source,
                               std::size_t offset,
                               std::size_t nbytes,
                               Device device) {
  TANDEM_ASSERT(offset + nbytes <= source.nbytes(), "upload past the end of a buffer");
  source.check_awake("copy");
  if (source.transits().any()) source.transits().await(offset, offset + nbytes, Direction::read);
  LogicalDevice& to = logical_device(device);
  const Stream& stream = to.upload_stream();
  std::shared_ptr<Buffer> target = early_buffer(to, nbytes);
  try {
    std::optional<CopyTimer> timer;
    if (Runtime::instance().observers() != nullptr) [[unlikely]]
      timer.emplace(source.logical_device().stream(), stream);
    const void* from = static_cast<const char*>(source.data()) + offset;
    const bool is_read_later = begin_copy_from_host(stream, from, target->data(), nbytes, "copy");
    const auto end = std::make_shared<Event>();
    end->record(stream);
    end->wait(to.stream(), "copy");
    if (is_read_later) {
      const auto hold = std::make_shared<const SourceHold>(stream, end);
      source.transits().add({.begin = offset,
                             .end = offset + nbytes,
                             .way = Transit::Way::out,
                             .wait = [hold] { hold->wait(); },
                             .has_ended = [hold] { return hold->has_ended(); }});
    }
    target->bump_version();
    if (timer) [[unlikely]]
      count_copy(source.device(), *target, nbytes, timer->end());
  } catch (...) {  // nothing else orders the copy before the target's end
    drain(*to.cuda(), stream.native());
    throw;
  }
  return target;
}

}  // namespace tandem::cuda
