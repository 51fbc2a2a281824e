// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/buffer.hpp"

#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/gpu/gpu_backend.hpp"
#include "runtime/part_versions.hpp"

namespace tandem {
namespace {

/// The host's, or a GPU's of a backend that allows it.
LogicalDevice& adopting_device(Device device) {
  TANDEM_CHECK(device.type == DeviceType::cpu || gpu_backend().adopts_memory(),
               "adopt: memory of another owner must be the host's, but the buffer is to be on ",
               device,
               "; adopt it on cpu:0 and copy it with .to(device)");
  return logical_device(device);
}

}  // namespace

Buffer::Buffer(Device device,
               std::size_t nbytes,
               Category category,
               std::shared_ptr<const ModuleShares> shares)
    : Buffer(device, nbytes, category, std::move(shares), nullptr) {
  if (nbytes_ > 0) take_memory();
}

Buffer::Buffer(Device device,
               std::size_t nbytes,
               Category category,
               std::shared_ptr<const ModuleShares> shares,
               std::shared_ptr<const std::string> unit)
    : device_(&tandem::logical_device(device)),
      nbytes_(nbytes),
      has_data_(nbytes == 0 || device_->has_data()),
      category_(category),
      dropped_(*this, std::move(unit)),
      owner_(context().module_path),
      shares_(std::move(shares)) {}

Buffer::Buffer(Device device, AdoptedMemory memory, Category category)
    : device_(&adopting_device(device)),
      data_(memory.nbytes > 0 ? memory.data : nullptr),
      nbytes_(memory.nbytes),
      category_(category),
      lending_(std::move(memory)),
      dropped_(*this, nullptr),
      owner_(context().module_path) {
  device_->adopted_.fetch_add(nbytes_, std::memory_order_relaxed);
}

Buffer::~Buffer() {
  transits_.clear();
  if (lending_.is_adopted())
    device_->adopted_.fetch_sub(nbytes_, std::memory_order_relaxed);
  else if (data_ != nullptr)
    give_memory_back();
}

void Buffer::take_memory() {
  data_ = device_->allocate(nbytes_, category());
  has_data_.store(device_->source_->holds_data(data_), std::memory_order_relaxed);
  device_->add(*this);
  notify(static_cast<int>(MemoryEvent::Kind::allocate), category());
}

void Buffer::give_memory_back() noexcept {
  notify(static_cast<int>(MemoryEvent::Kind::free), category());
  device_->remove(*this);
  device_->deallocate(data_, nbytes_, category());
  data_ = nullptr;
}

void Buffer::take_memory_of(Buffer& other) noexcept {
  device_->remove(other);
  data_ = std::exchange(other.data_, nullptr);
  has_data_.store(other.has_data(), std::memory_order_relaxed);
  device_->add(*this);
}

std::string Buffer::owners() const {
  std::string owners;
  for (const ModuleShare& share : shares_ == nullptr ? ModuleShares{} : *shares_)
    owners += (owners.empty() ? "" : ", ") + share.module_path;
  return owners.empty() && owner_ != nullptr ? *owner_ : owners;
}

void Buffer::refuse_write(const char* op) const {
  throw InvalidArgument(detail::concat(op,
                                       ": the ",
                                       nbytes_,
                                       " bytes on ",
                                       device(),
                                       " that it writes to are lent by another library for "
                                       "reading only; write to a clone() of the tensor"));
}

void Buffer::refuse_read(const char* op) const {
  throw NoData(detail::concat(op,
                              ": there is no data on ",
                              device(),
                              ", which is shape-only: it accounts for memory and computes nothing; "
                              "leave this call out, or list the devices without @shape-only"));
}

void Buffer::bump_version(std::size_t begin, std::size_t end) noexcept {
  version_.fetch_add(1, std::memory_order_relaxed);
  if (parts_ != nullptr) parts_->bump(begin, end);
}

void Buffer::count_parts(std::vector<std::size_t> ends) {
  parts_ = std::make_unique<PartVersions>(std::move(ends));
}

std::uint64_t Buffer::version(std::size_t begin, std::size_t end) const noexcept {
  return parts_ == nullptr ? version() : parts_->version(begin, end);
}

void Buffer::set_version(std::size_t begin, std::uint64_t version) noexcept {
  if (parts_ != nullptr)
    parts_->set(begin, version);
  else
    version_.store(version, std::memory_order_relaxed);
}

std::vector<std::uint64_t> Buffer::part_versions() const {
  return parts_ == nullptr ? std::vector{version()} : parts_->all();
}

void Buffer::set_part_versions(const std::vector<std::uint64_t>& versions) noexcept {
  if (parts_ != nullptr) parts_->set_all(versions);
}

std::optional<IntegerBounds> Buffer::integers() const noexcept {
  if (!integers_ || integers_->version != version()) return std::nullopt;
  if (lending_.was_shared()) return std::nullopt;
  return integers_->bounds;
}

void Buffer::recategorise(Category category) noexcept {
  const Category before = category_.exchange(category, std::memory_order_relaxed);
  if (category == before || data_ == nullptr || lending_.is_adopted()) return;
  device_->statistics_->recategorise(nbytes_, before, category);
  notify(static_cast<int>(MemoryEvent::Kind::recategorise), before);
}

void Buffer::notify(int kind, Category before) const noexcept {
  const auto* observers = Runtime::instance().observers();
  if (observers == nullptr) [[likely]]
    return;
  static const std::string kNoOwner;
  const MemoryEvent event{static_cast<MemoryEvent::Kind>(kind),
                          device(),
                          nbytes_,
                          category(),
                          before,
                          context().phase,
                          owner_ == nullptr ? kNoOwner : *owner_,
                          shares_,
                          data_};
  for (Observer* o : *observers)
    o->on_memory(event);
}

}  // namespace tandem
