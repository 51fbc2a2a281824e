// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/check_gpt.hpp"

#include <utility>
#include <vector>

#include "tandem/core/check.hpp"

#include "core/checked_size.hpp"
#include "train/checkpoint_reader.hpp"

namespace tandem::training {
namespace {

using NamedShape = std::pair<std::string, Shape>;

/// The tensors of one block.
std::vector<NamedShape> block_shapes(std::int64_t width) {
  const std::int64_t packed = (CheckedSize("Gpt", width) * 3).value();
  const std::int64_t hidden = (CheckedSize("Gpt", width) * 4).value();
  return {{"norm1.weight", {width}},
          {"norm1.bias", {width}},
          {"attention.in_proj_weight", {packed, width}},
          {"attention.in_proj_bias", {packed}},
          {"attention.out_proj.weight", {width, width}},
          {"attention.out_proj.bias", {width}},
          {"norm2.weight", {width}},
          {"norm2.bias", {width}},
          {"fc.weight", {hidden, width}},
          {"fc.bias", {hidden}},
          {"proj.weight", {width, hidden}},
          {"proj.bias", {width}}};
}

/// "its sizes ask for 2 layers of width 8, context 4, vocabulary 5".
std::string asked(const nn::models::GptOptions& o) {
  return tandem::detail::concat("its sizes ask for ",
                                o.layers,
                                " layers of width ",
                                o.width,
                                ", context ",
                                o.context,
                                ", vocabulary ",
                                o.vocabulary);
}

/// Compares one tensor after the other.
class Comparison {
 public:
  Comparison(const std::string& path, const nn::models::GptOptions& options)
      : saved_(path), options_(options) {}

  void check(const std::string& name, const Shape& shape) const {
    const StoredTensor* stored = saved_.find(name);
    const SafetensorsEntry* entry = stored == nullptr ? nullptr : stored->entry;
    if (entry != nullptr && entry->shape == shape) return;
    throw FileError(stored == nullptr ? saved_.path() : stored->file->path(),
                    entry == nullptr ? -1 : static_cast<std::int64_t>(entry->offset),
                    tandem::detail::concat(
                        asked(options_),
                        entry == nullptr ? "; the file has no tensor '" : "; they need a tensor '",
                        name,
                        "' ",
                        shape,
                        entry == nullptr ? "" : ", but the file's is " + to_string(entry->shape)));
  }

 private:
  CheckpointReader saved_;
  const nn::models::GptOptions& options_;
};

}  // namespace

void check_gpt(const std::string& path, const nn::models::GptOptions& o) {
  const Comparison file(path, o);
  file.check("embed.weight", {o.vocabulary, o.width});
  file.check("position.weight", {o.context, o.width});
  file.check("norm.weight", {o.width});
  file.check("head.weight", {o.vocabulary, o.width});
  const std::vector<NamedShape> block = block_shapes(o.width);
  for (std::int64_t i = 0; i < o.layers; ++i) {  // ends at the first that the file does not have
    for (const auto& [name, shape] : block)
      file.check("blocks." + std::to_string(i) + '.' + name, shape);
  }
}

}  // namespace tandem::training
