// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/marks.hpp"

#include <string_view>

namespace tandem::parallel::detail {

std::string to_string(const LeafPath& path) {
  if (path.up == nullptr) return "argument " + std::to_string(path.index);
  std::string text = to_string(*path.up);
  if (path.key != nullptr) return text + "[\"" + *path.key + "\"]";
  if (path.fields == nullptr) return text + "[" + std::to_string(path.index) + "]";
  std::string_view names = path.fields;
  for (std::size_t i = 0; i < path.index; ++i)
    names.remove_prefix(names.find(',') + 1);
  names = names.substr(0, names.find(','));
  names.remove_prefix(names.find_first_not_of(' '));
  return text.append(".").append(names.substr(0, names.find(' ')));
}

}  // namespace tandem::parallel::detail
