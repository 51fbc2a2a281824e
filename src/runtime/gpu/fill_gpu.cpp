// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/gpu/fill_gpu.hpp"

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
#include "runtime/gpu/gpu_backend.hpp"
#include "runtime/gpu/memory_order.hpp"
#include "runtime/order_of_copies.hpp"

namespace tandem {
namespace {

/// Keeps the source of a copy that a GPU reads later: its end waits for the copy's.
class SourceHold {
 public:
  /// @param stream  the copy's; it lives until the program ends, as `source` does.
  /// @param source  of the device that the bytes come from.
  SourceHold(const Stream& stream, const Stream& source, std::shared_ptr<const Event> end)
      : stream_(stream), source_(source), end_(std::move(end)) {}
  // The source's memory is about to be freed.
  ~SourceHold() {
    try {
      if (has_ended()) return;
      if (source_.native() != nullptr) {
        wait();
        return;
      }
    } catch (const std::exception&) {  // the GPU takes no more work
    }
    stream_.native()->drain();
  }
  SourceHold(const SourceHold&) = delete;
  SourceHold& operator=(const SourceHold&) = delete;

  /// On the host the thread waits, else the source's main stream.
  void wait() const {
    if (source_.native() == nullptr)
      end_->wait("copy");
    else
      end_->wait(source_, "copy");
  }
  bool has_ended() const { return end_->query(); }

 private:
  const Stream& stream_;
  const Stream& source_;
  std::shared_ptr<const Event> end_;
};

/// Memory that the upload stream may use at once, whatever the main stream has still to do.
std::shared_ptr<Buffer> early_buffer(const LogicalDevice& device, std::size_t nbytes) {
  const MemoryOrder order(device.gpu()->upload_stream(), device.gpu()->main_stream());
  return std::make_shared<Buffer>(device.device(), nbytes, context().category);
}

/// Queues the copy of a part on the upload stream of `target`'s device.
///
/// @return its end
std::shared_ptr<const Event> queue_copy(const BufferPart& part, Buffer& target, std::size_t at) {
  const Buffer& source = *part.buffer;
  const Stream& stream = target.logical_device().upload_stream();
  const Stream& out = source.logical_device().stream();
  std::optional<CopyTimer> timer;
  if (Runtime::instance().observers() != nullptr) [[unlikely]]
    timer.emplace(out, stream);
  const void* const from = static_cast<const char*>(source.data()) + part.offset;
  void* const to = static_cast<char*>(target.data()) + at;
  bool is_read_later = true;
  if (out.native() == nullptr)
    is_read_later = stream.native()->begin_copy_from_host(from, to, part.nbytes, "copy");
  else
    gpu_backend().begin_copy_between(out, from, stream, to, part.nbytes);
  const auto end = std::make_shared<Event>();
  end->record(stream);
  if (is_read_later) {
    const auto hold = std::make_shared<const SourceHold>(stream, out, end);
    source.transits().add({.begin = part.offset,
                           .end = part.offset + part.nbytes,
                           .way = Transit::Way::out,
                           .wait = [hold] { hold->wait(); },
                           .has_ended = [hold] { return hold->has_ended(); }});
  }
  if (timer) [[unlikely]]
    count_copy(source, target, part.nbytes, timer->end());
  return end;
}

}  // namespace

FillingBuffer fill_gpu(std::span<const BufferPart> parts, Device device) {
  std::size_t nbytes = 0;
  for (const BufferPart& part : parts) {
    const std::size_t end = part.offset + part.nbytes;
    TANDEM_ASSERT(end <= part.buffer->nbytes(), "a copy past the end of a buffer");
    part.buffer->check_awake("copy");
    if (part.buffer->transits().any())
      part.buffer->transits().await(part.offset, end, Direction::read);
    nbytes += part.nbytes;
  }
  LogicalDevice& to = logical_device(device);
  std::shared_ptr<Buffer> target = early_buffer(to, nbytes);
  try {
    std::shared_ptr<const Event> end;
    for (const auto& [part, at] : in_order_of_copies(parts, device)) {
      if (part->nbytes > 0) end = queue_copy(*part, *target, at);
    }
    target->bump_version();
    return {std::move(target), std::move(end)};
  } catch (...) {  // nothing else orders the copies before the target's end
    to.upload_stream().native()->drain();
    throw;
  }
}

}  // namespace tandem
