// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/text_dataset.hpp"

#include <algorithm>
#include <set>

#include "tandem/core/check.hpp"

#include "data/indices.hpp"
#include "data/utf8.hpp"

namespace tandem::datasets {

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
                 " is none of the ",
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
               ", the numbers are 0 to ",
               size() - 1);
  return parts_[static_cast<std::size_t>(token)];
}

TextDataset::TextDataset(std::vector<std::int32_t> tokens, std::int64_t context)
    : tokens_(std::move(tokens)), context_(context) {
  TANDEM_CHECK(context > 0, "TextDataset: a window has ", context, " characters");
  TANDEM_CHECK(static_cast<std::int64_t>(tokens_.size()) > context,
               "TextDataset: the text has ",
               tokens_.size(),
               " characters, a window and its next character take ",
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

}  // namespace tandem::datasets
