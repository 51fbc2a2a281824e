// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tandem/io/safetensors.hpp"

namespace tandem::training {

/// The index of tensors in several files, as Hugging Face's sharded checkpoints have it.
struct CheckpointIndex {
  SafetensorsMetadata metadata = {};
  std::uint64_t total_size = 0;                        ///< bytes of all tensors
  std::map<std::string, std::string> checksums = {};   ///< by file
  std::map<std::string, std::string> weight_map = {};  ///< the file by tensor
};

/// "model.safetensors.index.json". @param what  "model" or "optimizer"
std::string index_name(const std::string& what);
/// "model-00001-of-00004.safetensors". @param file  from 1
std::string shard_name(const std::string& what, std::int64_t file, std::int64_t files);
/// Whether a sharded checkpoint has files of such a name.
bool is_checkpoint_file(const std::string& name);

/// An index as text, and its checksum, which is among its metadata.
struct IndexText {
  std::string text;
  std::string checksum;
};
IndexText format_index(const CheckpointIndex& index);
/// @param path  for errors
/// @param checksum  that another index has noted for this one; empty: compared with its own alone.
/// @throws FileError  the text is not such an index, names a file outside its folder, or has
///                    another checksum.
CheckpointIndex parse_index(const std::string& path,
                            const std::string& text,
                            const std::string& checksum,
                            Checksum compared);
/// The text of the file at `path`. @throws FileError  as FileReader, or it is too large.
std::string read_index(const std::string& path);

}  // namespace tandem::training
