// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <exception>
#include <memory>
#include <optional>

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

/// The end of an upload whose source the GPU reads later.
class UploadEnd {
 public:
  explicit UploadEnd(const Stream& stream) : stream_(stream) { event_.record(stream); }
  // The source's memory is about to be freed.
  ~UploadEnd() {
    try {
      if (event_.query()) return;
    } catch (const std::exception&) {  // the GPU takes no more work
    }
    drain(*stream_.logical_device().cuda(), stream_.native());
  }
  UploadEnd(const UploadEnd&) = delete;
  UploadEnd& operator=(const UploadEnd&) = delete;
  const Event& event() const noexcept { return event_; }

 private:
  const Stream& stream_;  // of a logical device, which lives until the program ends
  Event event_;
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
    const auto end = std::make_shared<UploadEnd>(stream);
    end->event().wait(to.stream(), "copy");
    if (is_read_later) {
      source.transits().add({.begin = offset,
                             .end = offset + nbytes,
                             .way = Transit::Way::out,
                             .wait = [end] { end->event().wait("copy"); },
                             .has_ended = [end] { return end->event().query(); }});
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
