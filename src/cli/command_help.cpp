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

/// The commands by purpose.
std::string commands(const CLI::App& app) {
  std::string text, group;
  for (const CLI::App* command : app.get_subcommands({})) {
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
  std::string text = wrapped(app->get_description(), kColumns) + "\n";
  text += make_usage(app, name);
  text += make_positionals(app);
  text += commands(*app);
  text += all ? flags_by_subject(*app) : first_flags(*app, name);
  if (!app->get_footer().empty()) text += "\n" + wrapped(app->get_footer(), kColumns) + "\n";
  return text;
}

std::string CommandHelp::first_flags(const CLI::App& app, const std::string& name) const {
  std::string text = "\nOptions that most need:\n";
  for (const std::string& flag : first_flags_)
    text += make_option(app.get_option(flag), false);
  const std::size_t all =
      app.get_options([](const CLI::Option* option) { return option->nonpositional(); }).size();
  return text + fmt::format("\n{} --help-all prints all {} options, by subject.\n", name, all);
}

std::string CommandHelp::flags_by_subject(const CLI::App& app) const {
  const bool is_command = app.get_subcommands({}).empty();
  std::string text;
  for (const std::string& subject : all_subjects()) {
    const auto options = app.get_options([&](const CLI::Option* option) {
      return option->get_group() == subject && option->nonpositional();
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
