// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/nest.hpp"

namespace tandem::parallel {

/// An argument that every replica gets whole: `dp(x, replicate(table))`.
template <Nest T>
struct Replicated {
  T value;
};
template <Nest T>
Replicated<T> replicate(T value) {
  return {std::move(value)};
}

/// An argument that is split along a dimension of its own: `dp(x, split(mask, 1))`.
template <Nest T>
struct Split {
  T value;
  int dim;
};
template <Nest T>
Split<T> split(T value, int dim) {
  return {std::move(value), dim};
}

namespace detail {

template <class T>
inline constexpr bool is_replicated = false;
template <class T>
inline constexpr bool is_replicated<Replicated<T>> = true;
template <class T>
inline constexpr bool is_split = false;
template <class T>
inline constexpr bool is_split<Split<T>> = true;

/// Checks that `x` has as many rows as what came before it; the first sets `rows`.
void check_rows(const Tensor& x,
                int dim,
                const std::string& argument,
                std::optional<std::int64_t>& rows);
/// Rows `range` of `x`, on `device`: a view where `x` is there already, else a counted copy.
Tensor take_rows(const Tensor& x, int dim, RowRange range, Device device);
/// A copy of `x` on `device`, or `x` itself.
Tensor take_whole(const Tensor& x, Device device);

/// Finds the rows of one argument's tensors.
template <class T>
void count_rows(const T& argument,
                int dim,
                const std::string& name,
                std::optional<std::int64_t>& rows) {
  if constexpr (is_replicated<T>) {
    return;
  } else if constexpr (is_split<T>) {
    count_rows(argument.value, argument.dim, name, rows);
  } else {
    for_each_leaf(argument, [&](const Tensor& x) { check_rows(x, dim, name, rows); });
  }
}

/// One device's part of one argument.
template <class T>
auto take_part(const T& argument, int dim, RowRange range, Device device) {
  if constexpr (is_replicated<T>) {
    return map_leaves(argument.value, [&](const Tensor& x) { return take_whole(x, device); });
  } else if constexpr (is_split<T>) {
    return map_leaves(argument.value,
                      [&](const Tensor& x) { return take_rows(x, argument.dim, range, device); });
  } else {
    return map_leaves(argument, [&](const Tensor& x) { return take_rows(x, dim, range, device); });
  }
}

/// Joins parts along `dim` on `device`; scalars are stacked into a vector.
Tensor join_rows(std::span<const Tensor> parts, int dim, Device device);

/// @throws InvalidArgument  numbers or texts differ between parts.
void check_constants(std::span<const std::vector<std::string>> constants);

}  // namespace detail

/// Rows of all arguments that are split, which must agree.
///
/// @throws InvalidArgument  they differ, or no argument has rows: the arguments are named by place.
template <class... Args>
std::int64_t count_rows(int dim, const Args&... arguments) {
  std::optional<std::int64_t> rows;
  int place = 0;
  (detail::count_rows(arguments, dim, "argument " + std::to_string(place++), rows), ...);
  TANDEM_CHECK(rows.has_value(),
               "scatter: no argument has a tensor to split; give one, or call the module itself");
  return *rows;
}

/// Splits a nest along `dim` into parts of the given rows, one on each device; other values are
/// copied.
///
/// @throws InvalidArgument  sizes do not add up, devices and sizes differ in number, tensors differ
/// in rows.
template <Nest T>
std::vector<T> scatter(const T& value,
                       std::span<const Device> devices,
                       std::span<const std::int64_t> sizes,
                       int dim = 0) {
  TANDEM_CHECK(devices.size() == sizes.size(),
               "scatter: ",
               devices.size(),
               " devices but ",
               sizes.size(),
               " sizes");
  const std::int64_t rows = count_rows(dim, value);
  std::vector<T> parts;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    TANDEM_CHECK(sizes[i] >= 0 && begin + sizes[i] <= rows,
                 "scatter: sizes take rows ",
                 begin,
                 " to ",
                 begin + sizes[i],
                 " of ",
                 rows);
    parts.push_back(detail::take_part(value, dim, {begin, begin + sizes[i]}, devices[i]));
    begin += sizes[i];
  }
  TANDEM_CHECK(begin == rows, "scatter: sizes add up to ", begin, " rows, the value has ", rows);
  return parts;
}

/// Joins the parts of a nest along `dim` on `device`; scalars become a vector, numbers and texts
/// must agree.
///
/// @throws InvalidArgument  parts differ in their number of tensors, in shape beside `dim`, or in a
/// number.
template <Nest T>
T gather(std::span<const T> parts, Device device, int dim = 0) {
  std::vector<std::vector<std::string>> constants_of_parts;
  for (const T& part : parts)
    constants_of_parts.push_back(constants(part));
  detail::check_constants(constants_of_parts);
  return gather_leaves(parts, [&](const std::vector<Tensor>& column) {
    return detail::join_rows(column, dim, device);
  });
}

}  // namespace tandem::parallel
