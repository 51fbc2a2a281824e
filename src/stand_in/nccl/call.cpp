// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/nccl/call.hpp"

#include <utility>

#include <cuda_runtime_api.h>

namespace tandem::stand_in {

std::string& nccl_last_error() {
  static std::string& text = *new std::string;
  return text;
}

int nccl_refuse(NcclResult result, std::string why) {
  nccl_last_error() = std::move(why);
  return result;
}

int nccl_failed(int cuda_error) {
  return nccl_refuse(kUnhandledCuda,
                     "Cuda failure " + std::to_string(cuda_error) + " '" +
                         cudaGetErrorString(static_cast<cudaError_t>(cuda_error)) + "'");
}

}  // namespace tandem::stand_in

extern "C" {

const char* ncclGetErrorString(int result) {
  switch (result) {
    case tandem::stand_in::kSuccess:
      return "no error";
    case tandem::stand_in::kUnhandledCuda:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case tandem::stand_in::kSystem:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case tandem::stand_in::kInternal:
      return "internal error - please report this issue to the NCCL developers";
    case tandem::stand_in::kInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case tandem::stand_in::kInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case tandem::stand_in::kRemote:
      return "remote process exited or there was a network error";
    case tandem::stand_in::kInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}
const char* ncclGetLastError(struct ncclComm*) {
  return tandem::stand_in::nccl_last_error().c_str();
}

}  // extern "C"
