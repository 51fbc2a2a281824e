// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/detail/nest_rows.hpp"

namespace tandem::parallel::detail {

void RowCount::add_tensor(const Tensor& x, int dim, const LeafPath& path) {
  if (!x.defined()) return;
  TANDEM_CHECK(x.ndim() > 0,
               "scatter: ",
               to_string(path),
               " is a scalar tensor, which has no rows; wrap it in replicate(...)");
  TANDEM_CHECK(
      dim >= -x.ndim() && dim < x.ndim(),
      "scatter: ",
      to_string(path),
      " (",
      x.describe(),
      ") has no dimension ",
      dim,
      "; name the dimension of its rows with split(..., dim), or wrap it in replicate(...)");
  const std::int64_t n = x.size(dim);
  if (list_) {
    add_rows(n, path, tandem::detail::concat(x.describe(), ", dimension ", dim));
  } else {
    add_rows(n, path);
  }
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

Tensor take_rows(const Tensor& x, int dim, RowRange range, Device device) {
  if (!x.defined()) return x;
  const ContextScope scope([](Context& c) { c.category = Category::input; });
  return x.narrow(dim, range.begin, range.size()).to(device, NonBlocking::yes);
}

Tensor take_whole(const Tensor& x, Device device) {
  if (!x.defined()) return x;
  const ContextScope scope([](Context& c) { c.category = Category::input; });
  return x.to(device, NonBlocking::yes);
}

}  // namespace tandem::parallel::detail
