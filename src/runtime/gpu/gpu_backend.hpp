// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "tandem/runtime/stream.hpp"

#include "runtime/gpu/gpu_device.hpp"
#include "runtime/gpu/gpu_event.hpp"

namespace tandem {

/// What the process's devices of type cuda are made by: tandem's own CUDA backend in a build with
/// CUDA, or one that another library has registered. Without one there are no GPUs.
///
/// Thread-safe. Unless it is noexcept, every function throws DeviceError with the call and the code
/// if a GPU refuses. An error after which a GPU takes no more work from this process is remembered:
/// later calls on that GPU throw too, and say "restart".
class GpuBackend {
 public:
  GpuBackend() = default;
  virtual ~GpuBackend() = default;
  GpuBackend(const GpuBackend&) = delete;
  GpuBackend& operator=(const GpuBackend&) = delete;

  /// Whether devices of type cuda may be named at all.
  virtual bool has_gpus() const noexcept = 0;
  /// Number of GPUs that the process may use; 0 without a driver.
  virtual int count() const noexcept = 0;
  /// Why there is no GPU, where more than that is known: "cudaErrorInsufficientDriver, ...".
  virtual const std::string& no_gpu_reason() const noexcept { return no_reason_; }
  /// @throws InvalidArgument  there is no GPU `ordinal`, which `name` asks for.
  virtual void check_gpu(Device name, int ordinal) const = 0;
  /// @throws InvalidArgument  there is no such GPU.
  virtual std::shared_ptr<GpuDevice> open(Device name, int ordinal) = 0;
  virtual std::unique_ptr<GpuEvent> make_event() = 0;

  /// Copies after the work of both streams so far. The source's stream does not wait for the end.
  virtual void begin_copy_between(const Stream& source_stream,
                                  const void* source,
                                  const Stream& target_stream,
                                  void* target,
                                  std::size_t nbytes) = 0;
  /// Copies after the work of both streams so far; both streams continue after their part in it.
  /// Does not wait. Between GPUs that are not peers the copy goes through the host.
  virtual void copy_between(const Stream& source_stream,
                            const void* source,
                            const Stream& target_stream,
                            void* target,
                            std::size_t nbytes) = 0;
  /// Whether kernels of two GPUs may read and write each other's memory.
  virtual bool peers(int ordinal, int other) = 0;

  // What a backend need not have. By itself it pins nothing, and adopts nothing.

  /// Throws if the last launch of the calling thread failed, where a launch does not do so itself.
  virtual void check_launch(const char* /*name*/) {}
  /// Whether buffers of GPUs may have memory of another owner: it orders its own uses of it with
  /// what the backend's streams do.
  virtual bool adopts_memory() const noexcept { return false; }
  /// Whether memory of the host is pinned for GPUs where they are in use.
  virtual bool pins_host_memory() const noexcept { return false; }
  /// Whether the process uses a GPU, so that pinned memory is of use.
  virtual bool is_in_use() const noexcept { return false; }
  /// Pins whole pages of the host, so that GPUs access them without a copy by the host.
  ///
  /// @return  false, with nothing done, if the process uses no GPU or the system refuses.
  virtual bool pin(void* /*p*/, std::size_t /*nbytes*/) noexcept { return false; }
  /// Unpins what `pin` has pinned.
  virtual void unpin(void* /*p*/) noexcept {}
  /// Makes a GPU current for the calling thread for as long as the result lives, for libraries that
  /// ask CUDA which one is.
  virtual std::shared_ptr<void> make_current(int /*ordinal*/) noexcept { return nullptr; }
  /// Throws if a GPU takes no work any more. For failures of libraries, which do not tell.
  /// @param call  of the library.
  virtual void check_context(int /*ordinal*/, const char* /*call*/) {}
  /// Gives memory of a GPU back that is kept for later. May wait for the GPU.
  virtual void release_unused(int /*ordinal*/) {}
  /// Whether the driver says that two GPUs reach each other, and a trial has shown that they do
  /// not.
  virtual bool are_broken_peers(int /*ordinal*/, int /*other*/) { return false; }
  /// Bytes of a GPU's memory that this process holds; none if nobody tells.
  virtual std::optional<std::size_t> held_by_process(int /*ordinal*/) const { return std::nullopt; }

 private:
  std::string no_reason_;
};

/// The process's. Lives until the process ends.
GpuBackend& gpu_backend() noexcept;

/// Makes the devices of type cuda another library's, from now on.
///
/// @throws InvalidArgument  a device of type cuda is in use.
void register_gpu_backend(std::unique_ptr<GpuBackend> backend);

}  // namespace tandem
