// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update_sharing.hpp"

#include <utility>

namespace tandem::parallel {

UpdateSharing::UpdateSharing(std::vector<std::shared_ptr<optim::Arena>> arenas,
                             std::shared_ptr<const std::vector<Bucket>> buckets,
                             OnDevices on_devices,
                             std::function<void()> reduce)
    : arenas_(std::move(arenas)),
      buckets_(std::move(buckets)),
      on_devices_(std::move(on_devices)),
      reduce_(std::move(reduce)) {}

void UpdateSharing::update(const std::function<std::exception_ptr(Device)>& part) {
  on_devices_([this, &part](int rank) {
    if (const auto error = part(arena(rank).device())) std::rethrow_exception(error);
  });
}

std::vector<std::uint64_t> UpdateSharing::versions() const {
  std::vector<std::uint64_t> versions;
  for (const Bucket& bucket : buckets())
    versions.push_back(arena(0).grads(bucket.block).buffer().version());
  return versions;
}

}  // namespace tandem::parallel
