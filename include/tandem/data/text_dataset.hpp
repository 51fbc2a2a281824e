// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tandem/data/dataset.hpp"

namespace tandem::datasets {

/// The characters that a model knows, numbered from 0 in the order of their code points.
class Vocabulary {
 public:
  Vocabulary() = default;
  /// The vocabulary of all characters that occur in `text`.
  ///
  /// `Vocabulary(v.characters())` equals `v`, so a string can store a vocabulary.
  /// @throws InvalidArgument  if `text` is not UTF-8; the message has the offset.
  explicit Vocabulary(std::string_view text);

  /// The number of characters.
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(parts_.size()); }
  /// All characters, in order, as UTF-8.
  const std::string& characters() const noexcept { return characters_; }
  /// The numbers of the characters of `text`.
  ///
  /// @throws InvalidArgument  if `text` is not UTF-8, or has a character that is not in the
  ///                          vocabulary; the message has the offset.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// The character with the number `token`.
  ///
  /// @throws InvalidArgument  if there is none.
  const std::string& character(std::int64_t token) const;

  friend bool operator==(const Vocabulary& a, const Vocabulary& b) noexcept {
    return a.characters_ == b.characters_;
  }

 private:
  std::vector<std::string> parts_;
  std::string characters_;
  std::unordered_map<std::string, std::int32_t> numbers_;
};

/// Windows of a text, for a model that predicts the next character.
///
/// A sample is {inputs (context), labels (context)} of i64. The labels are the inputs shifted by
/// one. Windows lie end to end; an incomplete window at the end is not a sample.
class TextDataset : public Dataset {
 public:
  /// @throws InvalidArgument  if there are fewer than context + 1 characters, or `context` is not
  ///                          above 0.
  TextDataset(std::vector<std::int32_t> tokens, std::int64_t context);

  std::int64_t size() const override;
  /// @throws InvalidArgument  if an index is outside [0, size()).
  std::vector<HostArray> get(std::span<const std::int64_t> indices) const override;

  /// The number of characters in a window.
  std::int64_t context() const noexcept { return context_; }

 private:
  std::vector<std::int32_t> tokens_;
  std::int64_t context_;
};

struct TextOptions {
  std::string path = {};       ///< a UTF-8 file; empty: the tales that are part of tandem
  std::int64_t context = 128;  ///< the number of characters in a window
  double test_share = 0.1;     ///< the share of the text, at its end, that is used for measuring
};

/// A text, split into a part for training and one for measuring.
struct TextData {
  Vocabulary vocabulary;  ///< of the whole text
  std::shared_ptr<const TextDataset> train, test;
};

/// Reads and splits a text.
///
/// @throws FileError        if the file is missing or is not UTF-8 (with the offset), or one of the
///                          two parts has fewer than context + 1 characters.
/// @throws InvalidArgument  if an option is out of range.
TextData load_text(const TextOptions& options = {});

}  // namespace tandem::datasets
