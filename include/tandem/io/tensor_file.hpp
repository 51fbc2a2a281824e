// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "tandem/io/host_array.hpp"
#include "tandem/io/safetensors.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Reads one tensor of an open safetensors file to the host, where it counts against no device.
///
/// A type that tandem does not have is converted to one that holds all its numbers; see
/// SafetensorsEntry.
///
/// @throws FileError  as SafetensorsFile::read, or if tandem cannot read the type, or a U64 is 2^63
///                    or larger.
HostArray read_array(const SafetensorsFile& file, const SafetensorsEntry& entry);

/// Reads one tensor of an open safetensors file to `device`.
///
/// @throws FileError    as read_array.
/// @throws OutOfMemory  if the device's limit is exceeded.
Tensor read_tensor(const SafetensorsFile& file, const SafetensorsEntry& entry, Device device = {});

/// Reads every tensor of a safetensors file to `device`, by name.
///
/// @throws FileError, OutOfMemory  as SafetensorsFile and read_tensor.
std::map<std::string, Tensor> load_safetensors(const std::string& path, Device device = {});

/// Writes tensors of any device and layout to a safetensors file in one step; see
/// write_safetensors.
///
/// Reads the devices. At most one tensor at a time is held in host memory.
///
/// @param checksum  With yes, the metadata "tandem.xxh3" is a sum (XXH3) of the whole file, which
///                  SafetensorsFile::check_content compares. Such an entry in `metadata` belongs to
///                  another file and is dropped.
/// @throws InvalidArgument, FileError  as write_safetensors; the old file is unchanged.
void save_safetensors(const std::string& path,
                      const std::map<std::string, Tensor>& tensors,
                      const SafetensorsMetadata& metadata = {},
                      Checksum checksum = Checksum::no);

}  // namespace tandem
