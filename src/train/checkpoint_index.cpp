// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "train/checkpoint_index.hpp"

#include <span>
#include <string_view>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/io/file.hpp"

#include "io/content_sum.hpp"
#include "io/safetensors_header.hpp"
#include "train/json_object.hpp"

namespace tandem::training {
namespace {

constexpr const char* kSumKey = tandem::detail::kSafetensorsSumKey;
constexpr const char* kSumsKey = "tandem.files";
constexpr const char* kTotalSize = "total_size";
constexpr const char* kWeightMap = "weight_map";
constexpr std::string_view kShardEnd = ".safetensors";

std::string number_text(std::int64_t number) {
  std::string digits = std::to_string(number);
  return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}

/// The checksum of the index in its one form, in which the digits of the sum count as zeros.
std::string sum_of(Json index) {
  index["metadata"][kSumKey] = std::string(tandem::detail::ContentSum::kDigits, '0');
  const std::string text = index.dump();
  tandem::detail::ContentSum sum;
  sum.add(std::as_bytes(std::span(text)));
  return sum.digits();
}

/// A file of the index's own folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

std::map<std::string, std::string> texts_of(const Json& object, const char* what) {
  TANDEM_CHECK(object.is_object(), "'", what, "' is not an object");
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : object.items())
    texts[key] = text_of(object, key);
  return texts;
}

CheckpointIndex index_of(const Json& json) {
  CheckpointIndex index;
  index.weight_map = texts_of(field_of(json, kWeightMap), kWeightMap);
  for (const auto& [name, file] : index.weight_map) {
    TANDEM_CHECK(is_plain_name(file),
                 "tensor '",
                 name,
                 "' is in the file '",
                 file,
                 "', which is not in the index's own folder");
  }
  const Json& metadata = field_of(json, "metadata");
  TANDEM_CHECK(metadata.is_object(), "'metadata' is not an object");
  for (const auto& [key, value] : metadata.items()) {
    if (key == kSumsKey)
      index.checksums = texts_of(value, kSumsKey);
    else if (key == kTotalSize && value.is_number_unsigned())
      index.total_size = value.get<std::uint64_t>();
    else
      index.metadata[key] = text_of(metadata, key);
  }
  return index;
}

/// @throws InvalidArgument  the index has another checksum than it says, or than `noted`.
void check_sum(const Json& json, const CheckpointIndex& index, const std::string& noted) {
  const auto own = index.metadata.find(kSumKey);
  if (own == index.metadata.end()) {
    TANDEM_CHECK(noted.empty(),
                 "it has no checksum any more, because another program has rewritten it; load it "
                 "with Checksum::no");
    return;
  }
  const std::string sum = sum_of(json);
  TANDEM_CHECK(sum == own->second,
               "the content is not what was written: its checksum is ",
               sum,
               ", but it was ",
               own->second,
               "; the file is damaged, or another program has rewritten it (in that case load it "
               "with Checksum::no)");
  TANDEM_CHECK(noted.empty() || noted == sum,
               "it is of another save: its checksum is ",
               sum,
               ", but that of this checkpoint's was ",
               noted);
}

}  // namespace

std::string index_name(const std::string& what) {
  return what + ".safetensors.index.json";
}

std::string shard_name(const std::string& what, std::int64_t file, std::int64_t files) {
  return what + '-' + number_text(file) + "-of-" + number_text(files) + std::string(kShardEnd);
}

bool is_checkpoint_file(const std::string& name) {
  for (const std::string what : {"model", "optimizer"}) {
    if (name == index_name(what)) return true;
    const std::string_view rest = std::string_view(name).substr(0, what.size()) == what
                                      ? std::string_view(name).substr(what.size())
                                      : std::string_view();
    constexpr std::string_view kForm = "-00000-of-00000.safetensors";
    if (rest.size() != kForm.size()) continue;
    bool fits = true;
    for (std::size_t i = 0; i < rest.size(); ++i)
      fits = fits && (kForm[i] == '0' ? rest[i] >= '0' && rest[i] <= '9' : rest[i] == kForm[i]);
    if (fits) return true;
  }
  return false;
}

IndexText format_index(const CheckpointIndex& index) try {
  Json metadata(index.metadata);
  metadata[kTotalSize] = index.total_size;
  metadata[kSumsKey] = Json(index.checksums);
  Json json{{"metadata", std::move(metadata)}, {kWeightMap, Json(index.weight_map)}};
  const std::string sum = sum_of(json);
  json["metadata"][kSumKey] = sum;
  return {json.dump(2) + "\n", sum};
} catch (const Json::type_error& e) {  // what dump() throws for text that is not UTF-8
  throw InvalidArgument(
      tandem::detail::concat("checkpoint: names and metadata must be UTF-8 (", e.what(), ")"));
}

CheckpointIndex parse_index(const std::string& path,
                            const std::string& text,
                            const std::string& checksum,
                            Checksum compared) {
  try {
    const Json json = parse_object(text);
    CheckpointIndex index = index_of(json);
    if (compared == Checksum::yes) check_sum(json, index, checksum);
    return index;
  } catch (const InvalidArgument& e) {
    throw FileError(
        path, -1, tandem::detail::concat("is not the index of a sharded checkpoint: ", e.what()));
  }
}

std::string read_index(const std::string& path) {
  const FileReader file(path);
  constexpr std::uint64_t kMost = tandem::detail::kSafetensorsMostHeader;
  if (file.size() > kMost) {
    throw FileError(
        path,
        -1,
        tandem::detail::concat("has ", file.size(), " bytes, but an index has at most ", kMost));
  }
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace tandem::training
