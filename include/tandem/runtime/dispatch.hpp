// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tandem/config.hpp"
#include "tandem/core/dtype.hpp"
#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/stream.hpp"

namespace tandem {

/// Bytes of a buffer that a piece of work touches.
struct Access {
  Buffer* buffer = nullptr;
  std::size_t nbytes = 0;
  Direction direction = Direction::read;
  std::size_t begin = 0;  ///< they lie within these bytes of the buffer
  std::size_t end = SIZE_MAX;
};

/// The accesses of a piece of work, held inline: a Work is copied into logs.
struct AccessList {
  static constexpr int kMost = 12;
  std::array<Access, kMost> items{};
  int size = 0;

  /// @throws InternalError  more than kMost.
  void add(Access access);
  const Access* begin() const noexcept { return items.data(); }
  const Access* end() const noexcept { return items.data() + size; }
};

/// Sizes of a matrix product; zeros for other work.
struct Mnk {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// What a piece of device work is and costs: the one record behind checks, costs and traces.
struct Work {
  enum class Kind : std::uint8_t {
    elementwise,
    reduce,
    gemm,
    conv,
    pool,
    norm,
    index,
    random,
    copy,
    optimizer,
    collective,  ///< a device's part of a collective, or its wait for the others' parts
    barrier,     ///< a wait for the others that moves no bytes
    custom
  };
  Kind kind = Kind::custom;
  const char* name = "";  ///< of the op; a string literal
  DType dtype = DType::f32;
  Mnk mnk = {};
  double flops = 0;
  AccessList accesses = {};
};

namespace detail {

/// Same-device check, waits for bytes in transit, observers.
void begin_work(Stream& stream, const Work& work);
/// Version bumps, observers.
void end_work(Stream& stream, const Work& work) noexcept;
/// Work under way: ended also where it throws, since its outputs may be half written.
class WorkScope {
 public:
  WorkScope(Stream& stream, const Work& work) : stream_(stream), work_(work) {
    begin_work(stream, work);
  }
  ~WorkScope() { end_work(stream_, work_); }
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

 private:
  Stream& stream_;
  const Work& work_;
};
/// The host stream of `stream` for the calling thread.
///
/// @throws InvalidArgument  a GPU's: `work` has no CUDA kernel.
HostStream host_stream(const Stream& stream, const Work& work);
/// The CUDA stream of `stream`, with its GPU made the calling thread's.
CudaStream cuda_stream(const Stream& stream);
/// Looks whether the kernels of `work` that this thread launched last were taken.
///
/// @throws DeviceError
void check_launch(const Work& work);

}  // namespace detail

/// Runs `f(s)` as work of `stream`: the only way to touch a device's data. `s` is a `HostStream&`,
/// or a `CudaStream&` on a GPU.
///
/// A host stream runs it at once, on the calling thread; a GPU's queues what `f` launches.
/// @throws InvalidArgument  an access is of another device than the stream; the text has both.
///                          `f` takes no `CudaStream&`, and the device is a GPU.
/// @throws Timeout, CommAborted  while it waited for bytes that are on their way.
template <class F>
void dispatch(Stream& stream, const Work& work, F&& f) {
  const detail::WorkScope scope(stream, work);
  if constexpr (has_cuda) {  // nested: without CUDA nothing of `f` is made for a CudaStream
    if constexpr (std::is_invocable_v<F, CudaStream&>) {
      if (stream.native() != nullptr) {
        CudaStream cuda = detail::cuda_stream(stream);
        f(cuda);
        return detail::check_launch(work);
      }
    }
  }
  HostStream host = detail::host_stream(stream, work);
  std::forward<F>(f)(host);
}

/// Copies bytes of device data to the host: the only way for the host to see them. Synchronises.
///
/// @param op  named to observers ("item", "to_host").
void read(
    const Buffer& source, std::size_t offset, void* target, std::size_t nbytes, const char* op);

/// Copies host bytes to a device. Not counted: observers see copies between devices.
void write(const void* source, Buffer& target, std::size_t offset, std::size_t nbytes);

/// Copies bytes between buffers, counted where the devices differ.
///
/// Runs on the calling thread; the caller sees to the order with the source's owner.
void copy_bytes(const Buffer& source,
                std::size_t source_offset,
                Buffer& target,
                std::size_t target_offset,
                std::size_t nbytes);

}  // namespace tandem
