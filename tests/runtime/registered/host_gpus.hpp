// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/allocator.hpp"

#include "runtime/gpu/gpu_backend.hpp"
#include "runtime/gpu/stream_times.hpp"

// A backend whose GPUs are the host's memory, and whose streams run inline: the smallest that does
// all that is asked of one.
namespace tandem::test {

class HostPoint final : public StreamPoint {
 public:
  using StreamPoint::StreamPoint;
  void wait(const char*) const override {}
  float since(const StreamPoint& earlier) const override {
    const auto& other = dynamic_cast<const HostPoint&>(earlier);
    return std::chrono::duration<float, std::milli>(at_ - other.at_).count();
  }

 private:
  std::chrono::steady_clock::time_point at_ = std::chrono::steady_clock::now();
};

class HostGpuStream final : public GpuStream {
 public:
  explicit HostGpuStream(int ordinal) : ordinal_(ordinal) {}
  void synchronize(const char*) const override {}
  void drain() const noexcept override {}
  void copy_to_host(std::span<const ToHost> copies, const char*) const override {
    ++waits;
    for (const ToHost& c : copies)
      std::memcpy(c.target, c.source, c.nbytes);
  }
  inline static int waits = 0;  // for copies to the host
  bool begin_copy_from_host(const void* source,
                            void* target,
                            std::size_t nbytes,
                            const char*) const override {
    std::memcpy(target, source, nbytes);
    return false;
  }
  std::shared_ptr<const StreamPoint> point() const override {
    return std::make_shared<const HostPoint>(ordinal_);
  }

 private:
  int ordinal_;
};

class HostGpuEvent final : public GpuEvent {
 public:
  void record(const Stream&) override {}
  bool is_done() const override { return true; }
  void wait(const char*) const override {}
  void wait(const Stream&) const override {}
};

class HostGpu final : public GpuDevice {
 public:
  HostGpu(Device name, int ordinal)
      : GpuDevice(name, ordinal),
        streams_{HostGpuStream(ordinal), HostGpuStream(ordinal), HostGpuStream(ordinal)} {}
  void activate() const override {}
  GpuStream* main_stream() const noexcept override { return &streams_[0]; }
  GpuStream* side_stream() const noexcept override { return &streams_[1]; }
  GpuStream* upload_stream() const noexcept override { return &streams_[2]; }
  std::unique_ptr<SourceAllocator> make_allocator() override {
    return std::make_unique<CachingAllocator>(std::make_unique<SystemAllocator>(to_string(name())));
  }

 private:
  mutable std::array<HostGpuStream, 3> streams_;
};

class HostGpus final : public GpuBackend {
 public:
  explicit HostGpus(int count) : count_(count) {}
  bool has_gpus() const noexcept override { return true; }
  int count() const noexcept override { return count_; }
  void check_gpu(Device name, int ordinal) const override {
    TANDEM_CHECK(ordinal < count_,
                 "device ",
                 name,
                 ": there is no GPU ",
                 ordinal,
                 "; this backend has ",
                 count_);
  }
  std::shared_ptr<GpuDevice> open(Device name, int ordinal) override {
    check_gpu(name, ordinal);
    return std::make_shared<HostGpu>(name, ordinal);
  }
  std::unique_ptr<GpuEvent> make_event() override { return std::make_unique<HostGpuEvent>(); }
  void begin_copy_between(
      const Stream&, const void* source, const Stream&, void* target, std::size_t nbytes) override {
    std::memcpy(target, source, nbytes);
  }
  void copy_between(
      const Stream&, const void* source, const Stream&, void* target, std::size_t nbytes) override {
    std::memcpy(target, source, nbytes);
  }
  /// Kernels reach the memory of their own GPU alone, so that collectives copy.
  bool peers(int ordinal, int other) override { return ordinal == other; }
  bool adopts_memory() const noexcept override { return true; }

 private:
  int count_;
};

}  // namespace tandem::test
