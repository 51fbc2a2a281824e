// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/profile/memory_profile.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <tuple>

#include "tandem/runtime/runtime.hpp"
#include "tandem/runtime/stream.hpp"

namespace tandem::profile {

double MemoryProfile::imbalance() const {
  if (devices.size() < 2) return 1;
  double others = 0;
  for (std::size_t d = 1; d < devices.size(); ++d)
    others += static_cast<double>(devices[d].peak);
  if (others == 0) return 1;
  return static_cast<double>(devices[0].peak) * static_cast<double>(devices.size() - 1) / others;
}

CategoryBytes by_category(std::span<const Held> held) {
  CategoryBytes sums{};
  for (const Held& h : held)
    sums[static_cast<std::size_t>(h.category)] += h.nbytes;
  return sums;
}

CategoryBytes peak_of_each_category(const DeviceMemory& memory) {
  CategoryBytes most{};
  for (const MemoryMoment& moment : memory.timeline)
    for (std::size_t c = 0; c < most.size(); ++c)
      most[c] = std::max(most[c], moment.by_category[c]);
  return most;
}

// Plays the changes of one device back.
class MemoryRecorder::Book {
 public:
  explicit Book(const std::vector<Shares>& shares) : shares_(&shares) {}

  void add(const Change& change) {
    if (change.kind == MemoryEvent::Kind::free)
      remove(change);
    else if (change.kind == MemoryEvent::Kind::recategorise)
      recategorise(change);
    else
      hold(change);
  }
  MemoryMoment moment(Duration at, Phase phase, std::size_t works) const {
    return {at, phase, in_use_, by_category_, works};
  }
  std::size_t in_use() const noexcept { return in_use_; }
  /// What is held, the largest first.
  std::vector<Held> held(const std::vector<std::string>& paths) const {
    std::map<std::tuple<Category, Phase, int>, std::size_t> sums;
    for (const auto& [data, block] : blocks_) {
      if (block.shares < 0) {
        sums[{block.category, block.phase, block.path}] += block.nbytes;
        continue;
      }
      for (const auto& [path, nbytes] : (*shares_)[static_cast<std::size_t>(block.shares)])
        sums[{block.category, block.phase, path}] += nbytes;
    }
    std::vector<Held> held;
    for (const auto& [reason, nbytes] : sums) {
      const auto& [category, phase, path] = reason;
      held.push_back({category, phase, paths[static_cast<std::size_t>(path)], nbytes});
    }
    std::ranges::stable_sort(held, std::ranges::greater{}, &Held::nbytes);
    return held;
  }

 private:
  void hold(const Change& c) {
    blocks_[c.data] = c;
    in_use_ += c.nbytes;
    by_category_[static_cast<std::size_t>(c.category)] += c.nbytes;
  }
  void remove(const Change& c) {
    const auto block = blocks_.find(c.data);
    if (block == blocks_.end()) return;  // of a record that is not complete
    in_use_ -= c.nbytes;
    by_category_[static_cast<std::size_t>(block->second.category)] -= c.nbytes;
    blocks_.erase(block);
  }
  void recategorise(const Change& c) {
    const auto block = blocks_.find(c.data);
    if (block == blocks_.end()) return;
    by_category_[static_cast<std::size_t>(block->second.category)] -= c.nbytes;
    block->second.category = c.category;
    by_category_[static_cast<std::size_t>(c.category)] += c.nbytes;
  }

  const std::vector<Shares>* shares_;
  std::unordered_map<const void*, Change> blocks_;  // what allocated each, in its category of now
  std::size_t in_use_ = 0;
  CategoryBytes by_category_{};
};

MemoryRecorder::MemoryRecorder(std::span<const Device> devices)
    : devices_(devices.begin(), devices.end()) {
  changes_.reserve(4096);
  begin();
}

void MemoryRecorder::begin() {
  start_ = Clock::now();
  held_before_.assign(devices_.size(), {});
  works_.assign(devices_.size(), 0);
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    for (const Holding& h : logical_device(devices_[d]).holdings()) {
      held_before_[d].push_back({MemoryEvent::Kind::allocate,
                                 h.category,
                                 Phase::none,
                                 static_cast<int>(d),
                                 path(h.module_path),
                                 shares_of(h.shares),
                                 h.nbytes,
                                 h.data,
                                 Duration{},
                                 0});
    }
  }
}

std::optional<std::size_t> MemoryRecorder::index_of(Device device) const noexcept {
  const auto found = std::ranges::find(devices_, device);
  if (found == devices_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - devices_.begin());
}

int MemoryRecorder::path(const std::string& module_path) {
  return paths_.try_emplace(module_path, static_cast<int>(paths_.size())).first->second;
}

/// -1: all the module's that allocated them.
int MemoryRecorder::shares_of(const std::shared_ptr<const ModuleShares>& shares) {
  if (shares == nullptr) return -1;
  if (const auto known = known_shares_.find(shares); known != known_shares_.end())
    return known->second;
  Shares own;
  for (const ModuleShare& share : *shares)
    own.emplace_back(path(share.module_path), share.nbytes);
  shares_.push_back(std::move(own));
  const int number = static_cast<int>(shares_.size()) - 1;
  known_shares_.emplace(shares, number);  // if that fails, it is kept once more
  return number;
}

void MemoryRecorder::on_memory(const MemoryEvent& event) noexcept {
  const auto device = index_of(event.device);
  if (!device) return;
  const std::scoped_lock lock(mutex_);
  try {
    changes_.push_back({event.kind,
                        event.category,
                        event.phase,
                        static_cast<int>(*device),
                        path(event.module_path),
                        shares_of(event.shares),
                        event.nbytes,
                        event.data,
                        Clock::now() - start_,
                        works_[*device]});
  } catch (const std::bad_alloc&) {
    complete_ = false;
  }
}

void MemoryRecorder::on_work_begin(const Work& /*work*/, const Stream& stream) noexcept {
  const auto device = index_of(stream.device());
  if (!device) return;
  const std::scoped_lock lock(mutex_);
  ++works_[*device];
}

// Twice: to the end, and then to the peak, whose place is known by then.
DeviceMemory MemoryRecorder::play_back(std::size_t device,
                                       const std::vector<std::string>& paths) const {
  DeviceMemory result{.device = devices_[device]};
  Book beginning(shares_);
  for (const Change& c : held_before_[device])
    beginning.add(c);
  result.timeline.push_back(beginning.moment(Duration{}, Phase::none, 0));
  result.peak = beginning.in_use();
  Book end = beginning;
  const Change* last = nullptr;  // of those up to the peak
  for (const Change& c : changes_) {
    if (c.device != static_cast<int>(device)) continue;
    end.add(c);
    result.timeline.push_back(end.moment(c.at, c.phase, c.works));
    if (end.in_use() <= result.peak) continue;
    last = &c;
    result.peak = end.in_use();
    result.peak_at = c.at;
    result.peak_phase = c.phase;
  }
  result.in_use = end.in_use();
  result.now = end.held(paths);
  for (const Change* c = changes_.data(); last != nullptr && c <= last; ++c)
    if (c->device == static_cast<int>(device)) beginning.add(*c);
  result.at_peak = beginning.held(paths);
  return result;
}

MemoryProfile MemoryRecorder::take() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> paths(paths_.size());
  for (const auto& [path, number] : paths_)
    paths[static_cast<std::size_t>(number)] = path;
  MemoryProfile profile;
  for (std::size_t d = 0; d < devices_.size(); ++d)
    profile.devices.push_back(play_back(d, paths));
  profile.duration = Clock::now() - start_;
  profile.complete = std::exchange(complete_, true);
  changes_.clear();
  begin();
  return profile;
}

}  // namespace tandem::profile
