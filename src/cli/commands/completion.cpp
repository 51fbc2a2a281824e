// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/completion.hpp"

#include <string>

#include <CLI/CLI.hpp>

#include "cli/command.hpp"
#include "cli/console.hpp"

namespace tandem::cli {
namespace {

struct CompletionRequest {
  std::string shell, script;

  void add_flags(CLI::App& app) {
    app.add_option("shell", shell, "the shell")->required()->check(CLI::IsMember({"bash", "zsh"}));
    // The tree of commands is there as long as the line is read.
    app.parse_complete_callback([this, &app] {
      script = completion_script(*app.get_parent(), shell == "bash" ? Shell::bash : Shell::zsh);
    });
  }
  int run() const {
    console::print_text(script);
    return 0;
  }
};

}  // namespace

Command completion_command() {
  return make_command<CompletionRequest>(
      {.name = "completion",
       .summary = "print what a shell completes command lines by: source <(tandem completion bash)",
       .purpose = Purpose::hidden});
}

}  // namespace tandem::cli
