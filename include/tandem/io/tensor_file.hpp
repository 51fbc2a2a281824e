// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "tandem/io/safetensors.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Reads one tensor of an open safetensors file to `device`.
///
/// Types that tandem does not have come as the next that holds all their numbers, see
/// SafetensorsEntry.
///
/// @throws FileError    as SafetensorsFile::read; a type that tandem cannot read; a U64 from 2^63
/// on.
/// @throws OutOfMemory  the device's limit.
Tensor read_tensor(const SafetensorsFile& file, const SafetensorsEntry& entry, Device device = {});

/// Reads every tensor of a safetensors file to `device`, by name.
///
/// @throws FileError, OutOfMemory  as SafetensorsFile and read_tensor.
std::map<std::string, Tensor> load_safetensors(const std::string& path, Device device = {});

/// Writes tensors of any device and layout to a safetensors file, in one step: see
/// write_safetensors.
///
/// Reads the devices; at most one tensor at a time is held in host memory.
///
/// @param checksum  yes: the metadata "tandem.xxh3" is a sum of the whole file (XXH3), which
///                  SafetensorsFile::check_content compares. One among `metadata`, which is of
///                  another file, is left out.
/// @throws InvalidArgument, FileError  as write_safetensors; the old file is as it was.
void save_safetensors(const std::string& path,
                      const std::map<std::string, Tensor>& tensors,
                      const SafetensorsMetadata& metadata = {},
                      Checksum checksum = Checksum::no);

}  // namespace tandem
