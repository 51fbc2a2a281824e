// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// libnccl.so.2: calls that make communicators of one process, ask for them and end them.

#include <climits>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>
#include <unistd.h>

#include "stand_in/nccl/call.hpp"
#include "stand_in/nccl/group.hpp"

using namespace tandem::stand_in;

struct ncclUniqueId {
  char internal[128];
};

namespace {

constexpr int kVersion = 22807;
constexpr int kOutOfMemory = 2;  // CUDA's number
constexpr unsigned kConfigMagic = 0xcafebeef;

/// The beginning of ncclConfig_t.
struct Config {
  std::size_t size;
  unsigned magic, version;
  int blocking;  // INT_MIN: as usual, it does
};

std::map<ncclComm*, std::shared_ptr<ncclComm>>& communicators() {
  static auto& all = *new std::map<ncclComm*, std::shared_ptr<ncclComm>>;
  return all;
}

/// Those that ranks may still enter, by what ncclGetUniqueId has given.
std::map<std::uint64_t, std::shared_ptr<Clique>>& cliques() {
  static auto& all = *new std::map<std::uint64_t, std::shared_ptr<Clique>>;
  return all;
}

int refuse_gpu_twice(std::size_t other, std::size_t rank, int gpu) {
  return nccl_refuse(kInvalidUsage,
                     "Duplicate GPU detected : rank " + std::to_string(rank) + " and rank " +
                         std::to_string(other) + " both on CUDA device " + std::to_string(gpu));
}

int join(Machine& m,
         const char* name,
         ncclComm** comm,
         int ranks,
         const ncclUniqueId& id,
         int rank,
         bool blocks) {
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return nccl_refuse(kInvalidArgument,
                       std::string(name) + ": rank " + std::to_string(rank) + " of " +
                           std::to_string(ranks) + " ranks");
  std::uint64_t number = 0;
  std::memcpy(&number, id.internal, sizeof number);
  auto& clique = cliques()[number];
  if (clique == nullptr) clique = std::make_shared<Clique>(static_cast<std::size_t>(ranks));
  const auto own = static_cast<std::size_t>(rank);
  if (clique->ranks() != static_cast<std::size_t>(ranks) || clique->has(own))
    return nccl_refuse(kInvalidUsage,
                       std::string(name) + ": rank " + std::to_string(rank) + " of " +
                           std::to_string(ranks) + " comes to " + std::to_string(clique->ranks()) +
                           " ranks, of which each may come once");
  int gpu = 0;
  cudaGetDevice(&gpu);
  if (const std::size_t other = clique->rank_of(gpu); other < clique->ranks())
    return refuse_gpu_twice(other, own, gpu);
  if (m.error(gpu) != 0) return nccl_failed(m.error(gpu));
  *comm = make_communicator(m, {.clique = clique, .rank = own, .gpu = gpu, .blocks = blocks});
  if (*comm == nullptr) return nccl_failed(kOutOfMemory);
  m.contexts.insert(gpu);
  clique->enter(own, gpu);
  return add_part(m, {communicators()[*comm], {.name = name, .kind = Part::Kind::join}});
}

}  // namespace

namespace tandem::stand_in {

ncclComm* make_communicator(Machine& m, ncclComm comm) {
  if (!m.claim(comm.gpu, m.settings.communicator_bytes)) return nullptr;
  ++m.communicators;
  const auto made = std::make_shared<ncclComm>(std::move(comm));
  communicators()[made.get()] = made;
  return made.get();
}

std::shared_ptr<ncclComm> find_communicator(Machine& m, ncclComm* handle, const char* call) {
  const auto found = communicators().find(handle);
  if (found != communicators().end()) return found->second;
  const std::string text =
      std::string(call) + " is given a communicator that is none, or has been destroyed";
  m.reports.add("memory", call, text);
  nccl_last_error() = text;
  return nullptr;
}

void end_communicator(Machine& m, const std::shared_ptr<ncclComm>& comm) {
  comm->has_ended = true;
  m.streams.drop(comm.get());
  m.unclaim(comm->gpu, m.settings.communicator_bytes);
  --m.communicators;
  comm->clique->leave(comm->rank);
  communicators().erase(comm.get());
}

}  // namespace tandem::stand_in

extern "C" {

int ncclGetVersion(int* version) {
  return nccl_call(__func__, [=](Machine&) { return *version = kVersion, kSuccess; });
}
int ncclGetUniqueId(ncclUniqueId* id) {
  return nccl_call(__func__, [=](Machine&) {
    static std::uint64_t last = 0;
    const std::uint64_t number = (static_cast<std::uint64_t>(getpid()) << 32) + ++last;
    *id = {};
    std::memcpy(id->internal, &number, sizeof number);
    return kSuccess;
  });
}
int ncclCommInitAll(ncclComm** comms, int n, const int* gpus) {
  return nccl_call(__func__, [=](Machine& m) {
    if (n < 1 || n > m.settings.gpus)
      return nccl_refuse(kInvalidArgument,
                         "ncclCommInitAll: " + std::to_string(n) + " ranks on " +
                             std::to_string(m.settings.gpus) + " GPUs");
    const auto clique = std::make_shared<Clique>(static_cast<std::size_t>(n));
    for (int r = 0; r < n; ++r) {
      const int gpu = gpus != nullptr ? gpus[r] : r;
      const auto rank = static_cast<std::size_t>(r);
      if (gpu < 0 || gpu >= m.settings.gpus)
        return nccl_refuse(kInvalidArgument,
                           "ncclCommInitAll: there is no GPU " + std::to_string(gpu));
      if (const std::size_t other = clique->rank_of(gpu); other < clique->ranks())
        return refuse_gpu_twice(other, rank, gpu);
      clique->enter(rank, gpu);
    }
    for (int r = 0; r < n; ++r) {
      const int gpu = gpus != nullptr ? gpus[r] : r;
      m.contexts.insert(gpu);
      comms[r] = make_communicator(
          m, {.clique = clique, .rank = static_cast<std::size_t>(r), .gpu = gpu, .blocks = true});
      if (comms[r] != nullptr) continue;
      while (r-- > 0)
        end_communicator(m, std::shared_ptr(communicators().at(std::exchange(comms[r], nullptr))));
      return nccl_failed(kOutOfMemory);
    }
    return static_cast<int>(kSuccess);
  });
}
int ncclCommInitRank(ncclComm** comm, int ranks, ncclUniqueId id, int rank) {
  return spoil_group(nccl_call(__func__, [&](Machine& m) {
    return join(m, "ncclCommInitRank", comm, ranks, id, rank, true);
  }));
}
int ncclCommInitRankConfig(
    ncclComm** comm, int ranks, ncclUniqueId id, int rank, const Config* config) {
  return spoil_group(nccl_call(__func__, [&](Machine& m) {
    if (config != nullptr && config->magic != kConfigMagic)
      return nccl_refuse(kInvalidArgument,
                         "ncclCommInitRankConfig: the configuration was not begun with "
                         "NCCL_CONFIG_INITIALIZER");
    const bool blocks = config == nullptr || config->blocking != 0;
    return join(m, "ncclCommInitRankConfig", comm, ranks, id, rank, blocks);
  }));
}
int ncclCommFinalize(ncclComm* handle) {
  return with_communicator(__func__, handle, [](Machine& m, const auto& comm) {
    if (comm->is_finalized)
      return nccl_refuse(kInvalidArgument, "ncclCommFinalize: it was called before");
    comm->is_finalized = true;
    if (!comm->blocks) return static_cast<int>(kInProgress);
    const auto last = comm->clique->last(comm->rank);
    if (last != nullptr) m.finish([=] { return last->done; }, "ncclCommFinalize");
    return static_cast<int>(kSuccess);
  });
}
// It ends what was called, as ncclCommFinalize does where a program has not called it.
int ncclCommDestroy(ncclComm* handle) {
  if (handle == nullptr) return kSuccess;
  return with_communicator(__func__, handle, [](Machine& m, const auto& comm) {
    while (progress(m, comm) == kInProgress)
      m.mutex.rest();
    const auto last = comm->clique->last(comm->rank);
    if (last != nullptr) m.finish([=] { return last->done; }, "ncclCommDestroy");
    end_communicator(m, comm);
    return static_cast<int>(kSuccess);
  });
}
int ncclCommAbort(ncclComm* handle) {
  if (handle == nullptr) return kSuccess;
  return with_communicator(__func__, handle, [](Machine& m, const auto& comm) {
    end_communicator(m, comm);
    return static_cast<int>(kSuccess);
  });
}
int ncclCommGetAsyncError(ncclComm* handle, int* error) {
  return with_communicator(__func__, handle, [=](Machine& m, const auto& comm) {
    return *error = progress(m, comm), static_cast<int>(kSuccess);
  });
}
// Registered memory is only faster.
int ncclCommRegister(ncclComm* handle, void* p, std::size_t, void** registration) {
  return with_communicator(__func__, handle, [=](Machine& m, const auto&) {
    if (m.memory.find(p) == nullptr)
      return nccl_refuse(kInvalidArgument, "ncclCommRegister: the memory is none of a GPU's");
    return *registration = p, static_cast<int>(kSuccess);
  });
}
int ncclCommDeregister(ncclComm* handle, void*) {
  return with_communicator(
      __func__, handle, [](Machine&, const auto&) { return static_cast<int>(kSuccess); });
}
int ncclCommCount(ncclComm* handle, int* n) {
  return with_communicator(__func__, handle, [=](Machine&, const auto& comm) {
    return *n = static_cast<int>(comm->clique->ranks()), static_cast<int>(kSuccess);
  });
}
int ncclCommUserRank(ncclComm* handle, int* rank) {
  return with_communicator(__func__, handle, [=](Machine&, const auto& comm) {
    return *rank = static_cast<int>(comm->rank), static_cast<int>(kSuccess);
  });
}
int ncclCommCuDevice(ncclComm* handle, int* gpu) {
  return with_communicator(__func__, handle, [=](Machine&, const auto& comm) {
    return *gpu = comm->gpu, static_cast<int>(kSuccess);
  });
}

}  // extern "C"
