// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <string_view>

#include "tandem/core/error.hpp"
#include "tandem/sim/cluster.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const tandem::sim::Cluster cluster = tandem::sim::parse_cluster(text);
    if (cluster.gpu_count() < 1 || !(cluster.gpus.memory > 0)) __builtin_trap();
  } catch (const tandem::InvalidArgument&) {
  }
  return 0;
}
