// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/launched.hpp"

#include <fstream>
#include <iterator>
#include <string>

#include "tandem/world/launch.hpp"

namespace tandem::cli {
namespace {

/// The arguments of this process, joined by blanks.
std::string arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  text.erase(0, text.find('\0') + 1);  // hosts may have the program in different places
  for (char& c : text)
    if (c == '\0') c = ' ';
  return text;
}

}  // namespace

Launched::Launched() {
  const auto launch = world::read_launch();
  if (launch && launch->size > 1)
    world_.emplace(world::World::from_environment({.contract = {{"command", arguments()}}}));
}

}  // namespace tandem::cli
