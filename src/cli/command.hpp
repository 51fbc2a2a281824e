// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tandem::cli {

/// What a subcommand was asked for. `add_flags` puts the flags that fill the request on the command
/// line. `run` carries it out: results go to stdout, all else to stderr. It returns the exit code.
template <class R>
concept Request = requires(R& filled, const R& asked, CLI::App& app) {
  filled.add_flags(app);
  { asked.run() } -> std::same_as<int>;
};

/// What someone wants who looks for a command: the groups of `tandem --help`, which does not list
/// what is hidden.
enum class Purpose : std::uint8_t { start, train, machines, processes, hidden };

/// A subcommand, as main and --help see it.
struct Command {
  std::string name;  ///< "train", or that of a family and one of its commands: "cluster list"
  std::string summary;
  Purpose purpose;
  /// Up to ten flags that everybody needs, which --help prints. None: it prints all.
  std::vector<std::string> first_flags = {};
  /// Puts the flags of a new request on `app`. Returns what carries the request out. Empty: this is
  /// a family, whose commands follow, or the Python package carries it out (is_about_torch).
  std::function<std::function<int()>(CLI::App& app)> add_to = {};
  /// Puts the flags on `app` that the Python package takes, for completion.
  std::function<void(CLI::App& app)> add_flags_of_package = {};
};

template <Request R>
Command make_command(Command described) {
  described.add_to = [](CLI::App& app) -> std::function<int()> {
    const auto request = std::make_shared<R>();
    request->add_flags(app);
    return [request] { return request->run(); };
  };
  return described;
}

/// All subcommands, in the order of --help. CMakeLists.txt lists them.
std::vector<Command> all_commands();

}  // namespace tandem::cli
