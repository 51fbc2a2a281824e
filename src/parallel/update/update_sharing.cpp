// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/update_sharing.hpp"

#include <utility>

namespace tandem::parallel {

UpdateSharing::UpdateSharing(SharedParts parts) : shared_(std::move(parts)) {}

void UpdateSharing::update(const std::function<std::exception_ptr(Device)>& part) {
  shared_.on_devices([this, &part](int device) {
    if (const auto error = part(arena(device).device())) std::rethrow_exception(error);
  });
}

std::vector<std::uint64_t> UpdateSharing::versions() const {
  std::vector<std::uint64_t> versions;
  for (const Bucket& bucket : buckets())
    versions.push_back(arena(0).grads(bucket.block).buffer().version());
  return versions;
}

}  // namespace tandem::parallel
