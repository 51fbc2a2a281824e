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

/// The number of cores that host devices share: TANDEM_THREADS if set, else the number that the
/// process may use by its affinity and its control groups' quotas (docker --cpus), rounded up.
int core_count() noexcept;

/// The devices and the observers of this process.
///
/// Thread-safe except where stated. There is one instance, made on first use. It knows nothing of
/// ranks.
class Runtime {
 public:
  static Runtime& instance();

  /// The device, made on first use.
  ///
  /// @throws InvalidArgument  the index is outside [0, kMaxDevices), or there is no such GPU.
  LogicalDevice& device(Device device);
  /// The devices of one type that have been made so far.
  std::vector<LogicalDevice*> made(DeviceType type) const;
  /// The default device list: the one last configured, else TANDEM_DEVICES if set, else all GPUs,
  /// else one cpu device per core.
  std::vector<Device> devices() const;
  /// Sets the default device list, and the limits of its devices and whether new memory of theirs
  /// has data (see LogicalDevice::configure). Other devices stay as they are.
  ///
  /// @throws InvalidArgument  the list is empty, or a device is listed twice, does not exist, or is
  ///                          in use on another GPU; or some of them are shape-only and others are
  ///                          not, or are GPUs. List, limits and devices then stay unchanged.
  void configure(const std::vector<DeviceSpec>& devices);
  /// Makes these devices of the host stand for GPUs, and no others; `configure` leaves none.
  ///
  /// What is recorded of such a device is what a GPU would do: ops go the way that they go on a
  /// GPU, and workspace of the host's kernels does not count, since it depends on the host's
  /// processor, threads and libraries. Kernels that compute take it from cpu:0. See
  /// sim::configure_cluster.
  void stand_for_gpus(const std::vector<Device>& devices);
  bool stands_for_gpu(Device device) const noexcept {
    return device.type == DeviceType::cpu &&
           stands_for_gpu_[static_cast<std::size_t>(device.index)].load(std::memory_order_relaxed);
  }
  /// The number of devices of a type that can be used. For the host it is kMaxDevices. For CUDA it
  /// is the number of GPUs, or of CUDA devices in the default list if that is larger.
  int count(DeviceType type) const;

  /// Locks the workers' queues. Hold the lock while giving several devices' workers jobs that wait
  /// for each other. The jobs then enter the queues together, so that two such groups of jobs never
  /// wait for each other in a circle.
  [[nodiscard]] std::unique_lock<std::mutex> hold_queues() { return std::unique_lock(queues_); }

  /// See get_default_device.
  Device default_device() const noexcept { return default_.load(std::memory_order_relaxed); }
  void set_default_device(Device device) noexcept {
    default_.store(device, std::memory_order_relaxed);
  }

  /// See get_float32_matmul_precision.
  std::atomic<MatmulPrecision>& matmul_precision() noexcept { return matmul_precision_; }

  using Observers = std::vector<Observer*>;
  /// Null if there are no observers, so that the hot path costs one branch.
  const Observers* observers() const noexcept { return observers_.load(std::memory_order_acquire); }
  void subscribe(Observer& observer);
  void unsubscribe(Observer& observer) noexcept;

  /// The next number in the order in which autograd nodes are made.
  std::uint64_t next_sequence() noexcept {
    return sequence_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  Runtime();

  /// Notes which GPUs the devices of a list are on.
  ///
  /// @return  the GPUs noted before, to restore them.
  std::array<int, kMaxDevices> assign_gpus(const std::vector<DeviceSpec>& devices);

  std::array<std::atomic<LogicalDevice*>, kMaxDevices> cpu_{};
  std::array<std::atomic<LogicalDevice*>, kMaxDevices> cuda_{};
  std::array<std::atomic<bool>, kMaxDevices> stands_for_gpu_{};  // by index on the host
  std::mutex queues_;                                            // see hold_queues
  mutable std::mutex mutex_;  // guards owned_, gpus_, defaults_, lists_
  std::vector<std::unique_ptr<LogicalDevice>> owned_;
  std::array<int, kMaxDevices> gpus_;  // the GPU of each CUDA device
  std::vector<Device> defaults_;
  std::vector<std::unique_ptr<Observers>> lists_;  // old lists are kept: a reader may use one
  std::atomic<const Observers*> observers_{nullptr};
  std::atomic<Device> default_{};
  std::atomic<MatmulPrecision> matmul_precision_{MatmulPrecision::highest};
  std::atomic<std::uint64_t> sequence_{0};
};

/// The logical device of that name, made on first use.
inline LogicalDevice& logical_device(Device device) {
  return Runtime::instance().device(device);
}
/// Whether ops on the device go the way that they go on a GPU: it is one, or stands for one.
inline bool acts_as_gpu(Device device) noexcept {
  return device.type == DeviceType::cuda || Runtime::instance().stands_for_gpu(device);
}
/// The default device list.
inline std::vector<Device> default_devices() {
  return Runtime::instance().devices();
}
/// The number of devices of a type that can be used; see Runtime::count.
inline int device_count(DeviceType type) {
  return Runtime::instance().count(type);
}
/// Sets the default device list from a text such as "cpu:4@512MiB"; see parse_devices.
///
/// @return  the devices of the list.
/// @throws InvalidArgument  see parse_devices and Runtime::configure.
std::vector<Device> configure_devices(std::string_view list);

}  // namespace tandem
