// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/completion.hpp"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace tandem::cli {
namespace {

// Both shells ask a function for the words that may come: after a command ("cluster show"), or
// after an option of it that takes a value ("train:--model"). It fails where there is no such
// thing.
constexpr const char* kBash = R"(
_tandem() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= words
  if [[ $word == = ]]; then word=; fi
  if [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
  if (( COMP_CWORD > 1 )); then command=${COMP_WORDS[1]}; fi
  if (( COMP_CWORD > 2 )) && _tandem_words "$command ${COMP_WORDS[2]}" > /dev/null; then command+=" ${COMP_WORDS[2]}"; fi
  local of=$command
  if [[ $word == -* ]]; then of+=:-; fi
  words=$(_tandem_words "$command:$before") || words=$(_tandem_words "$of") || words=
  local first=
  if [[ $word == *,* ]]; then first=${word%,*},; fi
  COMPREPLY=($(compgen -P "$first" -W "$words" -- "${word##*,}"))
}
complete -o default -F _tandem tandem
)";

constexpr const char* kZsh = R"(
_tandem() {
  local command= before=${words[CURRENT-1]} list
  if (( CURRENT > 2 )); then command=${words[2]}; fi
  if (( CURRENT > 3 )) && _tandem_words "$command ${words[3]}" > /dev/null; then command+=" ${words[3]}"; fi
  if [[ $PREFIX == --*=* ]]; then before=${PREFIX%%=*}; compset -P '*='; fi
  local of=$command
  if [[ $PREFIX == -* ]]; then of+=:-; fi
  list=$(_tandem_words "$command:$before") || list=$(_tandem_words "$of") || list=
  compset -P '*,'
  if [[ -z $list ]] || ! compadd -- ${=list}; then _files; fi
}
if [[ $funcstack[1] == _tandem ]]; then _tandem "$@"; else compdef _tandem tandem; fi
)";

bool is_shown(const CLI::App* app) {
  return !app->get_group().empty();
}

/// The values of an option that takes one of a few: the help has them in braces.
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames())
    names.push_back("--" + name);
  return names;
}

std::string answer(const std::string& after, const std::vector<std::string>& words) {
  return fmt::format("    '{}') echo '{}' ;;\n", after, fmt::join(words, " "));
}

/// What may come after a command, and after its options; then the same of its commands.
std::string answers(const CLI::App& app, const std::string& command) {
  std::string text;
  std::vector<std::string> words, options;
  for (const CLI::App* member : app.get_subcommands(is_shown)) {
    words.push_back(member->get_name());
    text += answers(*member, command.empty() ? words.back() : command + " " + words.back());
  }
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional()) {
      std::ranges::copy(values_of(*option), std::back_inserter(words));
      continue;
    }
    const std::vector<std::string> names = names_of(*option);
    std::ranges::copy(names, std::back_inserter(options));
    if (option->get_items_expected_min() == 0) continue;  // the value may be left out
    for (const std::string& name : names)
      text += answer(fmt::format("{}:{}", command, name), values_of(*option));
  }
  return text + answer(command, words) + answer(fmt::format("{}:-", command), options);
}

}  // namespace

std::string completion_script(const CLI::App& app, Shell shell) {
  return fmt::format("{}_tandem_words() {{\n  case \"$1\" in\n{}    *) return 1 ;;\n  esac\n}}\n{}",
                     shell == Shell::zsh ? "#compdef tandem\n" : "# For bash.\n",
                     answers(app, ""),
                     shell == Shell::zsh ? kZsh : kBash);
}

}  // namespace tandem::cli
