// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <exception>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tandem/core/error.hpp"
#include "tandem/world/error_file.hpp"

#include "cli/command_line.hpp"
#include "cli/console.hpp"
#include "cli/limits.hpp"
#include "cli/programs_of_torch.hpp"
#include "cli/signals.hpp"
#include "cli/usage_error.hpp"
#include "cli/waiting.hpp"

namespace tandem::cli {
namespace {

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (is_about_torch(words)) become_python(words);
  const std::function<int()> chosen = read_command_line(argc, argv);
  if (!chosen) return 0;
  choose_waiting(argv);
  const StatusSignal status;
  return chosen();
}

/// The text of an error. If the host has no more memory, it has the figures too.
std::string describe(const std::exception& error) {
  if (find_cause<std::bad_alloc>(error) == nullptr) return error.what();
  return fmt::format(
      "{}: there is no more memory; {}. Use a smaller model or batch, or give the program more "
      "memory",
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
    tandem::world::write_error_file(e);
    return 1;
  }
}
