// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "tandem/comm/group.hpp"
#include "tandem/core/error.hpp"
#include "tandem/runtime/runtime.hpp"

#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem::testing {

using Group = std::vector<std::unique_ptr<comm::Communicator>>;

/// Of groups that a test goes through; fewer on GPUs, whose stand-in is slow with many ranks on few
/// cores, and under the thread sanitizer.
inline std::vector<int> group_sizes() {
  if (on_gpus()) return {1, 3, 4};
#ifdef __SANITIZE_THREAD__
  return {1, 3, 8};
#endif
  return {1, 2, 3, 4, 7, 8};
}

inline Group make_group(int ranks,
                        comm::GroupOptions options = {.timeout = std::chrono::seconds(30)}) {
  options.backend = backend();
  return comm::make_group(devices(ranks), options);
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
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  std::vector<std::exception_ptr> errors;
  for (Ticket& ticket : tickets)
    errors.push_back(ticket.outcome(deadline));
  return errors;
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
