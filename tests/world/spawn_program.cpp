// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A program that makes itself three processes, which say their ranks: spawn_program WORD
// [fail|lead]
//
// With fail, process 1 fails; with lead, it starts one process, which is the program itself.

#include <cstdio>
#include <string>

#include "tandem/core/error.hpp"
#include "tandem/world/launcher.hpp"
#include "tandem/world/world.hpp"

int main(int argc, char** argv) try {
  using namespace tandem::world;
  const std::string how = argc > 2 ? argv[2] : "";
  if (const auto status = spawn({.processes = how == "lead" ? 1 : 3})) return *status;
  World world = World::from_environment();
  std::printf("%d of %d: %s\n", world.rank(), world.size(), argv[1]);
  world.barrier();
  return how == "fail" && world.rank() == 1 ? 7 : 0;
} catch (const tandem::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
