// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/parallel/leaf_ops.hpp"
#include "tandem/parallel/marks.hpp"
#include "tandem/runtime/device.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel {

/// How parts are joined.
struct GatherOptions {
  int dim = 0;                          ///< the dimension of the rows
  Combine scalars = Combine::stack;     ///< how tensors without dimensions are combined
  std::vector<std::int64_t> rows = {};  ///< of each part; for weighted means
};

namespace detail {

/// What a replica returned, as lists, but for the tensors. A number marked Combined does not count
/// as a constant.
struct OutputFacts {
  std::vector<LeafRule> rules;  // by tensor
  std::vector<std::string> constants;
  std::vector<double> numbers;
  std::vector<Combine> hows;  // by number
};

/// What a replica returned, with tensors of one library.
template <class Leaf>
struct OutputPartsOf : OutputFacts {
  std::vector<Leaf> tensors;
};
using OutputParts = OutputPartsOf<Tensor>;

template <class T>
OutputPartsOf<NestLeaf<T>> take_apart(const T& output, int dim) {
  OutputPartsOf<NestLeaf<T>> parts;
  auto f = [&](const auto& part, const LeafRule& rule, const LeafPath&) {
    using U = std::remove_cvref_t<decltype(part)>;
    static_assert(!is_rows<U>, "Rows are for arguments; return a tensor");
    if constexpr (LeafTensor<U>) {
      parts.tensors.push_back(part);
      parts.rules.push_back(rule);
    } else if constexpr (std::is_arithmetic_v<U>) {
      if (!rule.combine) return parts.constants.push_back(tandem::detail::constant_text(part));
      parts.numbers.push_back(static_cast<double>(part));
      parts.hows.push_back(*rule.combine);
    } else if constexpr (!is_rows<U>) {
      parts.constants.push_back(tandem::detail::constant_text(part));
    }
  };
  visit_marked(output, {.dim = dim}, {}, f);
  return parts;
}

/// Replaces the tensors of a part, and its combined numbers if `numbers` has any, by the joined
/// ones.
template <class T>
void put_together(T& output,
                  std::span<const NestLeaf<T>> tensors,
                  std::span<const double> numbers) {
  std::size_t t = 0, n = 0;
  auto f = [&](auto& part, const LeafRule& rule, const LeafPath&) {
    using U = std::remove_reference_t<decltype(part)>;
    if constexpr (LeafTensor<U>) {
      static_cast<NestLeaf<T>&>(part) = tensors[t++];
    } else if constexpr (std::is_arithmetic_v<U> && !std::is_const_v<U>) {
      if (rule.combine && !numbers.empty()) part = static_cast<U>(numbers[n++]);
    }
  };
  visit_marked(output, {}, {}, f);
}

/// How the parts of one tensor are joined.
struct JoinRule {
  enum class Kind : std::uint8_t { rows, stack, weigh };
  Kind kind = Kind::rows;
  int dim = 0;
  std::vector<double> factors;  // by part; for `weigh`
};

/// Throws if what the i-th part returned does not fit what part 0 did.
/// @param devices  of the two, for messages.
void check_part(const OutputFacts& part,
                const OutputFacts& first,
                std::size_t i,
                const std::function<std::string()>& devices);

/// The devices of two parts, where they hold tensors that say so.
template <class Leaf>
std::string devices_of(const OutputPartsOf<Leaf>& part, const OutputPartsOf<Leaf>& first) {
  using Ops = LeafOps<Leaf>;
  const auto a = std::ranges::find_if(part.tensors, &Ops::defined);
  const auto b = std::ranges::find_if(first.tensors, &Ops::defined);
  if (a == part.tensors.end() || b == first.tensors.end()) return "";
  return " (on " + Ops::device_name(*a) + " and " + Ops::device_name(*b) + ")";
}

/// @throws InvalidArgument  there are no parts, or they differ in their number of tensors or
///                          numbers, or in a constant.
template <class Leaf>
void check_parts(const std::vector<OutputPartsOf<Leaf>>& parts) {
  TANDEM_CHECK(!parts.empty(), "gather: there are no parts");
  for (std::size_t i = 1; i < parts.size(); ++i)
    check_part(parts[i], parts[0], i, [&] { return devices_of(parts[i], parts[0]); });
}

/// By what a part's tensor, number or scalar counts in the result.
/// @throws InvalidArgument  a weighted mean of other than rows.size() parts, or of no rows.
std::vector<double> factors(Combine how, std::size_t parts, const std::vector<std::int64_t>& rows);

/// How to join the k-th tensors of `parts`, by the rules of the first part.
/// @throws InvalidArgument  a mean of integers.
template <class Leaf>
JoinRule join_rule(const std::vector<OutputPartsOf<Leaf>>& parts,
                   std::size_t k,
                   const GatherOptions& options) {
  using Ops = LeafOps<Leaf>;
  const LeafRule& marks = parts[0].rules[k];
  const Leaf& first = parts[0].tensors[k];
  if (!Ops::defined(first) || (!marks.combine && Ops::ndim(first) > 0))
    return {JoinRule::Kind::rows, marks.dim, {}};
  const Combine how = marks.combine.value_or(options.scalars);
  if (how == Combine::stack) return {JoinRule::Kind::stack, 0, {}};
  TANDEM_CHECK(how == Combine::sum || Ops::is_float(first),
               "gather: a mean needs floats, got ",
               Ops::describe(first),
               "; return floats, or use Combine::sum");
  return {JoinRule::Kind::weigh, 0, factors(how, parts.size(), options.rows)};
}

/// Whether b can be joined to a.
template <class Leaf>
bool fit(const Leaf& a, const Leaf& b, const JoinRule& rule) {
  using Ops = LeafOps<Leaf>;
  const int ndim = Ops::ndim(a);
  if (ndim != Ops::ndim(b) || !Ops::same_dtype(a, b)) return false;
  const bool rows = rule.kind == JoinRule::Kind::rows;
  const int dim = rule.dim < 0 ? rule.dim + ndim : rule.dim;
  if (rows && (dim < 0 || dim >= ndim)) return true;  // refused by cat
  for (int d = 0; d < ndim; ++d)
    if (!(rows && d == dim) && Ops::size(a, d) != Ops::size(b, d)) return false;
  return true;
}

/// Checks what is to become one tensor. @return  false if it is undefined in all parts.
/// @throws InvalidArgument  it is undefined in some, or dtypes or shapes do not fit.
template <class Leaf>
bool check_column(const std::vector<Leaf>& parts, const JoinRule& rule) {
  using Ops = LeafOps<Leaf>;
  const auto defined = std::ranges::count_if(parts, &Ops::defined);
  if (defined == 0) return false;
  TANDEM_CHECK(
      defined == std::ssize(parts),
      "gather: a tensor is defined in some parts only; return it from every replica or from none");
  for (std::size_t i = 1; i < parts.size(); ++i)
    TANDEM_CHECK(
        fit(parts[0], parts[i], rule),
        "gather: a tensor is ",
        Ops::describe(parts[i]),
        " in part ",
        i,
        " and ",
        Ops::describe(parts[0]),
        " in part 0; return the same dtype and, but for the number of rows, the same shape from "
        "every replica");
  return true;
}

/// Joins the parts of one tensor. Records on the tape if it is on.
template <class Leaf>
Leaf join(const std::vector<Leaf>& parts, const JoinRule& rule, Device device) {
  using Ops = LeafOps<Leaf>;
  if (!check_column(parts, rule)) return {};
  std::vector<Leaf> here = Ops::all_to(parts, device);
  if (rule.kind == JoinRule::Kind::rows) return Ops::cat(here, rule.dim);
  if (rule.kind == JoinRule::Kind::stack) return Ops::stack(here);
  for (std::size_t i = 0; i < here.size(); ++i)
    if (rule.factors[i] != 1) here[i] = Ops::multiply(here[i], rule.factors[i]);
  Leaf total = here[0];
  for (std::size_t i = 1; i < here.size(); ++i)
    total = Ops::add(total, here[i]);
  return total;
}

/// The numbers that are marked Combined, combined.
template <class Leaf>
std::vector<double> combine_numbers(const std::vector<OutputPartsOf<Leaf>>& parts,
                                    const GatherOptions& options) {
  std::vector<double> result;
  for (std::size_t k = 0; k < parts[0].numbers.size(); ++k) {
    const std::vector<double> weights = factors(parts[0].hows[k], parts.size(), options.rows);
    double total = 0;
    for (std::size_t i = 0; i < parts.size(); ++i)
      total += parts[i].numbers[k] * weights[i];
    result.push_back(total);
  }
  return result;
}

/// All tensors of `parts`, joined.
/// @param all  how to combine tensors that are not marked; none: by the rules.
template <class Leaf>
std::vector<Leaf> join_all(std::vector<OutputPartsOf<Leaf>>& parts,
                           Device device,
                           const GatherOptions& options,
                           std::optional<Combine> all) {
  std::vector<Leaf> joined;
  for (std::size_t k = 0; k < parts[0].tensors.size(); ++k) {
    if (all && !parts[0].rules[k].combine) parts[0].rules[k].combine = all;
    std::vector<Leaf> column;
    for (const auto& part : parts)
      column.push_back(part.tensors[k]);
    joined.push_back(join(column, join_rule(parts, k, options), device));
  }
  return joined;
}

template <TensorNest T>
T gather_parts(std::span<const T> values,
               Device device,
               const GatherOptions& options,
               std::optional<Combine> all) {
  std::vector<OutputPartsOf<NestLeaf<T>>> parts;
  for (const T& value : values)
    parts.push_back(take_apart(value, options.dim));
  check_parts(parts);
  const auto tensors = join_all(parts, device, options, all);
  T result = values[0];
  put_together(result, tensors, combine_numbers(parts, options));
  return result;
}

}  // namespace detail

}  // namespace tandem::parallel
