// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/ranks/unused_parameters.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::parallel {
namespace {

using tandem::detail::concat;

std::string names_of(const optim::ArenaLayout& layout, const std::vector<std::size_t>& places) {
  std::string names;
  for (const std::size_t p : places)
    names += (names.empty() ? "'" : ", '") + layout.places()[p].name + "'";
  return names;
}

}  // namespace

void UnusedParameters::check(const std::vector<std::size_t>& missing) {
  if (options_.static_graph) {
    check_same_as_first(missing);
  } else if (!missing.empty() && !options_.find_unused_parameters) {
    throw InvalidArgument(concat("DistributedDataParallel: on rank ",
                                 comm_.rank(),
                                 " the loss does not depend on ",
                                 names_of(layout_, missing),
                                 ", while the other ranks wait for their gradients; set "
                                 "find_unused_parameters, or let every output count"));
  }
}

void UnusedParameters::check_same_as_first(const std::vector<std::size_t>& missing) {
  if (!static_missing_ || *static_missing_ == missing) {
    static_missing_ = missing;
    return;
  }
  std::vector<std::size_t> other;
  std::ranges::set_symmetric_difference(*static_missing_, missing, std::back_inserter(other));
  throw InvalidArgument(
      concat("DistributedDataParallel: static_graph is set, but on rank ",
             comm_.rank(),
             " this backward differs from the first one in ",
             names_of(layout_, other),
             "; every iteration must use the same parameters, or set find_unused_parameters"));
}

std::vector<std::uint8_t> UnusedParameters::used_anywhere(const std::vector<std::uint8_t>& used) {
  if (!options_.find_unused_parameters) {
    if (!options_.static_graph) return std::vector<std::uint8_t>(used.size(), 1);
    if (static_used_) return *static_used_;
  }
  const ContextScope kept([](Context& c) { c.keeps_data = true; });
  const Tensor flags = from_host(std::span<const std::uint8_t>(used),
                                 {static_cast<std::int64_t>(used.size())},
                                 comm_.device());
  comm_.all_reduce(flags, comm::ReduceOp::max);
  std::vector<std::uint8_t> anywhere = flags.to_host<std::uint8_t>();
  if (options_.static_graph) static_used_ = anywhere;
  return anywhere;
}

}  // namespace tandem::parallel
