// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/dispatch.hpp"

#include <cstring>

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"

namespace tandem {

void AccessList::add(Access access) {
  TANDEM_ASSERT(size < kMost, "work with more than ", kMost, " accesses; split it");
  items[static_cast<std::size_t>(size++)] = access;
}

namespace detail {

void begin_work(Stream& stream, const Work& work) {
  stream.logical_device().set_last_work(work.name);
  for (const Access& a : work.accesses) {
    if (a.buffer->device() != stream.device()) [[unlikely]] {
      const std::string& path = current_module_path();
      throw InvalidArgument(
          concat(work.name,
                 ": a tensor is on ",
                 a.buffer->device(),
                 " but the work is on ",
                 stream.device(),
                 path.empty() ? "" : " (module ",
                 path,
                 path.empty() ? "" : ")",
                 "; move it with .to(device), or, if it belongs to a module, is it not listed in "
                 "TANDEM_MODULE?"));
    }
    if (a.buffer->ready() != nullptr) [[unlikely]]
      a.buffer->ready()->wait(work.name);
  }
  if (const auto* observers = Runtime::instance().observers()) [[unlikely]] {
    for (Observer* o : *observers)
      o->on_work_begin(work, stream.device());
  }
}

void end_work(Stream& stream, const Work& work) noexcept {
  for (const Access& a : work.accesses) {
    if (a.direction != Direction::read) a.buffer->bump_version();
  }
  if (const auto* observers = Runtime::instance().observers()) [[unlikely]] {
    for (Observer* o : *observers)
      o->on_work_end(work, stream.device());
  }
}

HostStream host_stream(const Stream& stream) noexcept {
  const Context& c = context();
  return {stream.device(), c.threads, c.path};
}

}  // namespace detail

void read(
    const Buffer& source, std::size_t offset, void* target, std::size_t nbytes, const char* op) {
  TANDEM_ASSERT(offset + nbytes <= source.nbytes(), op, " reads past the end of a buffer");
  if (source.ready() != nullptr) source.ready()->wait(op);
  source.logical_device().stream().synchronize();
  if (const auto* observers = Runtime::instance().observers()) [[unlikely]] {
    for (Observer* o : *observers)
      o->on_read(op, source.device(), nbytes);
  }
  if (nbytes > 0) std::memcpy(target, static_cast<const char*>(source.data()) + offset, nbytes);
}

void write(const void* source, Buffer& target, std::size_t offset, std::size_t nbytes) {
  TANDEM_ASSERT(offset + nbytes <= target.nbytes(), "write past the end of a buffer");
  if (target.ready() != nullptr) target.ready()->wait("write");
  if (nbytes > 0) std::memcpy(static_cast<char*>(target.data()) + offset, source, nbytes);
  target.bump_version();
}

void copy_bytes(const Buffer& source,
                std::size_t source_offset,
                Buffer& target,
                std::size_t target_offset,
                std::size_t nbytes) {
  TANDEM_ASSERT(
      source_offset + nbytes <= source.nbytes() && target_offset + nbytes <= target.nbytes(),
      "copy past the end of a buffer");
  if (source.ready() != nullptr) source.ready()->wait("copy");
  if (nbytes > 0) {
    std::memmove(static_cast<char*>(target.data()) + target_offset,
                 static_cast<const char*>(source.data()) + source_offset,
                 nbytes);
  }
  target.bump_version();
  count_copy(source.device(), target, nbytes);
}

void count_copy(Device source, const Buffer& target, std::size_t nbytes) noexcept {
  if (nbytes == 0 || source == target.device()) return;
  const auto* observers = Runtime::instance().observers();
  if (observers == nullptr) [[likely]]
    return;
  const CopyEvent event{source, target.device(), nbytes, target.category(), context().phase};
  for (Observer* o : *observers)
    o->on_copy(event);
}

}  // namespace tandem
