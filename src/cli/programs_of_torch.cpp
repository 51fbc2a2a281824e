// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/programs_of_torch.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "tandem/core/error.hpp"

#include "cli/console.hpp"

namespace tandem::cli {
namespace {

// What python3 -m tandem does, with a sentence where the package is not there.
constexpr const char* kStart = R"(
import importlib.util, runpy, sys
if importlib.util.find_spec('tandem') is None:
    sys.exit(f'tandem: {sys.executable} has no package tandem, which does this: build it by scripts/setup --torch --python '
             'and scripts/wheel in tandem\'s sources, and install the wheel')
runpy.run_module('tandem', run_name='__main__', alter_sys=True)
)";

}  // namespace

bool is_about_torch(std::span<const std::string> words) {
  if (words.empty()) return false;
  if (words.front() == "run" || words.front() == "stand_in") return true;
  if (words.front() == "explain" && words.size() > 1)
    return words[1].ends_with(".json") || words[1].ends_with(".json.gz");
  return words.front() == "memory" && std::ranges::any_of(words, [](const std::string& word) {
           return word == "-m" || word.ends_with(".py") || word.ends_with(".pickle");
         });
}

void become_python(std::span<const std::string> words) {
  console::tell("tandem: {} of a program of PyTorch: python3 -m tandem takes over\n",
                words.front());
  std::vector<std::string> arguments = {"python3", "-c", kStart};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments)
    pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execvp(pointers.front(), pointers.data());
  throw Error(fmt::format("{}: cannot start python3, which does this: {}; install Python 3.11",
                          words.front(),
                          std::generic_category().message(errno)));
}

}  // namespace tandem::cli
