// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/parallel/detail/nest_rows.hpp"
#include "tandem/parallel/detail/outputs.hpp"

namespace tandem::parallel {

/// Splits an argument along `dim` into parts with the given numbers of rows, one on each device.
/// Other values are copied.
///
/// @throws InvalidArgument  the sizes do not add up, there are more or fewer devices than sizes, or
///                          tensors differ in rows.
template <Argument T>
std::vector<detail::PartOf<T>> scatter(const T& value,
                                       std::span<const Device> devices,
                                       std::span<const std::int64_t> sizes,
                                       int dim = 0) {
  TANDEM_CHECK(devices.size() == sizes.size(),
               "scatter: got ",
               devices.size(),
               " devices but ",
               sizes.size(),
               " sizes; give one size for each device");
  const std::int64_t rows = count_rows(dim, value);
  std::vector<detail::PartOf<T>> parts;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    TANDEM_CHECK(sizes[i] >= 0 && begin + sizes[i] <= rows,
                 "scatter: sizes take rows ",
                 begin,
                 " to ",
                 begin + sizes[i],
                 " of ",
                 rows);
    const Replica replica{static_cast<int>(i), devices[i], {begin, begin + sizes[i]}};
    parts.push_back(detail::take_part(value, dim, replica));
    begin += sizes[i];
  }
  TANDEM_CHECK(
      begin == rows, "scatter: sizes add up to ", begin, " rows, but the value has ", rows);
  return parts;
}

/// Joins the parts of a nest on `device`: tensors along the dimension of the rows, scalars and
/// outputs marked Combined as they say. Other numbers and texts must agree. Differentiable.
///
/// @throws InvalidArgument  there are no parts, or they differ in their number of tensors, in
///                          dtype, in shape apart from the rows, or in a number or text.
template <TensorNest T>
T gather(std::span<const T> parts, Device device, const GatherOptions& options) {
  return detail::gather_parts(parts, device, options, std::nullopt);
}
template <TensorNest T>
T gather(std::span<const T> parts, Device device, int dim = 0) {
  return detail::gather_parts(parts, device, {.dim = dim}, std::nullopt);
}

}  // namespace tandem::parallel
