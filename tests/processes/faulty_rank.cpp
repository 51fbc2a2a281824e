// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// One process of a world of two whose ranks run an all-reduce twenty times. When all other ranks
// have come to the next one, the first rank of process 1 does something else:
//
//   faulty_rank throw|kill|other|leave THREADS BACKEND

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/core/error.hpp"
#include "tandem/parallel/run_ranks.hpp"
#include "tandem/tensor/factories.hpp"
#include "tandem/world/world.hpp"

namespace {

using namespace tandem;
using parallel::Rank;

constexpr auto kPatience = std::chrono::seconds(30);
constexpr int kGoodSums = 20;
constexpr std::int64_t kElements = 40'000;

std::string has_come(int rank) {
  return "has come/" + std::to_string(rank);
}

void go_wrong(Rank& rank, world::World& world, const std::string& how) {
  std::vector<std::string> others;
  for (int r = 0; r < rank.size(); ++r)
    if (r != rank.rank()) others.push_back(has_come(r));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!world.store().check(others)) {  // a wait would keep the others from the store
    if (std::chrono::steady_clock::now() > deadline) throw Timeout("the others do not come");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (how == "throw") throw std::runtime_error("the body fails");
  if (how == "kill") std::raise(SIGKILL);
  if (how == "other") rank.comm().barrier();
}

void run_rank(Rank& rank, world::World& world, const std::string& how) {
  const Tensor x = ones({kElements}, {.device = rank.device()});
  for (int i = 0; i < kGoodSums; ++i)
    rank.comm().all_reduce(x);
  if (world.rank() == 1 && rank.device().index == 0) return go_wrong(rank, world, how);
  auto sum = rank.comm().start_all_reduce(x);
  world.store().set(has_come(rank.rank()), "");
  sum.wait();
}

}  // namespace

int main(int, char** argv) try {
  const std::string how = argv[1];
  world::World world = world::World::from_environment({.timeout = kPatience});
  std::vector<Device> devices;
  for (int i = 0; i < std::atoi(argv[2]); ++i)
    devices.push_back({DeviceType::cpu, i});
  parallel::run_ranks(
      devices,
      [&](Rank& rank) { run_rank(rank, world, how); },
      {.timeout = kPatience, .backend = comm::parse_backend(argv[3]).value(), .world = &world});
  return 0;
} catch (const std::exception& e) {
  std::printf("%s\n", e.what());
  return 3;
}
