// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <string_view>

#include "tandem/core/error.hpp"
#include "tandem/sim/timing_table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (const tandem::sim::TimingRow& row :
         tandem::sim::parse_timing_table("fuzz_n8.csv", text).rows)
      if (row.nbytes == 0 || !(row.seconds > 0)) __builtin_trap();
  } catch (const tandem::InvalidArgument&) {
  }
  return 0;
}
