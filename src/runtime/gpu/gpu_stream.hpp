// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

struct CUstream_st;

namespace tandem {

class StreamPoint;

/// A stream of a GPU, as the process's GpuBackend has it.
///
/// Thread-safe. Lives as long as its GpuDevice. Unless it is noexcept, every function throws
/// DeviceError with the call and the code if the GPU refuses.
class GpuStream {
 public:
  /// @param cuda  see cuda().
  explicit GpuStream(CUstream_st* cuda = nullptr) noexcept : cuda_(cuda) {}
  virtual ~GpuStream() = default;
  GpuStream(const GpuStream&) = delete;
  GpuStream& operator=(const GpuStream&) = delete;

  /// CUDA's own stream, on which tandem's kernels are launched; null: the backend has kernels of
  /// its own.
  CUstream_st* cuda() const noexcept { return cuda_; }
  /// CUDA's own stream behind it, for libraries that queue work of their own; null: there is none,
  /// or the backend does not know it.
  virtual CUstream_st* handle() const { return cuda_; }

  /// Waits for all work queued so far.
  /// @throws Timeout, CommAborted  the context's deadline passed, or the context was aborted.
  virtual void synchronize(const char* op) const = 0;
  /// Waits for the work after a failure, when the memory that it uses is about to be freed and
  /// nobody else waits for it. After a grace time, gives up on work that hangs.
  virtual void drain() const noexcept = 0;
  /// Bytes of the GPU that go to the host.
  struct ToHost {
    const void* source;
    void* target;
    std::size_t nbytes;
  };
  /// Copies in the stream's order, and waits once for all copies to end.
  virtual void copy_to_host(std::span<const ToHost> copies, const char* op) const = 0;
  /// Begins a copy in the stream's order. Waits for the stream where the driver would.
  ///
  /// @return  whether the GPU reads the source when the stream comes to it. Else the host may
  ///          change the source.
  virtual bool begin_copy_from_host(const void* source,
                                    void* target,
                                    std::size_t nbytes,
                                    const char* op) const = 0;
  /// Copies in the stream's order. When it returns, the host may change the source.
  void copy_from_host(const void* source, void* target, std::size_t nbytes, const char* op) const;
  /// The point after the work so far, which tells when it was reached.
  virtual std::shared_ptr<const StreamPoint> point() const = 0;

 protected:
  /// Bytes of memory that is not pinned which CUDA's driver takes without a wait.
  static constexpr std::size_t kMostTaken = std::size_t{64} << 10;

 private:
  CUstream_st* cuda_;
};

}  // namespace tandem
