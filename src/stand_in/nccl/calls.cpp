// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// libnccl.so.2: communicators of one process, and the collectives that PyTorch calls among them.

#include <chrono>
#include <mutex>
#include <string>
#include <utility>

#include "stand_in/nccl/clique.hpp"
#include "stand_in/nccl/reduction.hpp"

using tandem::stand_in::Clique;
using tandem::stand_in::Machine;
using tandem::stand_in::Part;

struct ncclComm {
  std::shared_ptr<Clique> clique;
  std::size_t rank;
  int gpu;
};

namespace {

constexpr int kSuccess = 0, kInternalError = 3, kInvalidArgument = 4;
constexpr int kVersion = 22807;

thread_local int depth = 0;
thread_local std::vector<std::pair<ncclComm*, Part>> pending;

// Ranks of other threads come by and by. Who calls for several ranks from one thread does it in a
// group; without one NCCL would wait for ever.
void wait_for_ranks(Machine& m, const ncclComm* comm, const char* name) {
  const auto deadline = std::chrono::steady_clock::now() + m.settings.deadline;
  while (!comm->clique->has_met(comm->rank)) {
    if (std::chrono::steady_clock::now() > deadline)
      m.fatal("deadlock",
              name,
              std::string(name) + " of rank " + std::to_string(comm->rank) +
                  " waits for ever for other ranks; one thread that calls for several ranks must "
                  "put the calls between ncclGroupStart and ncclGroupEnd");
    m.mutex.rest();
  }
}

int submit(const std::vector<std::pair<ncclComm*, Part>>& parts) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  for (const auto& [comm, part] : parts)
    comm->clique->give(m, comm->rank, part);
  for (const auto& [comm, part] : parts)
    wait_for_ranks(m, comm, part.name);
  return kSuccess;
}

int add(ncclComm* comm, Part part, CUstream_st* stream) {
  Machine& m = Machine::get();
  {
    const std::lock_guard lock(m.mutex);
    if (m.failures.count(part.name) != 0) return kInternalError;
    if (tandem::stand_in::nccl_size(part.type) == 0) return kInvalidArgument;
    part.stream = m.stream(stream, comm->gpu);
  }
  if (depth == 0) return submit({{comm, part}});
  pending.emplace_back(comm, part);
  return kSuccess;
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  return *version = kVersion, kSuccess;
}
const char* ncclGetErrorString(int) {
  return "an error of the stand-in for NCCL";
}
const char* ncclGetLastError(ncclComm*) {
  return "";
}
int ncclCommInitAll(ncclComm** comms, int n, const int* gpus) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  if (m.failures.count(__func__) != 0) return kInternalError;
  if (n < 1 || n > m.settings.gpus) return kInvalidArgument;
  const auto clique = std::make_shared<Clique>(static_cast<std::size_t>(n));
  for (int r = 0; r < n; ++r)
    comms[r] = new ncclComm{clique, static_cast<std::size_t>(r), gpus != nullptr ? gpus[r] : r};
  return kSuccess;
}
int ncclCommDestroy(ncclComm* comm) {
  return delete comm, kSuccess;
}
int ncclCommAbort(ncclComm* comm) {
  return delete comm, kSuccess;
}
int ncclCommFinalize(ncclComm*) {
  return kSuccess;
}
int ncclCommGetAsyncError(ncclComm*, int* error) {
  return *error = kSuccess, kSuccess;
}
int ncclCommCount(ncclComm* comm, int* n) {
  return *n = static_cast<int>(comm->clique->ranks()), kSuccess;
}
int ncclCommUserRank(ncclComm* comm, int* rank) {
  return *rank = static_cast<int>(comm->rank), kSuccess;
}
int ncclCommCuDevice(ncclComm* comm, int* gpu) {
  return *gpu = comm->gpu, kSuccess;
}
int ncclGroupStart() {
  return ++depth, kSuccess;
}
int ncclGroupEnd() {
  return --depth > 0 ? kSuccess : submit(std::exchange(pending, {}));
}
int ncclBcast(void* p, std::size_t n, int type, int root, ncclComm* c, CUstream_st* s) {
  return add(c, {__func__, Part::Kind::broadcast, p, p, n, type, 0, root}, s);
}
int ncclBroadcast(
    const void* from, void* to, std::size_t n, int type, int root, ncclComm* c, CUstream_st* s) {
  return add(c, {__func__, Part::Kind::broadcast, from, to, n, type, 0, root}, s);
}
int ncclReduce(const void* from,
               void* to,
               std::size_t n,
               int type,
               int op,
               int root,
               ncclComm* c,
               CUstream_st* s) {
  return add(c, {__func__, Part::Kind::reduce, from, to, n, type, op, root}, s);
}
int ncclAllReduce(
    const void* from, void* to, std::size_t n, int type, int op, ncclComm* c, CUstream_st* s) {
  return add(c, {__func__, Part::Kind::all_reduce, from, to, n, type, op, 0}, s);
}
int ncclAllGather(
    const void* from, void* to, std::size_t n, int type, ncclComm* c, CUstream_st* s) {
  return add(c, {__func__, Part::Kind::all_gather, from, to, n, type, 0, 0}, s);
}
int ncclReduceScatter(
    const void* from, void* to, std::size_t n, int type, int op, ncclComm* c, CUstream_st* s) {
  return add(c, {__func__, Part::Kind::reduce_scatter, from, to, n, type, op, 0}, s);
}

}  // extern "C"
