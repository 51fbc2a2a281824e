// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/detail/outputs.hpp"

#include <algorithm>
#include <numeric>

#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/index.hpp"

namespace tandem::parallel::detail {
namespace {

std::vector<double> factors(Combine how, std::size_t parts, const std::vector<std::int64_t>& rows) {
  std::vector<double> result(parts, 1.0);
  if (how == Combine::mean) std::ranges::fill(result, 1.0 / static_cast<double>(parts));
  if (how != Combine::weighted_mean) return result;
  TANDEM_CHECK(rows.size() == parts,
               "gather: a weighted mean of ",
               parts,
               " parts needs the rows of each, but ",
               rows.size(),
               " were given");
  const auto total = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  TANDEM_CHECK(total > 0, "gather: a weighted mean needs parts that have rows");
  for (std::size_t i = 0; i < parts; ++i)
    result[i] = static_cast<double>(rows[i]) / static_cast<double>(total);
  return result;
}

Tensor weigh(const Tensor& x, double factor) {
  return factor == 1 ? x : x * factor;
}

/// The devices of two parts, where they hold tensors that say so.
std::string devices_of(const OutputParts& part, const OutputParts& first) {
  const auto defined = [](const OutputParts& p) {
    return std::ranges::find_if(p.tensors, &Tensor::defined);
  };
  const auto a = defined(part), b = defined(first);
  if (a == part.tensors.end() || b == first.tensors.end()) return "";
  return tandem::detail::concat(" (on ", a->device(), " and ", b->device(), ")");
}

/// What is to become one tensor has one type, and shapes that fit.
void check_column(std::span<const Tensor> parts, const JoinRule& rule) {
  const auto fit = [&](Shape a, Shape b) {
    if (rule.kind != JoinRule::Kind::rows || a.size() != b.size()) return a == b;
    const int dim = rule.dim < 0 ? rule.dim + a.size() : rule.dim;
    if (dim < 0 || dim >= a.size()) return true;  // refused by cat
    a[dim] = b[dim] = 0;
    return a == b;
  };
  for (std::size_t i = 1; i < parts.size(); ++i) {
    TANDEM_CHECK(
        parts[i].dtype() == parts[0].dtype() && fit(parts[i].shape(), parts[0].shape()),
        "gather: a tensor is ",
        parts[i].describe(),
        " in part ",
        i,
        " and ",
        parts[0].describe(),
        " in part 0; return the same dtype and, but for the number of rows, the same shape from "
        "every replica");
  }
}

}  // namespace

void check_parts(std::span<const OutputParts> parts) {
  TANDEM_CHECK(!parts.empty(), "gather: there are no parts");
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto check_count = [&](std::size_t given, std::size_t first, const char* what) {
      TANDEM_CHECK(given == first,
                   "gather: part ",
                   i,
                   " holds ",
                   given,
                   what,
                   ", but part 0 holds ",
                   first,
                   devices_of(parts[i], parts[0]),
                   "; return the same number from every replica");
    };
    check_count(parts[i].tensors.size(), parts[0].tensors.size(), " tensors");
    check_count(parts[i].numbers.size(), parts[0].numbers.size(), " numbers to combine");
    check_count(parts[i].constants.size(), parts[0].constants.size(), " numbers and texts");
    for (std::size_t k = 0; k < parts[i].constants.size(); ++k) {
      TANDEM_CHECK(
          parts[i].constants[k] == parts[0].constants[k],
          "gather: a number or text is '",
          parts[i].constants[k],
          "' in part ",
          i,
          " and '",
          parts[0].constants[k],
          "' in part 0; return the same value from every replica, or a tensor, or a number marked "
          "Combined<T, Combine::sum>");
    }
  }
}

JoinRule join_rule(std::span<const OutputParts> parts,
                   std::size_t k,
                   const GatherOptions& options) {
  const LeafRule& marks = parts[0].rules[k];
  const Tensor& first = parts[0].tensors[k];
  if (!first.defined() || (!marks.combine && first.ndim() > 0)) {
    return {JoinRule::Kind::rows, marks.dim, {}};
  }
  const Combine how = marks.combine.value_or(options.scalars);
  if (how == Combine::stack) return {JoinRule::Kind::stack, 0, {}};
  TANDEM_CHECK(how == Combine::sum || is_float(first.dtype()),
               "gather: a mean needs floats, got ",
               first.describe(),
               "; return floats, or use Combine::sum");
  return {JoinRule::Kind::weigh, 0, factors(how, parts.size(), options.rows)};
}

Tensor join(std::span<const Tensor> parts, const JoinRule& rule, Device device) {
  const auto defined = std::ranges::count_if(parts, &Tensor::defined);
  if (defined == 0) return {};
  TANDEM_CHECK(
      defined == std::ssize(parts),
      "gather: a tensor is defined in some parts only; return it from every replica or from none");
  check_column(parts, rule);
  std::vector<Tensor> here;
  for (const Tensor& part : parts)
    here.push_back(part.to(device));
  if (rule.kind == JoinRule::Kind::rows) return cat(here, rule.dim);
  if (rule.kind == JoinRule::Kind::stack) return stack(here, 0);
  Tensor total = weigh(here[0], rule.factors[0]);
  for (std::size_t i = 1; i < here.size(); ++i)
    total = total + weigh(here[i], rule.factors[i]);
  return total;
}

std::vector<double> combine_numbers(std::span<const OutputParts> parts,
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

std::vector<Tensor> join_all(std::vector<OutputParts>& parts,
                             Device device,
                             const GatherOptions& options,
                             std::optional<Combine> all) {
  std::vector<Tensor> joined;
  for (std::size_t k = 0; k < parts[0].tensors.size(); ++k) {
    if (all && !parts[0].rules[k].combine) parts[0].rules[k].combine = all;
    std::vector<Tensor> column;
    for (const OutputParts& part : parts)
      column.push_back(part.tensors[k]);
    joined.push_back(join(column, join_rule(parts, k, options), device));
  }
  return joined;
}

}  // namespace tandem::parallel::detail
