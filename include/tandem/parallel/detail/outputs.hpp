// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

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

/// What a replica returned, as lists. A number marked Combined does not count as a constant.
struct OutputParts {
  std::vector<Tensor> tensors;
  std::vector<LeafRule> rules;  // by tensor
  std::vector<std::string> constants;
  std::vector<double> numbers;
  std::vector<Combine> hows;  // by number
};

template <class T>
OutputParts take_apart(const T& output, int dim) {
  OutputParts parts;
  auto f = [&](const auto& part, const LeafRule& rule, const LeafPath&) {
    using U = std::remove_cvref_t<decltype(part)>;
    static_assert(!is_rows<U>, "Rows are for arguments; return a tensor");
    if constexpr (std::derived_from<U, Tensor>) {
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
void put_together(T& output, std::span<const Tensor> tensors, std::span<const double> numbers) {
  std::size_t t = 0, n = 0;
  auto f = [&](auto& part, const LeafRule& rule, const LeafPath&) {
    using U = std::remove_reference_t<decltype(part)>;
    if constexpr (std::derived_from<U, Tensor>) {
      static_cast<Tensor&>(part) = tensors[t++];
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

/// @throws InvalidArgument  the parts differ in their number of tensors or numbers, or in a
///                          constant.
void check_parts(std::span<const OutputParts> parts);
/// How to join the k-th tensors of `parts`, by the rules of the first part.
JoinRule join_rule(std::span<const OutputParts> parts, std::size_t k, const GatherOptions& options);
/// Records on the tape if it is on.
Tensor join(std::span<const Tensor> parts, const JoinRule& rule, Device device);
std::vector<double> combine_numbers(std::span<const OutputParts> parts,
                                    const GatherOptions& options);
/// All tensors of `parts`, joined.
/// @param all  how to combine tensors that are not marked; none: by the rules.
std::vector<Tensor> join_all(std::vector<OutputParts>& parts,
                             Device device,
                             const GatherOptions& options,
                             std::optional<Combine> all);

template <TensorNest T>
T gather_parts(std::span<const T> values,
               Device device,
               const GatherOptions& options,
               std::optional<Combine> all) {
  std::vector<OutputParts> parts;
  for (const T& value : values)
    parts.push_back(take_apart(value, options.dim));
  check_parts(parts);
  const std::vector<Tensor> tensors = join_all(parts, device, options, all);
  T result = values[0];
  put_together(result, tensors, combine_numbers(parts, options));
  return result;
}

}  // namespace detail

}  // namespace tandem::parallel
