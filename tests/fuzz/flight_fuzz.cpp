// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Flight records, and what is merged of one.

#include "tandem/core/error.hpp"

#include "comm/flight_file.hpp"
#include "comm/flight_merge.hpp"
#include "fuzz/input_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tandem::fuzz::InputFile file(data, size);
  try {
    const tandem::comm::FlightFile record = tandem::comm::read_flight_file(file.path());
    const tandem::comm::FlightGroup group = tandem::comm::merge_flight_group({&record});
    for (const tandem::comm::FlightCollective& c : group.collectives)
      if (c.arrivals.empty()) __builtin_trap();
  } catch (const tandem::FileError&) {
  }
  return 0;
}
