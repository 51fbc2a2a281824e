// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/io/host_array.hpp"
#include "tandem/io/safetensors.hpp"
#include "tandem/io/tensor_file.hpp"
#include "tandem/train/checkpoint.hpp"

#include "core/tensor_form.hpp"
#include "train/checkpoint_index.hpp"

namespace tandem::training {

inline constexpr const char* kCheckpointFormat = "tandem.checkpoint";
inline constexpr const char* kCheckpointSchema = "1";
/// In a checkpoint of one file these stand before the names.
inline constexpr std::string_view kModelPrefix = "model.", kOptimizerPrefix = "optimizer.";

/// A tensor of a checkpoint.
struct StoredTensor {
  std::string name;  ///< without "model." or "optimizer."
  const SafetensorsFile* file = nullptr;
  const SafetensorsEntry* entry = nullptr;

  TensorForm form() const;
  HostArray read() const { return read_array(*file, *entry); }
};

/// The metadata of a checkpoint, without its tensors.
class CheckpointMetadata {
 public:
  /// @throws FileError  there is no such file, or no index in the folder.
  explicit CheckpointMetadata(const std::string& path, Checksum checksum = Checksum::yes);
  CheckpointMetadata(std::string path, SafetensorsMetadata texts);

  /// These throw FileError if it is not a checkpoint of this schema, or the text is not valid.
  RunState run_state() const;
  std::map<std::string, double> optimizer() const;
  /// Not set: the run has none.
  std::optional<std::map<std::string, double>> schedule() const;

 private:
  void check_format() const;
  template <class Parse>
  auto parsed(const char* key, Parse parse) const;

  std::string path_;  // of the file that has them
  SafetensorsMetadata texts_;
};

/// A checkpoint that is open for reading: one file, or the files of a folder.
class CheckpointReader {
 public:
  /// Opens all files, and compares their headers with the index.
  ///
  /// @throws FileError  one is missing, cut off, or of another save.
  explicit CheckpointReader(const std::string& path, Checksum checksum = Checksum::yes);
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  const std::string& path() const noexcept { return path_; }
  const CheckpointMetadata& metadata() const noexcept { return *metadata_; }
  const std::vector<StoredTensor>& model() const noexcept { return model_; }
  const std::vector<StoredTensor>& optimizer() const noexcept { return optimizer_; }
  /// A tensor of the model, or nullptr.
  const StoredTensor* find(std::string_view name) const noexcept;
  /// @throws FileError  a tensor belongs neither to the model nor to the optimizer.
  void check_owners() const;
  /// Compares each file with its checksum. @throws FileError @cost  Reads all files.
  void check_content() const;

 private:
  void open_file();
  void open_folder(Checksum checksum);
  void add_shards(const CheckpointIndex& index,
                  const std::map<std::string, std::string>& checksums,
                  std::vector<StoredTensor>& to);
  const SafetensorsFile& open_shard(const std::string& name,
                                    const std::map<std::string, std::string>& checksums);

  std::string path_;
  bool is_folder_;
  std::vector<std::unique_ptr<const SafetensorsFile>> files_;
  std::optional<CheckpointMetadata> metadata_;
  std::vector<StoredTensor> model_, optimizer_, others_;
};

}  // namespace tandem::training
