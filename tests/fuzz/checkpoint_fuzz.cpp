// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What a checkpoint's metadata says of the run.

#include "tandem/core/error.hpp"
#include "tandem/train/checkpoint.hpp"

#include "fuzz/input_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tandem::fuzz::InputFile file(data, size);
  try {
    tandem::training::read_run_state(file.path());
  } catch (const tandem::Error&) {
  }
  return 0;
}
