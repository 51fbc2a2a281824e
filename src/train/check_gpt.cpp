// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/check_gpt.hpp"

#include <utility>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/io/safetensors.hpp"

#include "core/checked_size.hpp"

namespace tandem::train {
namespace {

using NamedShape = std::pair<std::string, Shape>;

/// Of one block.
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

void check_tensor(const SafetensorsFile& file,
                  const std::string& path,
                  const std::string& name,
                  const Shape& shape) {
  const SafetensorsEntry* entry = file.find("model." + name);
  if (entry == nullptr) {
    throw FileError(
        path,
        -1,
        tandem::detail::concat(
            "its sizes ask for a tensor '", name, "' ", shape, ", which the file does not have"));
  }
  if (entry->shape != shape) {
    throw FileError(path,
                    static_cast<std::int64_t>(entry->offset),
                    tandem::detail::concat(
                        "its sizes ask for '", name, "' ", shape, ", the file has ", entry->shape));
  }
}

}  // namespace

void check_gpt(const std::string& path, const nn::models::GptOptions& o) {
  const SafetensorsFile file(path);
  check_tensor(file, path, "embed.weight", {o.vocabulary, o.width});
  check_tensor(file, path, "position.weight", {o.context, o.width});
  check_tensor(file, path, "norm.weight", {o.width});
  check_tensor(file, path, "head.weight", {o.vocabulary, o.width});
  const std::vector<NamedShape> block = block_shapes(o.width);
  for (std::int64_t i = 0; i < o.layers; ++i) {  // ends at the first that the file does not have
    for (const auto& [name, shape] : block)
      check_tensor(file, path, "blocks." + std::to_string(i) + '.' + name, shape);
  }
}

}  // namespace tandem::train
