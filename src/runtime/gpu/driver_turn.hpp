// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

namespace tandem {

/// A thread's turn at what must not happen in two threads at once, in a scope. Scopes may nest.
///
/// A transport queues a collective on several GPUs, and its kernels wait for each other: two of
/// them must come to all GPUs in the same order, whichever groups they belong to. Calls that make
/// the driver wait for a GPU or change the tables of its pages (pinning, host memory, trimming of
/// pools) must not come between the launches of one collective either.
class DriverTurn {
 public:
  DriverTurn();

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

}  // namespace tandem
