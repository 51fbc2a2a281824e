// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls that CUDA 12's run-time has in another form than CUDA 13's (of_cuda_13.cpp). Its header
// renames some.

#include <cstddef>

#include "stand_in/cuda/driver_entry.hpp"

extern "C" {

char __cudaInitModule(void**) {
  return 1;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t,
                                     cudaStreamCaptureStatus* status,
                                     unsigned long long*,
                                     cudaGraph_t*,
                                     const cudaGraphNode_t**,
                                     std::size_t*) {
  return *status = cudaStreamCaptureStatusNone, cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol,
                                    void** f,
                                    unsigned long long,
                                    cudaDriverEntryPointQueryResult* result) {
  return tandem::stand_in::driver_entry(__func__, symbol, f, result);
}

}  // extern "C"
