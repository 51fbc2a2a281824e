// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/errors/failures.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

namespace tandem::parallel {

bool is_secondary(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const CommAborted&) {
    return true;
  } catch (...) {
    return false;
  }
}

std::vector<std::size_t> failed_among(const std::vector<std::exception_ptr>& errors) {
  std::vector<std::size_t> failed;
  for (std::size_t r = 0; r < errors.size(); ++r)
    if (errors[r] != nullptr) failed.push_back(r);
  return failed;
}

std::size_t cause_among(const std::vector<std::exception_ptr>& errors) {
  const std::vector<std::size_t> failed = failed_among(errors);
  TANDEM_ASSERT(!failed.empty(), "no device has failed");
  const auto cause =
      std::ranges::find_if(failed, [&](std::size_t r) { return !is_secondary(errors[r]); });
  return cause == failed.end() ? failed.front() : *cause;
}

std::vector<std::size_t> other_causes(const std::vector<std::exception_ptr>& errors,
                                      std::size_t first) {
  std::vector<std::size_t> others = failed_among(errors);
  std::erase_if(others, [&](std::size_t r) { return r == first || is_secondary(errors[r]); });
  return others;
}

std::string also(const std::vector<std::string>& others, const std::string& cause) {
  std::vector<std::pair<std::string_view, std::string>> lines;  // what, and by whom
  for (const std::string& other : others) {
    const std::string_view all = other;
    const std::string_view who = all.substr(0, all.find(": "));
    const std::string_view what = all.substr(std::min(who.size() + 2, all.size()));
    const auto line = std::ranges::find(lines, what, [](const auto& l) { return l.first; });
    if (line == lines.end())
      lines.emplace_back(what, who);
    else
      line->second.append(", ").append(who);
  }
  std::string text;
  for (const auto& [what, who] : lines)
    text.append("\n  also ").append(who).append(": ").append(what == cause ? "the same" : what);
  return text;
}

}  // namespace tandem::parallel
