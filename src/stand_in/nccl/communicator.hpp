// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "stand_in/nccl/call.hpp"
#include "stand_in/nccl/clique.hpp"

// NCCL's name for its handle.
struct ncclComm {
  std::shared_ptr<tandem::stand_in::Clique> clique;
  std::size_t rank;
  int gpu;
  bool blocks;  // else calls end by ncclCommGetAsyncError
  bool is_finalized = false, has_ended = false;
  std::optional<std::chrono::steady_clock::time_point> deadline{};  // of a call not under way yet
  std::map<int, std::shared_ptr<const tandem::stand_in::Factor>> factors = {};
  int next_op = 0;  // of the next factor
};

namespace tandem::stand_in {

/// Makes a communicator, which lives until it is destroyed and nobody uses it any more.
///
/// @return  null: its GPU is full.
ncclComm* make_communicator(Machine& m, ncclComm comm);
/// Null, and a report: there is no such communicator, or not any more.
std::shared_ptr<ncclComm> find_communicator(Machine& m, ncclComm* handle, const char* call);
/// Whoever waits for others with it gives up, and what it has not done is dropped.
void end_communicator(Machine& m, const std::shared_ptr<ncclComm>& comm);

/// Runs a call of a communicator under the machine's lock. It is counted, and may be told to fail:
/// an error after which a GPU takes no more work is that of the communicator's GPU.
template <class F>
int with_communicator(const char* name, ncclComm* handle, F work) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  const int error = m.failures.count(name);
  const auto comm = find_communicator(m, handle, name);
  if (comm == nullptr) return kInvalidArgument;
  if (ends_gpu(error)) m.error(comm->gpu) = error;
  return error != 0 ? nccl_failed(error) : work(m, comm);
}

}  // namespace tandem::stand_in
