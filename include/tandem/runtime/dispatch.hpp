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

/// The bytes of a buffer that a piece of work touches.
struct Access {
  Buffer* buffer = nullptr;
  std::size_t nbytes = 0;
  Direction direction = Direction::read;
  std::size_t begin = 0;  ///< the touched bytes lie within [begin, end) of the buffer
  std::size_t end = SIZE_MAX;
};

/// The accesses of a piece of work, stored inline because a Work is copied into logs.
struct AccessList {
  static constexpr int kCapacity = 12;
  std::array<Access, kCapacity> items{};
  int size = 0;

  /// @throws InternalError  the list already holds kCapacity accesses.
  void add(Access access);
  const Access* begin() const noexcept { return items.data(); }
  const Access* end() const noexcept { return items.data() + size; }
};

/// The sizes of a matrix product, (m, k) times (k, n); zeros for other work. Of several products of
/// the same sizes, as those of a convolution's groups, m has the rows of all.
struct Mnk {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// The collective, or message, of which a piece of work is one device's part.
struct Exchange {
  enum class Point : std::uint8_t {
    begin,   ///< the device's part is queued
    settle,  ///< the thread waits for the other ranks; on a GPU the main stream goes on
    use,     ///< after that, the main stream waits for the output; on the host it is there already
    end,     ///< both at once
  };
  std::uint64_t id = 0;    ///< the same for all its ranks, and of no other one of this process
  int rank = 0;            ///< this device's in the group
  int ranks = 1;           ///< the group's size
  std::size_t nbytes = 0;  ///< of the whole array; of all its arrays, if several are coalesced
  Point point = Point::begin;
  /// How it is carried out, known when the work ends, in the words and numbers of whoever does so.
  struct Method {
    const char* name = "direct";
    std::array<std::int64_t, 3> numbers{};
  } method = {};
};

/// Describes a piece of device work and its cost. Checks, cost models and traces all use this
/// record.
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
  const char* name = "";  ///< the op's name; a string literal
  DType dtype = DType::f32;
  Mnk mnk = {};
  double flops = 0;
  AccessList accesses = {};
  const Exchange* exchange = nullptr;  ///< of a collective; its id is known when the work ends
  /// The kernel allocates on the device, and so it is called on shape-only devices, too: with a
  /// stream that does not compute, see HostStream.
  bool takes_workspace = false;
};

namespace detail {

/// Checks that all accesses are on the stream's device, waits for their bytes that are in transit,
/// and tells observers.
///
/// @return  whether all buffers have data. If not, those that are written to have none from now on.
bool begin_work(Stream& stream, const Work& work);
/// Bumps the versions of what was written, and tells observers.
void end_work(Stream& stream, const Work& work) noexcept;
/// A scope in which a piece of work runs. The work also ends if it throws, because its outputs may
/// be half written.
class WorkScope {
 public:
  WorkScope(Stream& stream, const Work& work)
      : stream_(stream), work_(work), has_data_(begin_work(stream, work)) {}
  ~WorkScope() { end_work(stream_, work_); }
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;
  bool has_data() const noexcept { return has_data_; }

 private:
  Stream& stream_;
  const Work& work_;
  bool has_data_;
};
/// Whether workspace that kernels take counts as the device's: not if it stands for a GPU.
bool counts_workspace(const Stream& stream) noexcept;
/// The host stream of `stream`, for the calling thread. Its workspace is cpu:0's if it does not
/// count as the device's.
///
/// @throws InvalidArgument  the stream is a GPU's, so `work` has no CUDA kernel.
HostStream host_stream(const Stream& stream, const Work& work);
/// Whether tandem's CUDA kernels can be launched on the stream, which is a GPU's.
bool takes_launches(const Stream& stream) noexcept;
/// The CUDA stream of `stream`. Makes its GPU the calling thread's current one.
CudaStream cuda_stream(const Stream& stream);
/// Checks that CUDA accepted the kernels of `work` that this thread launched last.
///
/// @throws DeviceError
void check_launch(const Work& work);

}  // namespace detail

/// Runs `f(s)` as work of `stream`. This is the only way to touch a device's data. `s` is a
/// `HostStream&`, or a `CudaStream&` on a GPU.
///
/// A host stream runs `f` at once, on the calling thread. A GPU's stream queues what `f` launches.
/// Where a buffer has no data (see Buffer::has_data) all but the computation takes place: checks,
/// waits, versions, and what observers hear. Then `f` is called only if the work takes workspace,
/// with a stream that does not compute, and not at all on a device that stands for a GPU.
/// @throws InvalidArgument  an access is on another device than the stream; the text names both.
///                          Or the device is a GPU and `f` does not take a `CudaStream&`.
/// @throws Timeout, CommAborted  while waiting for bytes that are in transit.
template <class F>
void dispatch(Stream& stream, const Work& work, F&& f) {
  const detail::WorkScope scope(stream, work);
  if constexpr (has_cuda) {  // nested, so that without CUDA `f` is not instantiated for CudaStream
    if constexpr (std::is_invocable_v<F, CudaStream&>) {
      if (stream.native() != nullptr && detail::takes_launches(stream)) {
        CudaStream cuda = detail::cuda_stream(stream);
        f(cuda);
        return detail::check_launch(work);
      }
    }
  }
  HostStream host = detail::host_stream(stream, work);
  host.computes = scope.has_data();
  if (host.computes || (work.takes_workspace && detail::counts_workspace(stream))) [[likely]]
    std::forward<F>(f)(host);
}

/// The same for work that a registered backend (GpuBackend) has kernels for, too: there `s` is a
/// `RegisteredStream&`.
template <class F>
void dispatch_on_any(Stream& stream, const Work& work, F&& f) {
  if (stream.native() == nullptr || detail::takes_launches(stream))
    return dispatch(stream, work, std::forward<F>(f));
  const detail::WorkScope scope(stream, work);
  RegisteredStream registered{stream};
  f(registered);
}

/// Copies device data to the host. This is the only way for the host to see it. Synchronises.
///
/// @param op  the name that observers get ("item", "to_host").
/// @throws NoData  the buffer is on a shape-only device. Nothing has changed.
void read(
    const Buffer& source, std::size_t offset, void* target, std::size_t nbytes, const char* op);

/// Copies host bytes to a device; to a shape-only one they go no further. Observers are not told;
/// they see only copies between devices.
void write(const void* source, Buffer& target, std::size_t offset, std::size_t nbytes);

/// Copies bytes between buffers. Observers are told if the devices differ.
///
/// Runs on the calling thread. The caller must order the copy with the work of the source's owner.
/// What a shape-only device sends or gets counts like any other copy, and moves nothing.
/// @throws NoData  from a buffer without data to a device that has data. Nothing has changed.
void copy_bytes(const Buffer& source,
                std::size_t source_offset,
                Buffer& target,
                std::size_t target_offset,
                std::size_t nbytes);

}  // namespace tandem
