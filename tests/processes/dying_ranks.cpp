// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// One process of a world whose ranks run a collective again and again, until one process ends:
//
//   dying_ranks COLLECTIVE HOW VICTIM THREADS BACKEND
//
// It prints what it saw, and how long after the end of the victim that was.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include "tandem/comm/communicator.hpp"
#include "tandem/core/error.hpp"
#include "tandem/parallel/run_ranks.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"
#include "tandem/world/world.hpp"

namespace {

using namespace tandem;
using parallel::Rank;

constexpr int kGood = 20;  // collectives before the end
constexpr std::int64_t kCount = 40'000;
constexpr auto kTimeout = std::chrono::seconds(3);

using Body = std::function<void(Rank&)>;

Body collective(const std::string& name) {
  const std::map<std::string, Body> all{
      {"broadcast", [](Rank& r) { r.comm().broadcast(ones({kCount}, {.device = r.device()}), 0); }},
      {"all_reduce", [](Rank& r) { r.comm().all_reduce(ones({kCount}, {.device = r.device()})); }},
      {"all_gather",
       [](Rank& r) {
         r.comm().all_gather(ones({kCount}, {.device = r.device()}),
                             zeros({kCount * r.size()}, {.device = r.device()}));
       }},
      {"reduce_scatter",
       [](Rank& r) {
         r.comm().reduce_scatter(ones({kCount * r.size()}, {.device = r.device()}),
                                 zeros({kCount}, {.device = r.device()}));
       }},
      {"barrier", [](Rank& r) { r.comm().barrier(); }},
      {"send", [](Rank& r) {
         const Tensor x = ones({kCount}, {.device = r.device()});
         const Tensor y = zeros({kCount}, {.device = r.device()});
         auto sent = r.comm().start_send(x, (r.rank() + 1) % r.size());
         r.comm().recv(y, (r.rank() + r.size() - 1) % r.size());
         sent.wait();
       }}};
  return all.at(name);
}

void die(const std::string& how) {
  if (how == "exit0") ::_exit(0);
  if (how == "exit1") ::_exit(1);
  if (how == "throw") throw std::runtime_error("the body fails");
  if (how == "abort") std::abort();
  if (how == "cut" || how == "leave") return;  // somebody cuts its link, or the body ends
  std::raise(how == "stop" ? SIGSTOP : SIGKILL);
}

/// The body throws while a collective of its own is under way, as in a backward.
[[noreturn]] void unwind(const Rank& rank) {
  const Tensor x = ones({kCount}, {.device = rank.device()});
  const auto handle = rank.comm().start_all_reduce(x);
  throw std::runtime_error("the body fails");
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

int main(int, char** argv) try {
  const Body body = collective(argv[1]);
  const std::string how = argv[2];
  const int victim = std::atoi(argv[3]), threads = std::atoi(argv[4]);
  world::World world = world::World::from_environment({.timeout = std::chrono::seconds(30)});
  std::vector<Device> devices;
  for (int i = 0; i < threads; ++i)
    devices.push_back({DeviceType::cpu, i});
  try {
    parallel::run_ranks(
        devices,
        [&](Rank& rank) {
          for (int i = 0; i < kGood; ++i)
            body(rank);
          if (world.rank() == victim && rank.device().index == 0) {
            std::printf("dies %.3f\n", now());
            std::fflush(stdout);
            if (how == "unwind") unwind(rank);
            die(how);
          }
          if (world.rank() == victim && how == "leave") return;
          for (;;)
            body(rank);
        },
        {.timeout = kTimeout, .backend = comm::parse_backend(argv[5]).value(), .world = &world});
  } catch (const Error& e) {
    std::printf("saw %.3f %s\n", now(), e.what());
    return 3;
  }
  return 0;
} catch (const std::exception& e) {
  std::printf("error %s\n", e.what());
  return 4;
}
