// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/logical_device.hpp"

#include <algorithm>
#include <map>

#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/context.hpp"

#include "runtime/gpu/gpu_backend.hpp"
#include "runtime/host_memory.hpp"

namespace tandem {
namespace {

std::shared_ptr<GpuDevice> open_gpu(Device device, int gpu) {
  return device.type == DeviceType::cuda ? gpu_backend().open(device, gpu) : nullptr;
}

}  // namespace

LogicalDevice::LogicalDevice(Device device, int gpu)
    : device_(device),
      gpu_(open_gpu(device, gpu)),
      stream_(*this),
      side_stream_(*this),
      upload_stream_(*this) {
  std::unique_ptr<SourceAllocator> source;
  if (gpu_ != nullptr) {
    stream_ = Stream(*this, gpu_->main_stream());
    side_stream_ = Stream(*this, gpu_->side_stream());
    upload_stream_ = Stream(*this, gpu_->upload_stream());
    source = gpu_->make_allocator();
  }
  if (source == nullptr) source = std::make_unique<HostMemory>(to_string(device));
  source_ = source.get();
  auto limit = std::make_unique<LimitAllocator>(std::move(source), to_string(device));
  limit_ = limit.get();
  auto statistics = std::make_unique<StatisticsAllocator>(std::move(limit));
  statistics_ = statistics.get();
  chain_ = std::move(statistics);
}

LogicalDevice::~LogicalDevice() {
  for (auto& states : libraries_)
    for (auto& state : states)
      delete state.load(std::memory_order_acquire);
}

Worker& LogicalDevice::worker() {
  const std::scoped_lock lock(worker_mutex_);
  if (worker_ == nullptr) worker_ = std::make_unique<Worker>(to_string(device_));
  return *worker_;
}

void LogicalDevice::configure(const DeviceSpec& spec) noexcept {
  set_limit(spec.limit.value_or(SIZE_MAX));
  source_->set_gives_data(spec.has_data);
}

MemoryStats LogicalDevice::memory_stats() const {
  MemoryStats stats = statistics_->stats();
  stats.system_allocations = source_->system_calls();
  stats.adopted = adopted_.load(std::memory_order_relaxed);
  return stats;
}

void LogicalDevice::set_wrapper(const Wrap& wrap) {
  wrapper_ = wrap ? wrap(*chain_) : nullptr;
}

std::unique_ptr<LibraryState> LogicalDevice::take_library(Library library) noexcept {
  for (auto& place : libraries_[static_cast<std::size_t>(library)]) {
    // acquire: sees what the thread that gave it back has written
    LibraryState* const state = place.exchange(nullptr, std::memory_order_acquire);
    if (state != nullptr) return std::unique_ptr<LibraryState>(state);
  }
  return nullptr;
}

void LogicalDevice::give_library(Library library, std::unique_ptr<LibraryState> state) noexcept {
  for (auto& place : libraries_[static_cast<std::size_t>(library)]) {
    LibraryState* none = nullptr;
    if (!place.compare_exchange_strong(none, state.get(), std::memory_order_release)) continue;
    static_cast<void>(state.release());  // it is kept
    return;
  }
}

void* LogicalDevice::allocate(std::size_t nbytes, Category category) {
  try {
    return (wrapper_ != nullptr ? wrapper_ : chain_)->allocate(nbytes, category);
  } catch (const OutOfMemory& e) {
    throw OutOfMemory(e.device(), e.asked(), memory_stats().in_use, e.limit(), largest_owners());
  }
}

void LogicalDevice::deallocate(void* p, std::size_t nbytes, Category category) noexcept {
  (wrapper_ != nullptr ? wrapper_ : chain_)->deallocate(p, nbytes, category);
}

void LogicalDevice::add(Buffer& buffer) {
  const std::scoped_lock lock(live_mutex_);
  buffer.previous_ = nullptr;  // it may have been here before
  buffer.next_ = live_;
  if (live_ != nullptr) live_->previous_ = &buffer;
  live_ = &buffer;
}

void LogicalDevice::remove(Buffer& buffer) noexcept {
  const std::scoped_lock lock(live_mutex_);
  (buffer.previous_ != nullptr ? buffer.previous_->next_ : live_) = buffer.next_;
  if (buffer.next_ != nullptr) buffer.next_->previous_ = buffer.previous_;
}

std::vector<Holding> LogicalDevice::holdings() const {
  std::vector<Holding> list;
  const std::scoped_lock lock(live_mutex_);
  for (const Buffer* b = live_; b != nullptr; b = b->next_)
    list.push_back(
        {b->data_, b->nbytes_, b->category(), b->owner_ == nullptr ? "" : *b->owner_, b->shares_});
  return list;
}

std::vector<OutOfMemory::Owner> LogicalDevice::largest_owners() const {
  constexpr std::size_t kNamedOwners = 3;
  std::map<std::string, std::size_t> sums;
  const auto add = [&](Category category, const ModuleShare& share) {
    std::string key = name(category);
    if (!share.module_path.empty()) key += " of " + share.module_path;
    sums[key] += share.nbytes;
  };
  for (const Holding& h : holdings()) {
    if (h.shares == nullptr) {
      add(h.category, {h.module_path, h.nbytes});
      continue;
    }
    for (const ModuleShare& share : *h.shares)
      add(h.category, share);
  }
  std::vector<OutOfMemory::Owner> owners;
  for (const auto& [key, nbytes] : sums)
    owners.push_back({key, nbytes});
  std::ranges::stable_sort(owners, std::ranges::greater{}, &OutOfMemory::Owner::nbytes);
  if (owners.size() > kNamedOwners) owners.resize(kNamedOwners);
  return owners;
}

}  // namespace tandem
