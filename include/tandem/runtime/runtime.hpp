// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "tandem/runtime/device.hpp"
#include "tandem/runtime/generator.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/observer.hpp"

namespace tandem {

/// Cores that host devices share: TANDEM_THREADS where set, else what the process may use by its
/// affinity and the quotas of its control groups (docker --cpus), rounded up.
int core_count() noexcept;

/// The devices of this process and its observers.
///
/// Thread-safe but where said. There is one, made on first use; it knows nothing of ranks.
class Runtime {
 public:
  static Runtime& instance();

  /// The device, made on first use.
  ///
  /// @throws InvalidArgument  index outside [0, kMaxDevices), or no such GPU.
  LogicalDevice& device(Device device);
  /// The devices of a type that have been made so far.
  std::vector<LogicalDevice*> made(DeviceType type) const;
  /// The default device list: TANDEM_DEVICES where set, else all GPUs, else one cpu device per
  /// core.
  std::vector<Device> devices() const;
  /// Sets the default device list and the limits of its devices; other devices stay as they are.
  ///
  /// @throws InvalidArgument  a device is listed twice, is not there, or is in use on another GPU;
  /// nothing has changed then.
  void configure(const std::vector<DeviceSpec>& devices);
  /// Devices of a type that can be used: kMaxDevices of the host; GPUs, or the logical devices that
  /// the default list makes of them.
  int count(DeviceType type) const;

  /// To be held while jobs that wait for each other are given to several devices' workers. All of
  /// them enter the queues together then, so that two such groups of jobs never wait crosswise.
  [[nodiscard]] std::unique_lock<std::mutex> hold_queues() { return std::unique_lock(queues_); }

  /// See get_default_device.
  Device default_device() const noexcept { return default_.load(std::memory_order_relaxed); }
  void set_default_device(Device device) noexcept {
    default_.store(device, std::memory_order_relaxed);
  }

  /// See get_float32_matmul_precision.
  std::atomic<MatmulPrecision>& matmul_precision() noexcept { return matmul_precision_; }

  using Observers = std::vector<Observer*>;
  /// Null where there is none: one branch on the hot path.
  const Observers* observers() const noexcept { return observers_.load(std::memory_order_acquire); }
  void subscribe(Observer& observer);
  void unsubscribe(Observer& observer) noexcept;

  /// Order in which autograd nodes are made.
  std::uint64_t next_sequence() noexcept {
    return sequence_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  Runtime();

  /// Notes the GPUs of a list's devices. @return  those before, to go back to.
  std::array<int, kMaxDevices> place(const std::vector<DeviceSpec>& devices);

  std::array<std::atomic<LogicalDevice*>, kMaxDevices> cpu_{};
  std::array<std::atomic<LogicalDevice*>, kMaxDevices> cuda_{};
  std::mutex queues_;         // of the workers, for groups of jobs
  mutable std::mutex mutex_;  // guards owned_, gpus_, defaults_, lists_
  std::vector<std::unique_ptr<LogicalDevice>> owned_;
  std::array<int, kMaxDevices> gpus_;  // by CUDA device: its GPU
  std::vector<Device> defaults_;
  std::vector<std::unique_ptr<Observers>> lists_;  // old lists stay: a reader may hold one
  std::atomic<const Observers*> observers_{nullptr};
  std::atomic<Device> default_{};
  std::atomic<MatmulPrecision> matmul_precision_{MatmulPrecision::highest};
  std::atomic<std::uint64_t> sequence_{0};
};

/// The logical device behind a name.
inline LogicalDevice& logical_device(Device device) {
  return Runtime::instance().device(device);
}
/// The default device list.
inline std::vector<Device> default_devices() {
  return Runtime::instance().devices();
}
/// Devices of a type that can be used, see Runtime::count.
inline int device_count(DeviceType type) {
  return Runtime::instance().count(type);
}
/// Sets the default device list: "cpu:4@512MiB". See parse_devices for the grammar.
///
/// @return the devices. @throws InvalidArgument
std::vector<Device> configure_devices(std::string_view list);

}  // namespace tandem
