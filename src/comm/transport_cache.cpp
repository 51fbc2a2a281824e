// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/transport_cache.hpp"

#include <algorithm>
#include <iterator>

#include "comm/group.hpp"

namespace tandem::comm {
namespace {

/// Transports that stay open: each may hold hundreds of megabytes of every GPU. Most wrappers use
/// two, for whole batches and for the last one of an epoch.
constexpr std::ptrdiff_t kMostOpen = 4;

}  // namespace

std::shared_ptr<SharedTransport> TransportCache::use(std::span<const Device> devices,
                                                     const GroupOptions& options) {
  if (options.backend == Backend::local) return nullptr;
  const auto known = std::ranges::find_if(
      entries_, [&](const Entry& e) { return std::ranges::equal(e.devices, devices); });
  if (known == entries_.end())
    entries_.push_back({{devices.begin(), devices.end()}, make_transport(devices, options)});
  else
    std::rotate(known, std::next(known), entries_.end());
  for (std::ptrdiff_t i = 0; i < std::ssize(entries_) - kMostOpen; ++i)
    entries_[static_cast<std::size_t>(i)].transport->close_if_idle();
  return entries_.back().transport;
}

}  // namespace tandem::comm
