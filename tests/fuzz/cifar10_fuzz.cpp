// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// CIFAR-10's binary files, of one sample.

#include "tandem/core/error.hpp"
#include "tandem/data/cifar10.hpp"

#include "io/temp_dir.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const tandem::testing::TempDir folder;
  tandem::testing::put(folder.file("test_batch.bin"),
                       std::string(reinterpret_cast<const char*>(data), size));
  try {
    const tandem::datasets::Cifar10Dataset set(
        folder.path().string(), tandem::datasets::Split::test, {.samples_per_file = 1});
    set.get(std::array<std::int64_t, 1>{0});
  } catch (const tandem::FileError&) {
  }
  return 0;
}
