// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "tandem/runtime/allocator.hpp"
#include "tandem/runtime/device.hpp"

#include "runtime/gpu/gpu_stream.hpp"

namespace tandem {

/// What a logical device on a GPU consists of: three streams and memory of its own.
///
/// Thread-safe. Streams and memory live until the process ends.
class GpuDevice {
 public:
  /// @param ordinal  the GPU's number among those of the process.
  GpuDevice(Device name, int ordinal) noexcept : name_(name), ordinal_(ordinal) {}
  virtual ~GpuDevice() = default;
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  Device name() const noexcept { return name_; }
  int ordinal() const noexcept { return ordinal_; }
  /// Makes the GPU current for the calling thread.
  /// @throws DeviceError  the GPU has become unusable.
  virtual void activate() const = 0;
  virtual GpuStream* main_stream() const noexcept = 0;
  /// For communication that runs beside the main stream.
  virtual GpuStream* side_stream() const noexcept = 0;
  /// For copies from the host that run beside the main stream.
  virtual GpuStream* upload_stream() const noexcept = 0;
  /// Allocates in the order of the main stream, or of the MemoryOrder in place.
  virtual std::unique_ptr<SourceAllocator> make_allocator() = 0;
  /// What the library whose memory it is has reserved of the GPU, in bytes.
  struct Reserved {
    std::size_t peak;  ///< since begin_peak()
    std::size_t most;  ///< that there can be
  };
  /// Nothing: the memory is tandem's.
  virtual std::optional<Reserved> reserved() const { return std::nullopt; }
  /// Gives unused memory back, so that reserved().peak is what comes next. May wait for the GPU.
  virtual void begin_peak() const {}

 private:
  Device name_;
  int ordinal_;
};

}  // namespace tandem
