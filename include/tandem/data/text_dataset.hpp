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
#include "tandem/data/idx_dataset.hpp"

namespace tandem::datasets {

/// The characters that a model knows, numbered from 0 in the order of their code points.
class Vocabulary {
 public:
  Vocabulary() = default;
  /// The characters that occur in `text`.
  ///
  /// `Vocabulary(v.characters())` is `v` again: a string keeps it.
  /// @throws InvalidArgument  `text` is not UTF-8; the text has the offset.
  explicit Vocabulary(std::string_view text);

  /// Number of characters.
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(parts_.size()); }
  /// All of them, in order, as UTF-8.
  const std::string& characters() const noexcept { return characters_; }
  /// The numbers of a text's characters.
  ///
  /// @throws InvalidArgument  `text` is not UTF-8, or has a character that is none of these: both
  /// are named with their offset.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// The character of a number. @throws InvalidArgument  there is none.
  const std::string& character(std::int64_t token) const;

  friend bool operator==(const Vocabulary& a, const Vocabulary& b) noexcept {
    return a.characters_ == b.characters_;
  }

 private:
  std::vector<std::string> parts_;
  std::string characters_;
  std::unordered_map<std::string, std::int32_t> numbers_;
};

/// Windows of a text for a model that says the next character.
///
/// A sample is {inputs (context), labels (context)} of i64: the labels are the inputs moved on by
/// one. Windows lie end to end; what is left at the end is no sample.
class TextDataset : public Dataset {
 public:
  /// @throws InvalidArgument  fewer than context + 1 characters, or no context.
  TextDataset(std::vector<std::int32_t> tokens, std::int64_t context);

  std::int64_t size() const override;
  /// @throws InvalidArgument  an index outside [0, size()).
  std::vector<HostArray> get(std::span<const std::int64_t> indices) const override;

  /// Characters of a window.
  std::int64_t context() const noexcept { return context_; }

 private:
  std::vector<std::int32_t> tokens_;
  std::int64_t context_;
};

struct TextOptions {
  std::string path = {};       ///< a file of UTF-8; empty: the tales that are part of tandem
  std::int64_t context = 128;  ///< characters of a window
  double test_share = 0.1;     ///< of the text, its end: what measures
};

/// A text in its two parts.
struct TextData {
  Vocabulary vocabulary;  ///< of the whole text
  std::shared_ptr<const TextDataset> train, test;
};

/// Reads a text.
///
/// @throws FileError        it is not there, is not UTF-8 (with the offset), or one of its parts is
///                          shorter than a window.
/// @throws InvalidArgument  options out of range.
TextData load_text(const TextOptions& options = {});

}  // namespace tandem::datasets
