// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Chunk policies: whatever the weights and sizes, the chunks add up to the rows.

#include <cstring>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/parallel/chunks.hpp"

namespace {

void check(const tandem::parallel::ChunkPolicy& policy, std::int64_t rows, std::size_t devices) {
  std::vector<tandem::Device> list;
  for (std::size_t i = 0; i < devices; ++i)
    list.push_back({tandem::DeviceType::cpu, static_cast<int>(i)});
  std::int64_t left = rows;
  for (const std::int64_t chunk : policy.plan(rows, list)) {
    if (chunk < 0 || chunk > left) __builtin_trap();
    left -= chunk;
  }
  if (left != 0) __builtin_trap();
}

}  // namespace

/// Eight bytes of rows, then eight for each device.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kItem = 8, kMost = 16;
  const std::size_t devices = size < kItem ? 0 : size / kItem - 1;
  if (devices == 0 || devices > kMost) return 0;
  std::int64_t rows = 0;
  std::vector<double> weights(devices);
  std::vector<std::int64_t> sizes(devices);
  std::memcpy(&rows, data, kItem);
  std::memcpy(weights.data(), data + kItem, devices * kItem);
  std::memcpy(sizes.data(), data + kItem, devices * kItem);
  using tandem::parallel::ChunkPolicy;
  const auto all = [&](auto make) {
    try {
      check(make(), rows, devices);
    } catch (const tandem::InvalidArgument&) {
    }
  };
  all([&] { return ChunkPolicy::weights(weights); });
  all([&] { return ChunkPolicy::sizes(sizes); });
  all([&] { return ChunkPolicy::gpu0(sizes[0]); });
  all([&] { return ChunkPolicy::balanced_data_parallel(sizes[0]); });
  all([&] { return ChunkPolicy::torch_chunk(); });
  all([&] { return ChunkPolicy(); });
  return 0;
}
