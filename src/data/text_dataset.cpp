// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/text_dataset.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"
#include "tandem/io/file.hpp"

#include "data/data_directories.hpp"
#include "data/indices.hpp"
#include "data/utf8.hpp"

namespace tandem::datasets {
namespace {

using tandem::detail::concat;

std::string find_tales() {
  std::string tried;
  for (const auto& directory : data_directories("tales", shipped_directories("tales"))) {
    const std::filesystem::path path = directory / "tales.txt";
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return path.string();
    tried += (tried.empty() ? "" : ", ") + directory.string();
  }
  throw FileError("tales.txt",
                  -1,
                  concat("was not found (looked in ",
                         tried,
                         "); name a text of your own, or set TANDEM_DATA_DIR to the directory "
                         "above tales"));
}

std::string read_text(const std::string& path) {
  const FileReader file(path);
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text.data(), text.size())));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = utf8_length(text, at);
    if (n == 0) {
      throw FileError(
          path,
          static_cast<std::int64_t>(at),
          "is not UTF-8 here; convert it (iconv -f latin1 -t utf-8), or give another text");
    }
    at += n;
  }
  return text;
}

}  // namespace

Vocabulary::Vocabulary(std::string_view text) {
  std::set<std::string_view> found;  // the order of UTF-8's bytes is that of the code points
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = utf8_length(text, at);
    TANDEM_CHECK(n > 0, "Vocabulary: the text is not UTF-8 at byte ", at);
    found.insert(text.substr(at, n));
    at += n;
  }
  for (const std::string_view part : found) {
    numbers_.emplace(part, static_cast<std::int32_t>(parts_.size()));
    parts_.emplace_back(part);
    characters_ += part;
  }
}

std::vector<std::int32_t> Vocabulary::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size());
  std::string part;
  for (std::size_t at = 0; at < text.size(); at += part.size()) {
    const std::size_t n = utf8_length(text, at);
    TANDEM_CHECK(n > 0, "Vocabulary: the text is not UTF-8 at byte ", at);
    part.assign(text, at, n);
    const auto number = numbers_.find(part);
    TANDEM_CHECK(number != numbers_.end(),
                 "Vocabulary: '",
                 part,
                 "' at byte ",
                 at,
                 " is not one of the ",
                 size(),
                 " characters of the text that the model was trained on");
    tokens.push_back(number->second);
  }
  return tokens;
}

const std::string& Vocabulary::character(std::int64_t token) const {
  TANDEM_CHECK(token >= 0 && token < size(),
               "Vocabulary: there is no character ",
               token,
               "; the characters are numbered 0 to ",
               size() - 1);
  return parts_[static_cast<std::size_t>(token)];
}

TextDataset::TextDataset(std::vector<std::int32_t> tokens, std::int64_t context)
    : tokens_(std::move(tokens)), context_(context) {
  TANDEM_CHECK(context > 0, "TextDataset: context is ", context, "; it must be above 0");
  TANDEM_CHECK(static_cast<std::int64_t>(tokens_.size()) > context,
               "TextDataset: the text has ",
               tokens_.size(),
               " characters, but a window and its next character take ",
               context + 1);
}

std::int64_t TextDataset::size() const {
  return (static_cast<std::int64_t>(tokens_.size()) - 1) / context_;
}

std::vector<HostArray> TextDataset::get(std::span<const std::int64_t> indices) const {
  check_indices(indices, size());
  const Shape shape{static_cast<std::int64_t>(indices.size()), context_};
  std::vector<HostArray> parts{HostArray(DType::i64, shape), HostArray(DType::i64, shape)};
  auto inputs = parts[0].values<std::int64_t>().begin();
  auto labels = parts[1].values<std::int64_t>().begin();
  for (const std::int64_t i : indices) {
    const auto first = tokens_.begin() + i * context_;
    inputs = std::copy(first, first + context_, inputs);
    labels = std::copy(first + 1, first + 1 + context_, labels);
  }
  return parts;
}

TextData load_text(const TextOptions& options) {
  TANDEM_CHECK(
      options.context > 0, "load_text: context is ", options.context, "; it must be above 0");
  TANDEM_CHECK(options.test_share > 0 && options.test_share < 1,
               "load_text: test_share is ",
               options.test_share,
               "; it must be between 0 and 1");
  const std::string path = options.path.empty() ? find_tales() : options.path;
  const std::string text = read_text(path);
  TextData data{.vocabulary = Vocabulary(text), .train = {}, .test = {}};
  std::vector<std::int32_t> tokens = data.vocabulary.encode(text);
  const auto total = static_cast<double>(tokens.size());
  const auto trained = static_cast<std::size_t>(std::floor(total * (1 - options.test_share)));
  const std::size_t least = std::min(trained, tokens.size() - trained);
  if (static_cast<std::int64_t>(least) <= options.context) {
    throw FileError(path,
                    -1,
                    concat("its ",
                           tokens.size(),
                           " characters are too few for a test share of ",
                           options.test_share,
                           " and windows of ",
                           options.context,
                           " characters; give a longer text or a smaller context"));
  }
  const auto cut = tokens.begin() + static_cast<std::ptrdiff_t>(trained);
  data.test = std::make_shared<const TextDataset>(std::vector(cut, tokens.end()), options.context);
  tokens.erase(cut, tokens.end());
  data.train = std::make_shared<const TextDataset>(std::move(tokens), options.context);
  return data;
}

}  // namespace tandem::datasets
