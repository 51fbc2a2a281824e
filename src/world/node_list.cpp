// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/node_list.hpp"

#include <charconv>

#include "tandem/core/check.hpp"

namespace tandem::world {
namespace {

constexpr std::size_t kMostNodes = 100'000;

[[noreturn]] void refuse(std::string_view list, const char* why) {
  throw InvalidArgument(
      tandem::detail::concat("list of nodes '",
                             list,
                             "': ",
                             why,
                             "; expected a list as Slurm writes it, such as n[1-2,7]"));
}

int number(std::string_view digits, std::string_view list) {
  int x = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), x);
  if (error != std::errc{} || end != digits.data() + digits.size() || x < 0)
    refuse(list, "a range is not of numbers");
  return x;
}

/// The parts of a text between the separators that are in no brackets.
std::vector<std::string_view> split_outside(std::string_view text, std::string_view list) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0, depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    } else if (text[i] == '[') {
      if (++depth > 1) refuse(list, "brackets in brackets");
    } else if (text[i] == ']') {
      if (depth-- == 0) refuse(list, "a bracket is closed that was not opened");
    }
  }
  if (depth != 0) refuse(list, "a bracket is not closed");
  return parts;
}

/// "01-03" gives 01, 02, 03.
std::vector<std::string> numbers_of(std::string_view range, std::string_view list) {
  const std::size_t dash = range.find('-');
  const std::string_view low = range.substr(0, dash);
  const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
  const int first = number(low, list), last = number(high, list);
  if (last < first || static_cast<std::size_t>(last - first) >= kMostNodes)
    refuse(list, "a range goes down, or is too long");
  std::vector<std::string> all;
  for (int i = first; i <= last; ++i) {
    const std::string digits = std::to_string(i);
    const std::size_t zeros = low.size() > digits.size() ? low.size() - digits.size() : 0;
    all.push_back(std::string(zeros, '0') + digits);
  }
  return all;
}

/// Puts the names that a part with brackets stands for behind the others.
void expand(const std::string& head,
            std::string_view rest,
            std::string_view list,
            std::vector<std::string>& names) {
  const std::size_t open = rest.find('[');
  if (open == std::string_view::npos) {
    names.push_back(head + std::string(rest));
    if (names.back().empty()) refuse(list, "a name is empty");
    if (names.size() > kMostNodes) refuse(list, "it has too many nodes");
    return;
  }
  const std::size_t close = rest.find(']', open);
  for (const std::string_view range : split_outside(rest.substr(open + 1, close - open - 1), list))
    for (const std::string& n : numbers_of(range, list))
      expand(tandem::detail::concat(head, rest.substr(0, open), n),
             rest.substr(close + 1),
             list,
             names);
}

}  // namespace

std::vector<std::string> expand_node_list(std::string_view list) {
  std::vector<std::string> names;
  for (const std::string_view part : split_outside(list, list))
    expand("", part, list, names);
  return names;
}

}  // namespace tandem::world
