// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "train/checkpoint_reader.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tandem/core/check.hpp"

#include "io/safetensors_header.hpp"
#include "train/run_state.hpp"

namespace tandem::training {
namespace {

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

std::string in_folder(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

/// Without the checksum: SafetensorsFile and the index have compared it.
SafetensorsMetadata metadata_of(const std::string& path, Checksum checksum) {
  if (!is_folder(path)) return SafetensorsFile(path).metadata();
  const std::string index = in_folder(path, index_name("model"));
  return parse_index(index, read_index(index), "", checksum).metadata;
}

/// @throws FileError  the file has a tensor that is not there for the index.
void check_known(const CheckpointIndex& index,
                 const std::string& shard,
                 const SafetensorsFile& file) {
  for (const SafetensorsEntry& entry : file.entries()) {
    const auto at = index.weight_map.find(entry.name);
    if (at != index.weight_map.end() && at->second == shard) continue;
    throw FileError(file.path(),
                    static_cast<std::int64_t>(entry.offset),
                    "has a tensor '" + entry.name + "', of which the index does not know");
  }
}

}  // namespace

TensorForm StoredTensor::form() const {
  return {entry->dtype, entry->shape, tandem::detail::concat(entry->dtype, ' ', entry->shape)};
}

CheckpointMetadata::CheckpointMetadata(const std::string& path, Checksum checksum)
    : CheckpointMetadata(is_folder(path) ? in_folder(path, index_name("model")) : path,
                         metadata_of(path, checksum)) {}

CheckpointMetadata::CheckpointMetadata(std::string path, SafetensorsMetadata texts)
    : path_(std::move(path)), texts_(std::move(texts)) {}

void CheckpointMetadata::check_format() const {
  const auto format = texts_.find("format");
  if (format == texts_.end() || format->second != kCheckpointFormat) {
    throw FileError(path_, -1, "is a safetensors file, but not a checkpoint of tandem");
  }
  const auto version = texts_.find("schema_version");
  if (version == texts_.end() || version->second != kCheckpointSchema) {
    throw FileError(path_,
                    -1,
                    tandem::detail::concat("has checkpoint schema version ",
                                           version == texts_.end() ? "none" : version->second,
                                           "; this tandem reads ",
                                           kCheckpointSchema));
  }
}

/// The metadata under `key`, read by `parse`.
template <class Parse>
auto CheckpointMetadata::parsed(const char* key, Parse parse) const {
  check_format();
  const auto at = texts_.find(key);
  if (at == texts_.end()) {
    throw FileError(
        path_, -1, tandem::detail::concat("is a checkpoint, but has no metadata '", key, "'"));
  }
  try {
    return parse(at->second);
  } catch (const InvalidArgument& e) {
    throw FileError(
        path_,
        -1,
        tandem::detail::concat("the checkpoint's metadata '", key, "' is not valid: ", e.what()));
  }
}

RunState CheckpointMetadata::run_state() const {
  return parsed("run", parse_run_state);
}

std::map<std::string, double> CheckpointMetadata::optimizer() const {
  return parsed("optimizer", parse_numbers);
}

std::optional<std::map<std::string, double>> CheckpointMetadata::schedule() const {
  check_format();
  if (!texts_.contains("schedule")) return std::nullopt;
  return parsed("schedule", parse_numbers);
}

CheckpointReader::CheckpointReader(const std::string& path, Checksum checksum)
    : path_(path), is_folder_(is_folder(path)) {
  if (is_folder_)
    open_folder(checksum);
  else
    open_file();
}

void CheckpointReader::open_file() {
  files_.push_back(std::make_unique<const SafetensorsFile>(path_));
  const SafetensorsFile& file = *files_.front();
  metadata_.emplace(path_, file.metadata());
  for (const SafetensorsEntry& entry : file.entries()) {
    const std::string_view name = entry.name;
    const auto add = [&](std::vector<StoredTensor>& to, std::size_t prefix) {
      to.push_back({std::string(name.substr(prefix)), &file, &entry});
    };
    if (name.starts_with(kModelPrefix))
      add(model_, kModelPrefix.size());
    else if (name.starts_with(kOptimizerPrefix))
      add(optimizer_, kOptimizerPrefix.size());
    else
      add(others_, 0);
  }
  std::ranges::sort(model_, {}, &StoredTensor::name);
}

void CheckpointReader::open_folder(Checksum checksum) {
  const std::string model = in_folder(path_, index_name("model"));
  const std::string own = in_folder(path_, index_name("optimizer"));
  const CheckpointIndex root = parse_index(model, read_index(model), "", checksum);
  metadata_.emplace(model, root.metadata);
  const auto noted = root.checksums.find(index_name("optimizer"));
  if (noted == root.checksums.end())
    throw FileError(model, -1, "notes no checksum of '" + index_name("optimizer") + "'");
  const CheckpointIndex second = parse_index(own, read_index(own), noted->second, checksum);
  add_shards(root, root.checksums, model_);
  add_shards(second, root.checksums, optimizer_);
}

const SafetensorsFile& CheckpointReader::open_shard(
    const std::string& name, const std::map<std::string, std::string>& checksums) {
  const std::string path = in_folder(path_, name);
  const auto noted = checksums.find(name);
  if (noted == checksums.end()) {
    throw FileError(
        path, -1, "is in the index of tensors, but the checkpoint has no checksum of it");
  }
  files_.push_back(std::make_unique<const SafetensorsFile>(path));
  const SafetensorsFile& file = *files_.back();
  const auto own = file.metadata().find(tandem::detail::kSafetensorsSumKey);
  if (own != file.metadata().end() && own->second != noted->second) {
    throw FileError(path,
                    -1,
                    tandem::detail::concat("is of another save: its checksum is ",
                                           own->second,
                                           ", but that of this checkpoint's file was ",
                                           noted->second));
  }
  return file;
}

void CheckpointReader::add_shards(const CheckpointIndex& index,
                                  const std::map<std::string, std::string>& checksums,
                                  std::vector<StoredTensor>& to) {
  std::map<std::string, const SafetensorsFile*> opened;
  for (const auto& [name, shard] : index.weight_map) {
    const SafetensorsFile*& file = opened[shard];
    if (file == nullptr) file = &open_shard(shard, checksums);
    const SafetensorsEntry* entry = file->find(name);
    if (entry == nullptr) {
      throw FileError(
          file->path(), -1, "has no tensor '" + name + "', which the index says it has");
    }
    to.push_back({name, file, entry});
  }
  for (const auto& [shard, file] : opened)
    check_known(index, shard, *file);
}

const StoredTensor* CheckpointReader::find(std::string_view name) const noexcept {
  const auto hit = std::ranges::lower_bound(
      model_, name, {}, [](const StoredTensor& t) -> std::string_view { return t.name; });
  return hit == model_.end() || hit->name != name ? nullptr : &*hit;
}

void CheckpointReader::check_owners() const {
  if (others_.empty()) return;
  throw FileError(
      others_.front().file->path(),
      static_cast<std::int64_t>(others_.front().entry->offset),
      tandem::detail::concat(
          "tensor '", others_.front().name, "' belongs neither to the model nor to the optimizer"));
}

void CheckpointReader::check_content() const {
  for (const auto& file : files_) {
    if (is_folder_ && !file->metadata().contains(tandem::detail::kSafetensorsSumKey)) {
      throw FileError(file->path(),
                      -1,
                      "has no checksum any more, because another program has rewritten it; load it "
                      "with Checksum::no");
    }
    file->check_content();
  }
}

}  // namespace tandem::training
