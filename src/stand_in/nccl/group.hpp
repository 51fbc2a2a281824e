// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "stand_in/nccl/communicator.hpp"

namespace tandem::stand_in {

struct GroupPart {
  std::shared_ptr<ncclComm> comm;
  Part part;
};

/// Does a rank's part: at once, or at the end of the calling thread's group.
int add_part(Machine& m, const GroupPart& part);
void begin_group();
/// A call of the group was refused, so that its end is.
int spoil_group(int result);
int end_group(Machine& m);

/// How far the communicator is, which does not block.
int progress(Machine& m, const std::shared_ptr<ncclComm>& comm);
/// Waits until all ranks have come for what the rank has called.
int wait_for_ranks(Machine& m, const std::shared_ptr<ncclComm>& comm, const char* name);

}  // namespace tandem::stand_in
