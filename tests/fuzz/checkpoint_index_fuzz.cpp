// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// The index of a sharded checkpoint.

#include <string>

#include "tandem/core/error.hpp"

#include "train/checkpoint_index.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const tandem::Checksum checksum : {tandem::Checksum::yes, tandem::Checksum::no}) {
    try {
      tandem::training::parse_index("index", text, "", checksum);
    } catch (const tandem::FileError&) {
    }
  }
  return 0;
}
