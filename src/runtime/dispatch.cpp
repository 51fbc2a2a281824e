// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/dispatch.hpp"

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/fault.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/copy_timer.hpp"
#include "runtime/gpu/gpu_backend.hpp"
#include "runtime/gpu/gpu_stream.hpp"
#include "runtime/read_by.hpp"

namespace tandem {

void AccessList::add(Access access) {
  TANDEM_ASSERT(size < kCapacity, "work with more than ", kCapacity, " accesses; split it");
  items[static_cast<std::size_t>(size++)] = access;
}

namespace {

/// Buffers that a piece of work uses and that have given their memory back get it again.
void provide_buffers(const Work& work) {
  std::array<const Buffer*, AccessList::kCapacity> used{};
  std::size_t count = 0;
  for (const Access& a : work.accesses)
    used[count++] = a.buffer;
  const std::span<const Buffer* const> all(used.data(), count);
  for (const Access& a : work.accesses)
    a.buffer->check_awake(work.name, all);
}

/// The end of a barrier to which this rank has come: the others count on it, and go on.
bool is_agreed(const Work& work) {
  return work.kind == Work::Kind::barrier && work.exchange != nullptr &&
         work.exchange->point != Exchange::Point::begin;
}

}  // namespace

namespace detail {

bool begin_work(Stream& stream, const Work& work) {
  stream.logical_device().note_work(work.name);
  if (const WorkFault* fault = WorkFaultScope::in_place(); fault && !is_agreed(work)) [[unlikely]]
    (*fault)(work, stream.device());
  bool has_data = true;
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
                 "; move the tensor with .to(device). If it belongs to a module, list it in "
                 "TANDEM_MODULE"));
    }
    if (a.buffer->is_dropped()) [[unlikely]]
      provide_buffers(work);
    if (a.direction != Direction::read) a.buffer->check_writable(work.name);
    if (a.buffer->transits().any()) [[unlikely]]
      a.buffer->transits().await(a.begin, a.end, a.direction);
    has_data = has_data && a.buffer->has_data();
  }
  if (const auto* observers = Runtime::instance().observers()) [[unlikely]] {
    for (Observer* o : *observers)
      o->on_work_begin(work, stream);
  }
  if (has_data) [[likely]]
    return true;
  for (const Access& a : work.accesses)
    if (a.direction != Direction::read) a.buffer->lose_data();
  return false;
}

void end_work(Stream& stream, const Work& work) noexcept {
  for (const Access& a : work.accesses) {
    if (a.direction != Direction::read) a.buffer->bump_version(a.begin, a.end);
  }
  if (const auto* observers = Runtime::instance().observers()) [[unlikely]] {
    for (Observer* o : *observers)
      o->on_work_end(work, stream);
  }
}

bool counts_workspace(const Stream& stream) noexcept {
  return !Runtime::instance().stands_for_gpu(stream.device());
}

HostStream host_stream(const Stream& stream, const Work& work) {
  TANDEM_CHECK(
      stream.native() == nullptr,
      work.name,
      ": has no CUDA kernel, but its tensors are on ",
      stream.device(),
      "; give dispatch a function that takes a CudaStream&, or move them with .to(\"cpu\")");
  const Context& c = context();
  return {counts_workspace(stream) ? stream.device() : Device{}, c.threads, c.path};
}

bool takes_launches(const Stream& stream) noexcept {
  return stream.native()->cuda() != nullptr;
}

CudaStream cuda_stream(const Stream& stream) {
  stream.logical_device().gpu()->activate();
  return {stream.device(), stream.native()->cuda(), context().path, get_float32_matmul_precision()};
}

void check_launch(const Work& work) {
  gpu_backend().check_launch(work.name);
}

}  // namespace detail

namespace {

/// Sees to it that the host may read the bytes.
void prepare_read(const ReadBytes& r, const char* op) {
  const Buffer& source = *r.source;
  TANDEM_ASSERT(r.nbytes == 0 || r.offset + r.nbytes <= source.nbytes(),
                op,
                " reads past the end of a buffer");
  if (r.nbytes > 0) source.check_data(op);
  source.check_awake(op);
  if (source.transits().any())
    source.transits().await(r.offset, r.offset + r.nbytes, Direction::read);
  if (const auto* observers = Runtime::instance().observers()) [[unlikely]] {
    for (Observer* o : *observers)
      o->on_read(op, source.device(), r.nbytes);
  }
}

}  // namespace

void read(
    const Buffer& source, std::size_t offset, void* target, std::size_t nbytes, const char* op) {
  const ReadBytes one{&source, offset, target, nbytes};
  read_by(source.logical_device().stream(), {&one, 1}, op);
}

void read_by(const Stream& stream, std::span<const ReadBytes> reads, const char* op) {
  std::vector<GpuStream::ToHost> copies;
  for (const ReadBytes& r : reads) {
    prepare_read(r, op);
    if (r.nbytes == 0) continue;
    const void* const from = static_cast<const char*>(r.source->data()) + r.offset;
    if (stream.native() == nullptr)
      std::memcpy(r.target, from, r.nbytes);
    else
      copies.push_back({from, r.target, r.nbytes});
  }
  if (!copies.empty()) stream.native()->copy_to_host(copies, op);
}

void write(const void* source, Buffer& target, std::size_t offset, std::size_t nbytes) {
  TANDEM_ASSERT(nbytes == 0 || offset + nbytes <= target.nbytes(),
                "write past the end of a buffer");
  target.check_awake("write");
  target.check_writable("write");
  const Stream& stream = target.logical_device().stream();
  if (target.transits().any()) target.transits().await(offset, offset + nbytes, Direction::write);
  target.bump_version(offset, offset + nbytes);
  if (nbytes == 0 || !target.has_data()) return;
  void* to = static_cast<char*>(target.data()) + offset;
  if (stream.native() != nullptr)
    return stream.native()->copy_from_host(source, to, nbytes, "write");
  std::memcpy(to, source, nbytes);
}

void copy_bytes(const Buffer& source,
                std::size_t source_offset,
                Buffer& target,
                std::size_t target_offset,
                std::size_t nbytes) {
  // Rows of a tensor without elements may begin past its end.
  TANDEM_ASSERT(nbytes == 0 || (source_offset + nbytes <= source.nbytes() &&
                                target_offset + nbytes <= target.nbytes()),
                "copy past the end of a buffer");
  const bool has_data = source.has_data() && target.has_data();
  if (nbytes > 0 && target.logical_device().has_data()) source.check_data("copy");
  const std::array<const Buffer*, 2> used{&source, &target};
  for (const Buffer* buffer : used)
    buffer->check_awake("copy", used);
  target.check_writable("copy");
  const Stream& out = source.logical_device().stream();
  const Stream& in = target.logical_device().stream();
  if (source.transits().any())
    source.transits().await(source_offset, source_offset + nbytes, Direction::read);
  if (target.transits().any())
    target.transits().await(target_offset, target_offset + nbytes, Direction::write);
  std::optional<CopyTimer> timer;
  if (Runtime::instance().observers() != nullptr && nbytes > 0 &&
      source.device() != target.device()) [[unlikely]]
    timer.emplace(out, in);
  if (nbytes > 0 && !has_data) {
    target.lose_data();
  } else if (nbytes > 0) {
    const void* from = static_cast<const char*>(source.data()) + source_offset;
    void* to = static_cast<char*>(target.data()) + target_offset;
    if (out.native() == nullptr && in.native() == nullptr) {
      std::memmove(to, from, nbytes);
    } else if (out.native() == nullptr) {
      in.native()->copy_from_host(from, to, nbytes, "copy");
    } else if (in.native() == nullptr) {
      const GpuStream::ToHost one{from, to, nbytes};
      out.native()->copy_to_host({&one, 1}, "copy");
    } else {
      gpu_backend().copy_between(out, from, in, to, nbytes);
    }
  }
  target.bump_version(target_offset, target_offset + nbytes);
  if (timer) [[unlikely]]
    count_copy(source, target, nbytes, timer->end());
}

}  // namespace tandem
