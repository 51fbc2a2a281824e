// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/exchange_method.hpp"

#include <algorithm>
#include <string_view>

namespace tandem::comm {

Exchange::Method method_of(const Problem& problem) {
  return {.numbers = {problem.root, problem.segment, problem.group}};
}

const Algorithm& algorithm_of(const Exchange& exchange) {
  return algorithm(exchange.method.name);
}

bool is_direct(const Exchange& exchange) {
  return std::string_view(exchange.method.name) == Exchange::Method().name;
}

Problem problem_of(const Exchange& exchange, Collective::Kind kind, std::size_t itemsize) {
  const auto& [root, segment, group] = exchange.method.numbers;
  return {.kind = kind,
          .ranks = exchange.ranks,
          .count = static_cast<std::int64_t>(exchange.nbytes / itemsize),
          .root = std::max(static_cast<int>(root), 0),
          .segment = std::max<std::int64_t>(segment, 1),
          .group = static_cast<int>(group)};
}

}  // namespace tandem::comm
