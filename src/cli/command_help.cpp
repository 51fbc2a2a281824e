// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/command_help.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "cli/subject.hpp"

namespace tandem::cli {
namespace {

constexpr std::size_t kColumns = 80, kFlagColumns = 30, kCommandColumns = 14;

/// Breaks lines between words, so that none has more than `columns`, unless a word has.
std::string wrapped(const std::string& text, std::size_t columns) {
  std::istringstream words(text);
  std::string lines, word;
  std::size_t used = 0;
  while (words >> word) {
    const bool fits = used + 1 + word.size() <= columns;
    if (!lines.empty()) lines += fits ? ' ' : '\n';
    lines += word;
    used = fits && used > 0 ? used + 1 + word.size() : word.size();
  }
  return lines;
}

std::vector<const CLI::Option*> flags_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

/// The commands by purpose.
std::string commands(const CLI::App& app) {
  std::string text, group;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_group().empty()) continue;
    if (command->get_group() != group) {
      text += fmt::format("{}{}:\n", text.empty() ? "\n" : "", command->get_group());
      group = command->get_group();
    }
    text += fmt::format(
        "  {:<{}} {}\n", command->get_name(), kCommandColumns, command->get_description());
  }
  return text;
}

}  // namespace

CommandHelp::CommandHelp(std::vector<std::string> first_flags)
    : first_flags_(std::move(first_flags)) {
  column_width(kFlagColumns);
  label("SUBCOMMAND", "COMMAND");
}

std::string CommandHelp::make_help(const CLI::App* app,
                                   std::string name,
                                   CLI::AppFormatMode mode) const {
  const bool all = mode == CLI::AppFormatMode::All || first_flags_.empty();
  const auto is_first = [&](const CLI::Option* option) {
    return std::ranges::any_of(first_flags_,
                               [&](const auto& flag) { return option->check_name(flag); });
  };
  std::string text = wrapped(app->get_description(), kColumns) + "\n";
  text += make_usage(app, name);
  text += make_positionals(app);
  text += commands(*app);
  text +=
      flags_by_subject(*app, [&](const CLI::Option* option) { return all || is_first(option); });
  if (!all)
    text += fmt::format("\n{} --help-all prints all {} options.\n", name, flags_of(*app).size());
  if (!app->get_footer().empty()) text += "\n" + wrapped(app->get_footer(), kColumns) + "\n";
  return text;
}

std::string CommandHelp::flags_by_subject(
    const CLI::App& app, const std::function<bool(const CLI::Option*)>& is_wanted) const {
  const bool is_command = app.get_subcommands({}).empty();
  std::string text;
  for (const std::string& subject : all_subjects()) {
    std::vector<const CLI::Option*> options = flags_of(app);
    std::erase_if(options, [&](const CLI::Option* option) {
      return option->get_group() != subject || !is_wanted(option);
    });
    if (options.empty()) continue;
    if (is_command) text += "\n";
    text += subject + ":\n";
    for (const CLI::Option* option : options)
      text += make_option(option, false);
  }
  return text;
}

std::string CommandHelp::make_option_desc(const CLI::Option* option) const {
  return wrapped(option->get_description(), kColumns - kFlagColumns);
}

}  // namespace tandem::cli
