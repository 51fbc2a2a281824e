// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tandem/comm/group.hpp"
#include "tandem/core/error.hpp"
#include "tandem/runtime/runtime.hpp"

#include "devices.hpp"
#include "thrown_text.hpp"
#include "world_of_tests.hpp"

namespace tandem::testing {

using Group = std::vector<std::unique_ptr<comm::Communicator>>;

/// Of groups that a test goes through; fewer on GPUs, whose stand-in is slow with many ranks on few
/// cores, and under the thread sanitizer.
inline std::vector<int> group_sizes() {
  if (test_world() != nullptr) return {test_world()->size(), 2 * test_world()->size(), 7};
  if (on_gpus()) return {1, 3, 4};
#ifdef __SANITIZE_THREAD__
  return {1, 3, 8};
#endif
  return {1, 2, 3, 4, 7, 8};
}

/// How many of `ranks` ranks each process has, whose values are added up first. Where there are
/// fewer ranks than processes, each process has all of them for itself.
inline std::vector<int> ranks_by_process(int ranks) {
  const int processes = test_world() == nullptr ? 1 : test_world()->size();
  if (ranks < processes) return {ranks};
  std::vector<int> sizes;
  for (int process = 0; process < processes; ++process)
    sizes.push_back(ranks / processes + (process < ranks % processes ? 1 : 0));
  return sizes;
}

inline Group make_group(int ranks,
                        comm::GroupOptions options = {.timeout = std::chrono::seconds(30)}) {
  options.backend = backend();
  const std::vector<int> sizes = ranks_by_process(ranks);
  if (sizes.size() == 1) {
    if (test_world() != nullptr) options.backend = comm::Backend::local;
    return comm::make_group(devices(ranks), options);
  }
  options.world = test_world();
  return comm::make_group(devices(sizes[static_cast<std::size_t>(test_world()->rank())]), options);
}

/// What errors call a rank of a group of `ranks`: "rank 1 (cpu:1", and, if it is in another
/// process, more.
inline std::string rank_text(int rank, int ranks) {
  const std::string text = "rank " + std::to_string(rank) + " (";
  const std::vector<int> sizes = ranks_by_process(ranks);
  if (sizes.size() == 1) return text + device_name(rank);
  int process = 0;
  for (; rank >= sizes[static_cast<std::size_t>(process)]; ++process)
    rank -= sizes[static_cast<std::size_t>(process)];
  return text + device_name(rank) + " of process " + std::to_string(process);
}

/// Why a test is for one process alone.
inline constexpr const char* kOneProcess = "looks at all ranks from one process";

/// What an error is, in the store of the world.
template <class... E>
std::string kind_and_text(const std::exception_ptr& error) {
  if (error == nullptr) return "0";
  std::string found;
  int kind = 0;
  const auto look = [&]<class One>() {
    ++kind;
    if (!found.empty()) return;
    try {
      std::rethrow_exception(error);
    } catch (const One& e) {
      found = std::to_string(kind) + e.what();
    } catch (...) {
    }
  };
  (look.template operator()<E>(), ...);
  return found;
}
template <class... E>
std::exception_ptr read_kind_and_text(const std::string& said) {
  std::exception_ptr error;
  char kind = '0';
  ((++kind, said[0] == kind ? void(error = std::make_exception_ptr(E(said.substr(1)))) : void()),
   ...);
  return error;
}

/// The outcomes of the ranks of all processes: each tells the others.
inline std::vector<std::exception_ptr> outcomes_of_all(
    const comm::Communicator& first, const std::vector<std::exception_ptr>& errors) {
  static int calls = 0;
  ++calls;
  const auto key = [&](int rank) {
    return "outcome/" + std::to_string(calls) + '/' + std::to_string(rank);
  };
  world::Store& store = test_world()->store();
  for (std::size_t i = 0; i < errors.size(); ++i)
    store.set(
        key(first.rank() + static_cast<int>(i)),
        kind_and_text<Desync, CommAborted, Timeout, InvalidArgument, Error, std::runtime_error>(
            errors[i]));
  std::vector<std::exception_ptr> all;
  for (int rank = 0; rank < first.size(); ++rank)
    all.push_back(read_kind_and_text<Desync,
                                     CommAborted,
                                     Timeout,
                                     InvalidArgument,
                                     Error,
                                     std::runtime_error>(store.get(key(rank))));
  return all;
}

/// What each job of a group's ranks threw. Whoever comes back from here may free what the jobs use,
/// so they have ended by then.
///
/// @throws Timeout  a rank did not end within a minute; its group was aborted.
inline std::vector<std::exception_ptr> ends_of(std::vector<Ticket>& tickets,
                                               comm::Communicator& any) {
  const auto end_in_time = [&] {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    return std::ranges::all_of(tickets, [&](Ticket& t) { return t.has_ended(deadline); });
  };
  if (!end_in_time()) {
    const std::string text = "a rank did not end within a minute";
    any.abort(text);
    if (end_in_time()) throw Timeout(text);
    std::cerr << text << ", nor after its group was aborted\n";
    std::abort();
  }
  std::vector<std::exception_ptr> errors;
  for (Ticket& ticket : tickets)
    errors.push_back(ticket.outcome());
  return errors;
}

/// Runs f(communicator) for each rank on its device's worker, and returns what each threw.
///
/// A rank that throws aborts the group. @throws Timeout  a rank did not end within a minute.
template <class F>
std::vector<std::exception_ptr> outcomes(Group& group, F f) {
  const auto job = std::make_shared<F>(std::move(f));
  std::vector<Ticket> tickets;
  for (const auto& rank : group) {
    comm::Communicator* comm = rank.get();
    tickets.push_back(logical_device(comm->device()).worker().submit([job, comm] {
      try {
        (*job)(*comm);
      } catch (const std::exception& e) {
        comm->abort("rank " + std::to_string(comm->rank()) + " failed: " + e.what());
        throw;
      }
    }));
  }
  const std::vector<std::exception_ptr> errors = ends_of(tickets, *group.front());
  const bool spans = static_cast<int>(group.size()) < group.front()->size();
  return spans ? outcomes_of_all(*group.front(), errors) : errors;
}

/// What the `E` that a rank threw says; of a rank that threw nothing, "no error".
template <class E>
std::string text_of(const std::exception_ptr& error) {
  return error == nullptr ? "no error" : thrown_text<E>([&] { std::rethrow_exception(error); });
}

/// The same; rethrows the cause: the first error that is not the echo of another rank's.
template <class F>
void run_ranks(Group& group, F f) {
  const std::vector<std::exception_ptr> errors = outcomes(group, std::move(f));
  std::exception_ptr echo;
  for (const std::exception_ptr& error : errors) {
    if (error == nullptr) continue;
    try {
      std::rethrow_exception(error);
    } catch (const CommAborted&) {
      if (echo == nullptr) echo = error;
    }
  }
  if (echo != nullptr) std::rethrow_exception(echo);
}

template <class F>
void run_ranks(int ranks, F f) {
  Group group = make_group(ranks);
  run_ranks(group, std::move(f));
}

}  // namespace tandem::testing
