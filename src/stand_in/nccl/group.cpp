// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/nccl/group.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "stand_in/nccl/call.hpp"

namespace tandem::stand_in {
namespace {

thread_local int depth = 0;
thread_local int refusal = kSuccess;
thread_local std::vector<GroupPart> pending;

[[noreturn]] void tell_deadlock(Machine& m, const ncclComm& comm, const std::string& name) {
  m.fatal("deadlock",
          name,
          name + " of rank " + std::to_string(comm.rank) + " (GPU " + std::to_string(comm.gpu) +
              ") waits for ever for " + comm.clique->missing(comm.rank) +
              "; one thread that calls for several ranks must put the calls between "
              "ncclGroupStart and ncclGroupEnd, and ranks of other processes are not there");
}

bool overlap(const void* a, std::size_t a_size, const void* b, std::size_t b_size) {
  const auto* const first = static_cast<const std::byte*>(a);
  const auto* const second = static_cast<const std::byte*>(b);
  return a_size > 0 && b_size > 0 && first < second + b_size && second < first + a_size;
}

/// NCCL runs what one rank does in a group in any order.
void check_order(Machine& m, const std::vector<GroupPart>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [comm, a] = parts[i];
    const std::size_t rank = comm->rank, ranks = comm->clique->ranks();
    for (std::size_t j = 0; j < i; ++j) {
      const Part& b = parts[j].part;
      if (parts[j].comm != comm) continue;
      const std::size_t a_out = a.written_bytes(rank, ranks), b_out = b.written_bytes(rank, ranks);
      if (overlap(a.to, a_out, b.to, b_out) ||
          overlap(a.to, a_out, b.from, b.read_bytes(rank, ranks)) ||
          overlap(b.to, b_out, a.from, a.read_bytes(rank, ranks)))
        m.reports.add("race",
                      a.name,
                      std::string("'") + b.name + "' and '" + a.name + "' of rank " +
                          std::to_string(rank) +
                          " are in one group, in which NCCL runs them in any order, and one "
                          "writes what the other one uses");
    }
  }
}

int submit(Machine& m, std::vector<GroupPart> parts) {
  if (parts.empty()) return kSuccess;
  check_order(m, parts);
  const bool blocks = parts.front().comm->blocks;
  for (const auto& [comm, part] : parts) {
    if (comm->has_ended)
      return nccl_refuse(
          kInvalidArgument,
          std::string(part.name) + ": the communicator was ended before the group was");
    if (comm->blocks != blocks)
      return nccl_refuse(kInvalidArgument,
                         "a group has communicators that block and others that do not");
  }
  if (!blocks) {
    for (const auto& [comm, part] : parts) {
      comm->deadline = std::chrono::steady_clock::now() + m.settings.deadline;
      m.streams.later(comm.get(), [&m, comm, part] { comm->clique->give(m, comm->rank, part); });
    }
    return kInProgress;
  }
  for (const auto& [comm, part] : parts)
    comm->clique->give(m, comm->rank, part);
  while (m.streams.launch()) {
  }
  for (const auto& [comm, part] : parts)
    if (const int result = wait_for_ranks(m, comm, part.name); result != kSuccess) return result;
  return kSuccess;
}

}  // namespace

int add_part(Machine& m, const GroupPart& part) {
  if (part.comm->deadline)
    return nccl_refuse(kInvalidArgument,
                       std::string(part.part.name) +
                           " is called before ncclCommGetAsyncError has given ncclSuccess for the "
                           "call before it");
  if (depth == 0) return submit(m, {part});
  pending.push_back(part);
  return part.comm->blocks ? kSuccess : kInProgress;
}

void begin_group() {
  ++depth;
}

int spoil_group(int result) {
  if (depth > 0 && refusal == kSuccess && result != kSuccess && result != kInProgress)
    refusal = result;
  return result;
}

int end_group(Machine& m) {
  if (depth == 0)
    return nccl_refuse(kInvalidUsage, "ncclGroupEnd is called without ncclGroupStart");
  if (--depth > 0) return kSuccess;
  std::vector<GroupPart> parts = std::exchange(pending, {});
  const int refused = std::exchange(refusal, kSuccess);
  return refused != kSuccess ? refused : submit(m, std::move(parts));
}

int progress(Machine& m, const std::shared_ptr<ncclComm>& comm) {
  if (const int error = m.error(comm->gpu); error != 0) return nccl_failed(error);
  const auto is_under_way = [&] {
    return m.streams.is_launched(comm.get()) && comm->clique->has_met(comm->rank);
  };
  if (comm->deadline) {
    while (!is_under_way() && m.streams.launch()) {
    }
    if (!is_under_way()) {
      if (std::chrono::steady_clock::now() > *comm->deadline)
        tell_deadlock(m, *comm, "a call that does not block");
      return kInProgress;
    }
    comm->deadline.reset();
  }
  const auto& last = comm->clique->last(comm->rank);
  const bool is_done =
      !comm->is_finalized || last == nullptr || m.query([&] { return last->done; });
  return is_done ? kSuccess : kInProgress;
}

int wait_for_ranks(Machine& m, const std::shared_ptr<ncclComm>& comm, const char* name) {
  const auto deadline = std::chrono::steady_clock::now() + m.settings.deadline;
  while (!comm->clique->has_met(comm->rank)) {
    if (std::chrono::steady_clock::now() > deadline) tell_deadlock(m, *comm, name);
    m.mutex.rest();
  }
  if (comm->has_ended)
    return nccl_refuse(kInternal, std::string(name) + " ends, since its communicator was aborted");
  return kSuccess;
}

}  // namespace tandem::stand_in
