// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/profile/memory_profile.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <tuple>

#include "tandem/runtime/runtime.hpp"

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

// Plays the changes of one device back.
class MemoryRecorder::Book {
 public:
  void add(const Change& change) {
    if (change.kind == MemoryEvent::Kind::free)
      remove(change);
    else if (change.kind == MemoryEvent::Kind::recategorise)
      recategorise(change);
    else
      hold(change);
  }
  MemoryMoment moment(Since at, Phase phase) const { return {at, phase, in_use_, by_category_}; }
  std::size_t in_use() const noexcept { return in_use_; }
  /// What is held, the largest first.
  std::vector<Held> held(const std::vector<std::string>& paths) const {
    std::vector<Held> held;
    for (const auto& [reason, nbytes] : sums_) {
      const auto& [category, phase, path] = reason;
      if (nbytes > 0)
        held.push_back({category, phase, paths[static_cast<std::size_t>(path)], nbytes});
    }
    std::ranges::stable_sort(held, std::ranges::greater{}, &Held::nbytes);
    return held;
  }

 private:
  /// Category, phase, path.
  using Reason = std::tuple<Category, Phase, int>;
  using Sums = std::map<Reason, std::size_t>;

  void hold(const Change& c) {
    const Reason reason{c.category, c.phase, c.path};
    blocks_[c.data] = reason;
    sums_[reason] += c.nbytes;
    in_use_ += c.nbytes;
    by_category_[static_cast<std::size_t>(c.category)] += c.nbytes;
  }
  void remove(const Change& c) {
    const auto block = blocks_.find(c.data);
    if (block == blocks_.end()) return;  // of a record that is not complete
    sums_[block->second] -= c.nbytes;
    in_use_ -= c.nbytes;
    by_category_[static_cast<std::size_t>(std::get<Category>(block->second))] -= c.nbytes;
    blocks_.erase(block);
  }
  void recategorise(const Change& c) {
    const auto block = blocks_.find(c.data);
    if (block == blocks_.end()) return;
    Reason& reason = block->second;
    sums_[reason] -= c.nbytes;
    by_category_[static_cast<std::size_t>(std::get<Category>(reason))] -= c.nbytes;
    std::get<Category>(reason) = c.category;
    sums_[reason] += c.nbytes;
    by_category_[static_cast<std::size_t>(c.category)] += c.nbytes;
  }

  std::unordered_map<const void*, Reason> blocks_;
  Sums sums_;
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
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    for (const Holding& h : logical_device(devices_[d]).holdings()) {
      held_before_[d].push_back({MemoryEvent::Kind::allocate,
                                 h.category,
                                 Phase::none,
                                 static_cast<int>(d),
                                 path(h.module_path),
                                 h.nbytes,
                                 h.data,
                                 Since{}});
    }
  }
}

int MemoryRecorder::path(const std::string& module_path) {
  return paths_.try_emplace(module_path, static_cast<int>(paths_.size())).first->second;
}

void MemoryRecorder::on_memory(const MemoryEvent& event) noexcept {
  const auto device = std::ranges::find(devices_, event.device);
  if (device == devices_.end()) return;
  const std::scoped_lock lock(mutex_);
  try {
    changes_.push_back({event.kind,
                        event.category,
                        event.phase,
                        static_cast<int>(device - devices_.begin()),
                        path(event.module_path),
                        event.nbytes,
                        event.data,
                        Clock::now() - start_});
  } catch (const std::bad_alloc&) {
    complete_ = false;
  }
}

// Twice: to the end, and then to the peak, whose place is known by then.
DeviceMemory MemoryRecorder::play_back(std::size_t device,
                                       const std::vector<std::string>& paths) const {
  DeviceMemory result{.device = devices_[device]};
  Book beginning;
  for (const Change& c : held_before_[device])
    beginning.add(c);
  result.timeline.push_back(beginning.moment(Since{}, Phase::none));
  result.peak = beginning.in_use();
  Book end = beginning;
  const Change* last = nullptr;  // of those up to the peak
  for (const Change& c : changes_) {
    if (c.device != static_cast<int>(device)) continue;
    end.add(c);
    result.timeline.push_back(end.moment(c.at, c.phase));
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
