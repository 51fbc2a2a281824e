// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "stand_in/nccl/clique.hpp"

namespace tandem::stand_in {
struct Launch;
}

// NCCL's name for its handle.
struct ncclComm {
  std::shared_ptr<tandem::stand_in::Clique> clique;
  std::size_t rank;
  int gpu;
  bool blocks;  // else calls end by ncclCommGetAsyncError
  bool is_finalized = false, has_ended = false;
  std::shared_ptr<tandem::stand_in::Launch> launch = nullptr;  // of a group that has not ended
  std::map<int, std::shared_ptr<const tandem::stand_in::Factor>> factors = {};
  int next_op = 0;  // of the next factor
};

namespace tandem::stand_in {

/// Makes a communicator, which lives until it is destroyed and nobody uses it any more.
ncclComm* make_communicator(ncclComm comm);
/// Null, and a report: there is no such communicator, or not any more.
std::shared_ptr<ncclComm> find_communicator(Machine& m, ncclComm* handle, const char* call);
/// Whoever waits for others with it gives up.
void end_communicator(const std::shared_ptr<ncclComm>& comm);

}  // namespace tandem::stand_in
