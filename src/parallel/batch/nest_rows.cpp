// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/detail/nest_rows.hpp"

namespace tandem::parallel::detail {

void RowCount::refuse_dim(int ndim, int dim, const std::string& tensor, const LeafPath& path) {
  TANDEM_CHECK(ndim > 0,
               "scatter: ",
               to_string(path),
               " is a scalar tensor, which has no rows; wrap it in replicate(...)");
  throw InvalidArgument(tandem::detail::concat(
      "scatter: ",
      to_string(path),
      " (",
      tensor,
      ") has no dimension ",
      dim,
      "; name the dimension of its rows with split(..., dim), or wrap it in replicate(...)"));
}

void RowCount::add_rows(std::int64_t n, const LeafPath& path, const std::string& text) {
  if (list_) {
    *list_ += tandem::detail::concat(
        list_->empty() ? "" : ", ", to_string(path), " (", text, ") has ", n, " rows");
    return;
  }
  differ_ |= rows_.value_or(n) != n;
  rows_ = rows_.value_or(n);
}

void RowCount::refuse() const {
  throw InvalidArgument(
      "scatter: the arguments differ in their number of rows: " + list_.value_or("") +
      "; wrap an argument that is not to be split in replicate(...), and one whose rows are in "
      "another dimension in split(..., dim)");
}

}  // namespace tandem::parallel::detail
