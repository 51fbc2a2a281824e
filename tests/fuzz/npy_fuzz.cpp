// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/core/error.hpp"
#include "tandem/io/npy.hpp"

#include "fuzz/input_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kMostBytes = 1 << 20;
  const tandem::fuzz::InputFile file(data, size);
  try {
    const tandem::HostArray array = tandem::read_npy(file.path(), kMostBytes);
    if (array.bytes.size() > kMostBytes) __builtin_trap();
  } catch (const tandem::FileError&) {
  }
  return 0;
}
