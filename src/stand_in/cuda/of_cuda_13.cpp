// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The call that CUDA 13's run-time has in another form than CUDA 12's (of_cuda_12.cpp).

#include <cstddef>

#include <cuda_runtime_api.h>

extern "C" cudaError_t cudaStreamGetCaptureInfo(cudaStream_t,
                                                cudaStreamCaptureStatus* status,
                                                unsigned long long*,
                                                cudaGraph_t*,
                                                const cudaGraphNode_t**,
                                                const cudaGraphEdgeData**,
                                                std::size_t*) {
  return *status = cudaStreamCaptureStatusNone, cudaSuccess;
}
