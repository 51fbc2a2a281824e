// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/buffer.hpp"

#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/part_versions.hpp"

namespace tandem {
namespace {

LogicalDevice& host_device(Device device) {
  TANDEM_CHECK(device.type == DeviceType::cpu,
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
      owner_(context().module_path),
      shares_(std::move(shares)),
      unit_(std::move(unit)) {}

Buffer::Buffer(Device device, AdoptedMemory memory, Category category)
    : device_(&host_device(device)),
      data_(memory.nbytes > 0 ? memory.data : nullptr),
      nbytes_(memory.nbytes),
      is_adopted_(true),
      is_read_only_(memory.is_read_only),
      was_shared_(true),
      category_(category),
      owner_(context().module_path),
      give_back_(std::move(memory.give_back)) {
  device_->adopted_.fetch_add(nbytes_, std::memory_order_relaxed);
}

Buffer::~Buffer() {
  transits_.clear();
  if (is_adopted_) {
    device_->adopted_.fetch_sub(nbytes_, std::memory_order_relaxed);
    if (give_back_) give_back_();
  } else if (data_ != nullptr) {
    give_memory_back();
  }
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

void Buffer::drop(std::shared_ptr<const std::string> unit) {
  if (is_dropped()) refuse("drop");
  TANDEM_CHECK(!is_adopted_ && !is_lent(),
               "drop: ",
               nbytes_,
               " bytes of ",
               category(),
               " on ",
               device(),
               is_adopted_ ? " belong to another library; drop memory of tandem's own"
                           : " are lent to another library; end its tensors first");
  transits_.await(0, nbytes_, Direction::write);
  unit_ = std::move(unit);
  if (nbytes_ > 0) give_memory_back();
}

void Buffer::wake() {
  if (is_dropped()) take_memory();
}

void Buffer::wake(Buffer& other) {
  TANDEM_ASSERT(is_dropped() && !other.is_dropped() && !other.is_adopted_ &&
                    other.device_ == device_ && other.nbytes_ == nbytes_ &&
                    other.category() == category(),
                "a buffer can take the memory of one that is like it");
  device_->remove(other);
  data_ = std::exchange(other.data_, nullptr);
  has_data_.store(other.has_data(), std::memory_order_relaxed);
  device_->add(*this);
}

// Whoever looks sees the same bytes as before the buffer was dropped.
void Buffer::provide(const char* op, std::span<const Buffer* const> used) const {
  const std::shared_ptr<BufferSource> source = source_;
  if (source == nullptr) refuse(op);
  source->provide(const_cast<Buffer&>(*this), used);
}

void Buffer::refuse(const char* op) const {
  std::string owners;
  for (const ModuleShare& share : shares_ == nullptr ? ModuleShares{} : *shares_)
    owners += (owners.empty() ? "" : ", ") + share.module_path;
  if (owners.empty() && owner_ != nullptr) owners = *owner_;
  throw InvalidArgument(detail::concat(op,
                                       ": the memory of ",
                                       name(category()),
                                       " of '",
                                       owners,
                                       "' on ",
                                       device(),
                                       " has been given back with unit '",
                                       *unit_,
                                       "'; use it where the unit has been gathered"));
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

void Buffer::lend() noexcept {
  was_shared_.store(true, std::memory_order_relaxed);
  loans_.fetch_add(1, std::memory_order_relaxed);
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
  if (was_shared_.load(std::memory_order_relaxed)) return std::nullopt;
  return integers_->bounds;
}

void Buffer::recategorise(Category category) noexcept {
  const Category before = category_.exchange(category, std::memory_order_relaxed);
  if (category == before || data_ == nullptr || is_adopted_) return;
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
