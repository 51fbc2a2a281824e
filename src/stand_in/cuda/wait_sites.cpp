// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/cuda/wait_sites.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include <dlfcn.h>
#include <execinfo.h>

namespace tandem::stand_in {
namespace {

constexpr int kDeepest = 16;  // return addresses of a place

/// Where a library lies.
const void* base_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

/// The return addresses of the calling thread but for those of this library.
std::vector<const void*> callers() {
  static const void* const own = base_of(reinterpret_cast<const void*>(&base_of));
  std::array<void*, kDeepest + 4> frames{};
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  std::vector<const void*> found(frames.begin(), frames.begin() + count);
  const auto first = std::ranges::find_if(found, [](const void* p) { return base_of(p) != own; });
  found.erase(found.begin(), first);
  if (found.size() > kDeepest) found.resize(kDeepest);
  return found;
}

std::string text_of(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0) return "?";
  std::array<char, 32> offset{};
  std::snprintf(
      offset.data(),
      offset.size(),
      "+0x%zx",
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
  return std::string(info.dli_fname) + offset.data();
}

}  // namespace

WaitSites& WaitSites::get() {
  static WaitSites& sites = *new WaitSites;
  return sites;
}

void WaitSites::note(bool on) {
  const std::scoped_lock lock(mutex_);
  notes_ = on;
  is_of_interest_ = notes_ || !left_out_.first.empty();
}

std::string WaitSites::text() {
  const std::scoped_lock lock(mutex_);
  std::string text;
  for (const auto& [call, addresses] : places_) {
    text += call;
    for (const void* const address : addresses)
      text += ' ' + text_of(address);
    text += '\n';
  }
  return text;
}

bool WaitSites::leave_out(std::size_t place, std::size_t depth) {
  const std::scoped_lock lock(mutex_);
  if (depth > 0 && (place >= places_.size() || places_[place].second.size() < depth)) return false;
  left_out_ = depth > 0 ? places_[place] : Place{};
  left_out_.second.resize(depth);
  is_of_interest_ = notes_ || depth > 0;
  return true;
}

bool WaitSites::looks_at(const char* call) {
  Place place{call, callers()};
  const std::scoped_lock lock(mutex_);
  if (notes_ && known_.insert(place).second) places_.push_back(place);
  if (place.first != left_out_.first || place.second.size() < left_out_.second.size()) return false;
  return std::equal(left_out_.second.begin(), left_out_.second.end(), place.second.begin());
}

}  // namespace tandem::stand_in
