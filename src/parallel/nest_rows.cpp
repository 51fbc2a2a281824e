// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/nest_rows.hpp"

namespace tandem::parallel::detail {

void check_rows(const Tensor& x,
                int dim,
                const std::string& argument,
                std::optional<std::int64_t>& rows) {
  if (!x.defined()) return;
  TANDEM_CHECK(x.ndim() > 0,
               "scatter: ",
               argument,
               " holds a scalar tensor, which has no rows; wrap it in replicate(...)");
  const std::int64_t n = x.size(dim);
  TANDEM_CHECK(!rows || *rows == n,
               "scatter: ",
               argument,
               " (",
               x.describe(),
               ") has ",
               n,
               " rows in dimension ",
               dim,
               ", the arguments before it ",
               rows.value_or(0),
               "; wrap it in replicate(...) or split(..., dim)");
  rows = n;
}

Tensor take_rows(const Tensor& x, int dim, RowRange range, Device device) {
  if (!x.defined()) return x;
  const ContextScope scope([](Context& c) { c.category = Category::input; });
  return x.narrow(dim, range.begin, range.end - range.begin).to(device);
}

Tensor take_whole(const Tensor& x, Device device) {
  if (!x.defined()) return x;
  const ContextScope scope([](Context& c) { c.category = Category::input; });
  return x.to(device);
}

Tensor join_rows(std::span<const Tensor> parts, int dim, Device device) {
  TANDEM_CHECK(!parts.empty(), "gather: there are no parts");
  if (!parts[0].defined()) return {};
  std::vector<Tensor> here;
  for (const Tensor& part : parts) {
    TANDEM_CHECK(
        part.defined(),
        "gather: a tensor is undefined in some parts only; return the same from every replica");
    here.push_back(part.to(device));
  }
  return here[0].ndim() == 0 ? stack(here, 0) : cat(here, dim);
}

void check_constants(std::span<const std::vector<std::string>> constants) {
  for (std::size_t i = 1; i < constants.size(); ++i) {
    TANDEM_CHECK(constants[i].size() == constants[0].size(),
                 "gather: part ",
                 i,
                 " holds ",
                 constants[i].size(),
                 " numbers and texts, part 0 holds ",
                 constants[0].size());
    for (std::size_t k = 0; k < constants[i].size(); ++k) {
      TANDEM_CHECK(constants[i][k] == constants[0][k],
                   "gather: a number or text is '",
                   constants[i][k],
                   "' in part ",
                   i,
                   " and '",
                   constants[0][k],
                   "' in part 0; return the same from every replica, or a tensor");
    }
  }
}

}  // namespace tandem::parallel::detail
