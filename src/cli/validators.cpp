// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/validators.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace tandem::cli {
namespace {

/// The whole of `text` as a number, if it is one.
template <class T>
bool parse_number(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end;
}

/// A number that `holds`, or the sentence that it `needs` to be one.
template <class T, class Holds>
CLI::Validator number(const std::string& needs, const std::string& help, Holds holds) {
  const auto check = [needs, holds](std::string& text) -> std::string {
    T value{};
    if (parse_number(text, value) && holds(value)) return {};
    return fmt::format("needs {}, not '{}'", needs, text);
  };
  return {check, help};
}

}  // namespace

CLI::Validator at_least(std::int64_t least) {
  return number<std::int64_t>(fmt::format("a whole number of at least {}", least),
                              fmt::format("(at least {})", least),
                              [least](std::int64_t value) { return value >= least; });
}

CLI::Validator seed_number() {
  return number<std::uint64_t>(fmt::format("a whole number from 0 to {}", UINT64_MAX),
                               "",
                               [](std::uint64_t) { return true; });
}

CLI::Validator above_zero() {
  return number<double>("a number above 0", "(above 0)", [](double value) {
    return value > 0 && std::isfinite(value);
  });
}

CLI::Validator zero_or_more() {
  return number<double>("a number of at least 0", "(at least 0)", [](double value) {
    return value >= 0 && std::isfinite(value);
  });
}

CLI::Validator within(double least, double most) {
  return number<double>(fmt::format("a number from {} to {}", least, most),
                        fmt::format("({} to {})", least, most),
                        [least, most](double value) { return value >= least && value <= most; });
}

CLI::Validator list_of(const CLI::Validator& one) {
  const auto check = [one](std::string& text) -> std::string {
    std::vector<std::string> parts = split_list(text);
    for (std::string& part : parts) {
      if (std::string wrong = one(part); !wrong.empty()) return wrong;
    }
    text = CLI::detail::join(parts, ",");
    return {};
  };
  return {check, one.get_description()};
}

CLI::Validator dash_for_stdout() {
  const auto same = [](std::string& text) -> std::string {
    if (text == "/dev/stdout") text = "-";
    return {};
  };
  return {same, ""};
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::vector<std::int64_t> split_numbers(const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (const std::string& part : split_list(text))
    parse_number(part, numbers.emplace_back());
  return numbers;
}

}  // namespace tandem::cli
