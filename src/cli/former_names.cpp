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

/// A command that was one of its own. Those with a `file` wrote one, named by --output.
struct FormerName {
  std::string_view name, now;
  const char* is;
  std::string_view file_flag = {}, usual_file = {};
};
constexpr std::array kFormerNames{
    FormerName{"verify", "compare --verify", "a form of compare"},
    FormerName{"report", "compare", "an output of compare", "--html", "report.html"},
    FormerName{"trace", "explain", "an output of explain", "--trace", "trace.json"},
    FormerName{"calibrate", "cluster calibrate", "a command of cluster"},
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
  constexpr std::string_view kOutput = "--output";
  std::string line = fmt::format("tandem {}", former.now), rest;
  bool names_file = former.file_flag.empty();
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool is_output = !former.file_flag.empty() && word.starts_with(kOutput) &&
                           (word.size() == kOutput.size() || word[kOutput.size()] == '=');
    names_file |= is_output;
    rest += ' ';
    rest += quoted(is_output ? fmt::format("{}{}", former.file_flag, word.substr(kOutput.size()))
                             : word);
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
