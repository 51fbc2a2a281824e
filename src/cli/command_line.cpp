// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/command_line.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tandem/config.hpp"

#include "cli/command.hpp"
#include "cli/command_help.hpp"
#include "cli/console.hpp"
#include "cli/former_names.hpp"
#include "cli/nearest.hpp"
#include "cli/subject.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

/// "did you mean --batch? See" or, if nothing is near, "see".
std::string advice_for(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string> meant = nearest(word, names);
  return meant.empty() ? "see" : fmt::format("did you mean {}? See", fmt::join(meant, " or "));
}

/// The first word that belongs to no option; empty: there is none. An option comes before a value,
/// which may be that option's.
std::string unknown_word(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(true);
  const auto option = std::ranges::find_if(words, [](const auto& w) { return w.starts_with('-'); });
  if (option != words.end()) return option->substr(0, option->find('='));
  return words.empty() ? "" : words.front();
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
  }
  return names;
}

/// For a command line that the parser refused: what is wrong, and where to read what is right.
UsageError usage_error(const CLI::App& app, const CLI::Error& error) {
  const CLI::App* command = &app;  // the last that was understood
  std::string name = app.get_name();
  while (command->remaining(false).empty() && !command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  const std::string unknown = unknown_word(app);
  if (unknown.starts_with('-')) {
    return UsageError(fmt::format("unknown option '{}'; {} {} --help",
                                  unknown,
                                  advice_for(unknown, option_names(*command)),
                                  name));
  }
  if (!unknown.empty())
    return UsageError(fmt::format("'{}' belongs to no option; see {} --help", unknown, name));
  return UsageError(fmt::format("{}; see {} --help", error.what(), name));
}

/// @throws UsageError  `app` has no command of the first word, or its family none of the next.
void check_command(const CLI::App& app, std::span<const std::string> words, std::string line) {
  std::vector<std::string> names;
  const CLI::App* known = nullptr;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
    if (!words.empty() && names.back() == words.front()) known = command;
  }
  if (known != nullptr)
    return check_command(*known, words.subspan(1), line + " " + known->get_name());
  if (names.empty() || words.empty() || words.front().starts_with('-')) return;
  throw UsageError(fmt::format(
      "unknown command '{}'; {} {} --help", words.front(), advice_for(words.front(), names), line));
}

/// @throws UsageError  a value is empty: a variable of a script that is not set is no way to leave
///                     an option out.
void check_values(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool empty_here =
        word.starts_with("--") && word.ends_with('=') && std::ranges::count(word, '=') == 1;
    const bool empty_next = word.starts_with('-') && i + 1 < words.size() && words[i + 1].empty();
    if (empty_here || empty_next)
      throw UsageError(fmt::format("{} is empty; give a value, or leave out the option",
                                   word.substr(0, word.find('='))));
  }
}

std::string title(Purpose purpose) {
  switch (purpose) {
    case Purpose::start:
      return "Start here";
    case Purpose::train:
      return "Train";
    case Purpose::machines:
      return "Machines";
    case Purpose::processes:
      return "Processes";
    case Purpose::hidden:
      break;
  }
  return "";
}

/// Puts a subcommand on the command line, or a family. If it is given, `chosen` becomes what
/// carries it out.
void add_command(CLI::App& app, const Command& command, std::function<int()>& chosen) {
  const std::size_t space = command.name.find(' ');
  const bool is_member = space != std::string::npos;
  CLI::App* home = is_member ? app.get_subcommand(command.name.substr(0, space)) : &app;
  CLI::App* own = home->add_subcommand(is_member ? command.name.substr(space + 1) : command.name,
                                       command.summary)
                      ->group(is_member ? "Commands" : title(command.purpose));
  own->formatter(std::make_shared<CommandHelp>(command.first_flags));
  own->set_help_flag(
         "-h,--help",
         command.first_flags.empty() ? "print this" : "print the options that most need")
      ->group(title(Subject::help));
  if (command.add_flags_of_package) return command.add_flags_of_package(*own);
  if (!command.add_to) {
    own->require_subcommand(1);
    return;
  }
  const std::function<int()> run = command.add_to(*own);
  own->set_help_all_flag("--help-all", "print all options, by subject")
      ->group(title(Subject::help));
  for (CLI::Option* option : own->get_options())
    if (option->get_items_expected_max() == 0) option->disable_flag_override();  // --quiet=maybe
  own->callback([&chosen, run] { chosen = run; });
}

/// Drops the "--" that may stand before the program of launch, as before those of other launchers.
/// CLI11 would leave the command there.
void drop_separator(std::vector<std::string>& words) {
  if (words.empty() || words.front() != "launch") return;
  std::size_t i = 1;
  while (i < words.size() && words[i].starts_with("--") && words[i] != "--")
    i += words[i].find('=') == std::string::npos ? 2 : 1;  // each option of launch has a value
  if (i < words.size() && words[i] == "--")
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
}

}  // namespace

std::function<int()> read_command_line(int argc, const char* const* argv) {
  CLI::App app{"Trains one model on all devices of this machine, from one process."};
  app.name("tandem");
  app.formatter(std::make_shared<CommandHelp>());
  app.set_help_flag("-h,--help", "print this; after a command, its options")
      ->group(title(Subject::help));
  app.set_version_flag("--version", std::string("tandem ") + version, "print the version")
      ->group(title(Subject::help));
  app.require_subcommand(1);
  std::function<int()> chosen;
  for (const Command& command : all_commands())
    add_command(app, command, chosen);
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  drop_separator(words);
  check_former_name(words);
  check_command(app, words, app.get_name());
  check_values(words);
  try {
    std::ranges::reverse(words);  // as CLI11 takes them
    app.parse(words);
  } catch (const CLI::Success& e) {  // --help, --version
    std::ostringstream text;
    app.exit(e, text, text);
    console::print_text(text.str());
    return {};
  } catch (const CLI::ParseError& e) {
    throw usage_error(app, e);
  }
  return chosen;
}

}  // namespace tandem::cli
