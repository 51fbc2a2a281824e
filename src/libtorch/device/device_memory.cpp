// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/device/device_memory.hpp"

#include <array>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <c10/util/Exception.h>

#include "tandem/core/error.hpp"
#include "tandem/libtorch/detail/torch_device.hpp"
#include "tandem/runtime/context.hpp"

#include "libtorch/device/backward_context.hpp"
#include "libtorch/device/pass_to_torch.hpp"
#include "libtorch/gpu/torch_out_of_memory.hpp"

namespace tandem::libtorch {
namespace {

constexpr int kNone = -1;
thread_local int host_memory_of = kNone;

/// The blocks of all virtual devices by address: PyTorch frees some by their address alone.
///
/// Thread-safe. Cut into shards, so that devices' threads do not wait for each other.
class Blocks {
 public:
  void add(std::unique_ptr<Buffer> buffer) {
    Shard& shard = shard_of(buffer->data());
    const std::scoped_lock lock(shard.mutex);
    void* const data = buffer->data();
    shard.buffers.emplace(data, std::move(buffer));
  }
  Buffer* find(const void* data) {
    Shard& shard = shard_of(data);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.buffers.find(data);
    return found == shard.buffers.end() ? nullptr : found->second.get();
  }
  /// Frees a block. @return  false, with nothing done, if it is none of these.
  bool free(const void* data) {
    std::unique_ptr<Buffer> buffer;  // ends without the lock
    Shard& shard = shard_of(data);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.buffers.find(data);
    if (found == shard.buffers.end()) return false;
    buffer = std::move(found->second);
    shard.buffers.erase(found);
    return true;
  }

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_map<const void*, std::unique_ptr<Buffer>> buffers;
  };
  Shard& shard_of(const void* data) {
    return shards_[(reinterpret_cast<std::uintptr_t>(data) / Allocator::kAlignment) %
                   shards_.size()];
  }

  std::array<Shard, 64> shards_;
};

/// Lives until the process ends: tensors may outlive other static objects.
Blocks& blocks() {
  static Blocks& all = *new Blocks;
  return all;
}

/// What devices have refused. PyTorch passes on the text alone.
///
/// Thread-safe.
class Refusals {
 public:
  static Refusals& get() {
    static Refusals& one = *new Refusals;
    return one;
  }
  /// @param error  that is being handled.
  void note(Device device, const OutOfMemory& error) {
    const std::scoped_lock lock(mutex_);
    last_.insert_or_assign(device, Refusal{std::current_exception(), error.what()});
  }
  /// Throws the device's last one, if `said` is its text with others around it.
  void rethrow(Device device, const std::string& said) {
    const std::scoped_lock lock(mutex_);
    const auto found = last_.find(device);
    if (found != last_.end() && said.find(found->second.text) != std::string::npos)
      std::rethrow_exception(found->second.error);
  }

 private:
  struct Refusal {
    std::exception_ptr error;
    std::string text;
  };
  std::mutex mutex_;  // guards last_
  std::map<Device, Refusal> last_;
};

void* take(int device, std::size_t nbytes) {
  try {
    auto buffer =
        std::make_unique<Buffer>(Device{DeviceType::cpu, device}, nbytes, context().category);
    TORCH_CHECK(buffer->has_data(),
                "PyTorch's kernels compute, but cpu:",
                device,
                " is shape-only and has no data; list the devices without @shape-only");
    void* const data = buffer->data();
    blocks().add(std::move(buffer));
    return data;
  } catch (const OutOfMemory& e) {
    pass_to_torch(Device{DeviceType::cpu, device}, e);
  }
}

void free_of_device(void* data) {
  if (data != nullptr) blocks().free(data);
}

class DeviceAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t nbytes) override {
    const c10::Device device(c10::DeviceType::PrivateUse1,
                             static_cast<c10::DeviceIndex>(current_device()));
    if (nbytes == 0) return {nullptr, device};
    const BackwardScope scope;
    void* const data = take(current_device(), nbytes);
    return {data, data, &free_of_device, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_of_device; }
  void copy_data(void* to, const void* from, std::size_t nbytes) const override {
    default_copy_data(to, from, nbytes);
  }
};

/// PyTorch's own allocator for the host.
c10::Allocator* original = nullptr;

void free_of_host(void* data) {
  if (data != nullptr && !blocks().free(data)) original->raw_deleter()(data);
}

class HostAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t nbytes) override {
    void* data = nullptr;
    if (nbytes > 0)
      data =
          host_memory_of == kNone ? original->raw_allocate(nbytes) : take(host_memory_of, nbytes);
    return {data, data, &free_of_host, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_of_host; }
  void copy_data(void* to, const void* from, std::size_t nbytes) const override {
    default_copy_data(to, from, nbytes);
  }
};

}  // namespace

int& current_device() noexcept {
  thread_local int index = 0;
  return index;
}

c10::Allocator& device_allocator() {
  static DeviceAllocator& allocator = *new DeviceAllocator;
  return allocator;
}

HostMemoryOf::HostMemoryOf(int device) noexcept : before_(host_memory_of) {
  host_memory_of = device;
}

HostMemoryOf::~HostMemoryOf() {
  host_memory_of = before_;
}

c10::Allocator& host_allocator() {
  static HostAllocator& allocator = *new HostAllocator;
  return allocator;
}

void take_host_allocator() {
  original = c10::GetAllocator(c10::DeviceType::CPU);
  c10::SetAllocator(c10::DeviceType::CPU, &host_allocator(), 1);
}

void pass_to_torch(Device device, const OutOfMemory& error) {
  Refusals::get().note(device, error);
  TORCH_CHECK_WITH(OutOfMemoryError, false, error.what());
}

void throw_out_of_memory(Device device, const c10::Error& said) {
  Refusals::get().rethrow(device, said.what_without_backtrace());
  if (device.type == DeviceType::cuda)
    throw TorchOutOfMemory(to_string(device), torch_device(device).index(), said);
  throw OutOfMemory(to_string(device), 0, 0, SIZE_MAX, {});
}

Buffer* buffer_at(const void* block) {
  return blocks().find(block);
}

}  // namespace tandem::libtorch
