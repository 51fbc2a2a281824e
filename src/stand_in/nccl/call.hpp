// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

#include "stand_in/machine/machine.hpp"

namespace tandem::stand_in {

/// NCCL's numbers of its results.
enum NcclResult : int {
  kSuccess,
  kUnhandledCuda,
  kSystem,
  kInternal,
  kInvalidArgument,
  kInvalidUsage,
  kRemote,
  kInProgress
};

/// What ncclGetLastError gives.
std::string& nccl_last_error();
/// Keeps the reason for ncclGetLastError.
///
/// @return  the result.
int nccl_refuse(NcclResult result, std::string why);
/// The result of a call that is made to fail with an error of CUDA's.
int nccl_failed(int cuda_error);

/// Runs a call of NCCL under the machine's lock. It is counted, and may be told to fail.
template <class F>
int nccl_call(const char* name, F work) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  const int error = m.failures.count(name);
  return error != 0 ? nccl_failed(error) : work(m);
}

}  // namespace tandem::stand_in
