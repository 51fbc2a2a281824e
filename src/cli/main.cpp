// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tandem/config.hpp"
#include "tandem/core/error.hpp"

#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/flags.hpp"
#include "cli/limits.hpp"
#include "cli/nearest.hpp"
#include "cli/signals.hpp"
#include "cli/validators.hpp"
#include "cli/waiting.hpp"

namespace tandem::cli {
namespace {

/// For a wrong command line: what is wrong, and where to read what is right.
UsageError usage_error(const CLI::App& app, const CLI::Error& error) {
  std::string command = "tandem";
  for (const CLI::App* part : app.get_subcommands())
    command += ' ' + part->get_name();
  return UsageError(fmt::format("{}; see {} --help", error.what(), command));
}

/// A command with its options: `add` puts those of a request on it, `run` carries the request out.
template <class Request>
void add_command(CLI::App& app,
                 const char* name,
                 const char* what,
                 void (*add)(CLI::App&, Request&),
                 int (*run)(const Request&),
                 std::function<int()>& chosen) {
  const auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand(name, what);
  add(*command, *request);
  for (CLI::Option* option : command->get_options()) {
    if (option->get_items_expected_max() == 0)
      option->disable_flag_override();          // --quiet=maybe
    else if (option->get_name() != "--prompt")  // which has a sentence of its own
      option->check(not_empty());
  }
  command->callback([&chosen, run, request] { chosen = [run, request] { return run(*request); }; });
}

/// Those that train, and that use what was trained.
void add_training_commands(CLI::App& app, std::function<int()>& chosen) {
  add_command(
      app, "devices", "list the devices of this machine", add_devices_options, run_devices, chosen);
  add_command(
      app, "train", "train a model under DataParallel", add_train_options, run_train, chosen);
  add_command(app,
              "verify",
              "train on the devices and on one alone, and compare the weights",
              add_verify_options,
              run_verify,
              chosen);
  add_command(app,
              "compare",
              "train in each mode from one seed, and compare time, memory, traffic and weights",
              add_compare_options,
              run_compare,
              chosen);
  add_command(app,
              "report",
              "compare, and write what was seen as one HTML file of pictures and numbers",
              add_report_options,
              run_report,
              chosen);
  add_command(
      app, "generate", "write text by a trained model", add_generate_options, run_generate, chosen);
}

/// Those that look at a part of it.
void add_looking_commands(CLI::App& app, std::function<int()>& chosen) {
  add_command(app,
              "explain",
              "say what one training step did, on which device and link",
              add_explain_options,
              run_explain,
              chosen);
  add_command(app,
              "memory",
              "say what fills each device at its peak, by cause, and how unequal devices are",
              add_memory_options,
              run_memory,
              chosen);
  add_command(app,
              "largest-batch",
              "find the largest batch whose step fits the devices' limits",
              add_largest_batch_options,
              run_largest_batch,
              chosen);
  add_command(app,
              "trace",
              "write what the devices did, and when, as a file for ui.perfetto.dev",
              add_trace_options,
              run_trace,
              chosen);
  add_command(app,
              "collectives",
              "time a collective by size, and check its results, as nccl-tests does",
              add_collectives_options,
              run_collectives,
              chosen);
}

/// Refuses what the parser would pass over, or would give to another option.
void check_words(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return;
  const std::string& command = words.front();
  std::vector<std::string> names;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(one->get_name());
  if (!command.starts_with('-') && std::ranges::find(names, command) == names.end()) {
    const std::vector<std::string> meant = nearest(command, names);
    throw UsageError(fmt::format(
        "unknown command '{}'; {} tandem --help",
        command,
        meant.empty() ? "see" : fmt::format("did you mean {}? See", fmt::join(meant, " or "))));
  }
  for (const std::string& word : words) {
    if (word.starts_with("--") && word.ends_with('=') && std::ranges::count(word, '=') == 1)
      throw UsageError(fmt::format("{} is empty; give a value, or leave the option out",
                                   word.substr(0, word.size() - 1)));
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Trains one model on all devices of this machine, from one process."};
  app.name("tandem");
  app.set_version_flag("--version", std::string("tandem ") + version);
  app.require_subcommand(1);
  std::function<int()> chosen;
  add_training_commands(app, chosen);
  add_looking_commands(app, chosen);
  check_words(app, {argv + std::min(argc, 1), argv + argc});
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    std::ostringstream text;
    app.exit(e, text, text);
    console::print_text(text.str());
    return 0;
  } catch (const CLI::ParseError& e) {
    throw usage_error(app, e);
  }
  choose_waiting(argv);
  const StatusSignal status;
  return chosen();
}

/// With the figures that the host's own want of memory leaves out.
std::string describe(const std::exception& error) {
  if (find_cause<std::bad_alloc>(error) == nullptr) return error.what();
  return fmt::format("{}: no more memory; {}. Use a smaller model or batch, or give it more",
                     error.what(),
                     describe_host_memory());
}

}  // namespace
}  // namespace tandem::cli

int main(int argc, char** argv) {
  namespace console = tandem::cli::console;
  console::prepare();
  try {
    tandem::cli::check_stack();
    const int code = tandem::cli::run(argc, argv);
    console::flush();
    return code;
  } catch (const tandem::cli::UsageError& e) {
    console::tell_error(e.what());
    return 2;
  } catch (const std::exception& e) {
    console::tell_error(tandem::cli::describe(e));
    return 1;
  }
}
