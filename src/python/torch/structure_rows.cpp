// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <string>

#include <nanobind/stl/string.h>

#include "tandem/core/check.hpp"

#include "python/torch/structure.hpp"

namespace tandem::python {
namespace nb = nanobind;

std::string Structure::to_string(const Path& path) {
  if (path.up == nullptr) return path.root == Root::batch ? "batch" : "output";
  const bool named = path.whole->keys_ != nullptr;
  const auto key = [&] {
    const nb::object index = nb::int_(path.index);
    return named ? nb::object(nb::handle(path.whole->keys_.get())[index]) : index;
  };
  const bool is_argument =
      path.root == Root::call && path.up->up != nullptr && path.up->up->up == nullptr;
  if (is_argument) return "argument " + nb::cast<std::string>(nb::repr(key()));
  const std::string above = to_string(*path.up);
  if (path.whole->kind_ == Kind::dataclass) return above + "." + nb::cast<std::string>(key());
  return above + "[" + nb::cast<std::string>(nb::repr(key())) + "]";
}

void Structure::check_rows(const Arguments& arguments, Root root) {
  std::optional<std::int64_t> rows;
  bool differ = false;
  const auto note = [&](std::int64_t n) {
    differ |= rows.value_or(n) != n;
    rows = n;
  };
  for (const auto& [x, dim] : arguments.split) {
    const bool has_dim = dim >= -x.dim() && dim < x.dim();
    if (has_dim)
      note(x.size(dim));
    else
      differ = true;
  }
  for (const auto& list : arguments.rows)
    note(static_cast<std::int64_t>(list.value.size()));
  if (!differ) return;
  std::string texts;
  visit(*arguments.structure, Path{.root = root}, [&](const Structure& part, const Path& path) {
    if (!texts.empty()) texts += ", ";
    texts += to_string(path);
    if (part.kind_ == Kind::rows) {
      const std::size_t n = arguments.rows[part.number_].value.size();
      texts += tandem::detail::concat(" (tandem.rows of a list) has ", n, " rows");
      return;
    }
    const auto& [x, dim] = arguments.split[part.number_];
    const std::string tensor = parallel::LeafOps<at::Tensor>::describe(x);
    if (dim < -x.dim() || dim >= x.dim())
      throw InvalidArgument(tandem::detail::concat(
          "scatter: ",
          to_string(path),
          " (",
          tensor,
          ") has no dimension ",
          dim,
          "; name the dimension of its rows with tandem.split(..., dim), or wrap it in "
          "tandem.replicate(...)"));
    texts +=
        tandem::detail::concat(" (", tensor, ", dimension ", dim, ") has ", x.size(dim), " rows");
  });
  throw InvalidArgument(
      "scatter: the arguments differ in their number of rows: " + texts +
      "; wrap an argument that is not to be split in tandem.replicate(...), and one whose rows are "
      "in another dimension in tandem.split(..., dim)");
}

}  // namespace tandem::python
