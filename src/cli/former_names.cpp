// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/former_names.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

/// A command that was one of its own. Those that named a file by `file_was` name it by `file_flag`.
struct FormerName {
  std::string_view name, now;
  const char* is;
  std::string_view file_was = {}, file_flag = {}, usual_file = {};
};
constexpr std::array kFormerNames{
    FormerName{"verify", "compare --verify", "a form of compare"},
    FormerName{"report", "compare", "an output of compare", "--output", "--html", "report.html"},
    FormerName{"trace", "explain", "an output of explain", "--output", "--trace", "trace.json"},
    FormerName{"calibrate", "cluster calibrate", "a command of cluster", "--out", "--output"},
    FormerName{"simulate", "cluster simulate", "a command of cluster"},
    FormerName{"sweep", "cluster sweep", "a command of cluster"},
};

/// A word as one writes it for a shell.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=,.:/@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string new_line(const FormerName& former, const std::vector<std::string>& words) {
  std::string line = fmt::format("tandem {}", former.now), rest;
  bool names_file = former.usual_file.empty();
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t length = former.file_was.size();
    const bool is_output = length > 0 && word.starts_with(former.file_was) &&
                           (word.size() == length || word[length] == '=');
    names_file |= is_output;
    rest += ' ';
    rest += quoted(is_output ? fmt::format("{}{}", former.file_flag, word.substr(length)) : word);
  }
  if (!names_file) line += fmt::format(" {} {}", former.file_flag, former.usual_file);
  return line + rest;
}

}  // namespace

void check_former_name(const std::vector<std::string>& words) {
  if (words.empty()) return;
  const auto* former = std::ranges::find(kFormerNames, words.front(), &FormerName::name);
  if (former == kFormerNames.end()) return;
  throw UsageError(
      fmt::format("'{}' is {} now: {}", former->name, former->is, new_line(*former, words)));
}

}  // namespace tandem::cli
