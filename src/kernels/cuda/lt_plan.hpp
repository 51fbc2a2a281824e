// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <cublasLt.h>

#include "tandem/core/dtype.hpp"
#include "tandem/runtime/stream.hpp"

#include "kernels/cuda/gemm.hpp"
#include "runtime/cuda/check.hpp"

namespace tandem::cuda {

/// Throws DeviceError with call and code unless `status` is success.
void check(cublasStatus_t status, const char* call);

}  // namespace tandem::cuda

namespace tandem::kernels::lt {

/// What is done to a product before it is stored.
enum class Epilogue : std::uint8_t { none, bias, gelu, bias_gelu };

/// What descriptors and the choice of an algorithm depend on.
struct Problem {
  cudaDataType_t type;  // of a and b
  cudaDataType_t c_type;
  cudaDataType_t scale_type;  // of alpha and beta
  cublasComputeType_t compute;
  GemmSize size;
  MatrixLayout a, b;
  std::int64_t ldc;
  GemmBatch batch;
  Epilogue epilogue;
  bool adds;                                            // beta is not zero
  std::uint32_t a_alignment, b_alignment, c_alignment;  // bytes
  void* pre = nullptr;                                  // of GELU's epilogues; c_alignment's too

  auto key() const noexcept {
    return std::array<std::int64_t, 19>{type,
                                        c_type,
                                        compute,
                                        size.m,
                                        size.n,
                                        size.k,
                                        static_cast<std::int64_t>(a.order),
                                        a.ld,
                                        static_cast<std::int64_t>(b.order),
                                        b.ld,
                                        ldc,
                                        batch.count,
                                        batch.a,
                                        batch.b,
                                        batch.c,
                                        2 * static_cast<std::int64_t>(epilogue) + (adds ? 1 : 0),
                                        a_alignment,
                                        b_alignment,
                                        c_alignment};
  }
};
using Key = decltype(std::declval<Problem>().key());

struct KeyHash {
  std::size_t operator()(const Key& key) const noexcept {  // FNV-1a
    std::uint64_t h = 0xcbf29ce484222325U;
    for (const std::int64_t v : key)
      h = (h ^ static_cast<std::uint64_t>(v)) * 0x100000001b3U;
    return h;
  }
};

template <auto kDestroy>
struct Destroy {
  template <class T>
  void operator()(T* p) const noexcept {
    kDestroy(p);
  }
};
using Descriptor = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<cublasLtMatmulDescDestroy>>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<cublasLtMatrixLayoutDestroy>>;
using Preference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<cublasLtMatmulPreferenceDestroy>>;

/// A problem as cuBLASLt gets it, kept for the next time. In its order: its a is our b.
class Plan {
 public:
  Plan(cublasLtHandle_t handle, const Problem& problem);

  /// cuBLASLt has an algorithm for it.
  bool usable() const noexcept { return usable_; }
  std::size_t workspace() const noexcept { return workspace_; }

  template <class T, class C>
  void run(cublasLtHandle_t handle,
           const CudaStream& s,
           const T* a,
           const T* b,
           compute_t<T> beta,
           C* c,
           const C* bias,
           C* pre,
           void* workspace) {
    if (bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    if (pre != nullptr) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, pre);
    const compute_t<T> alpha = 1;
    TANDEM_CUDA(cublasLtMatmul(handle,
                               descriptor_.get(),
                               &alpha,
                               b,
                               a_.get(),
                               a,
                               b_.get(),
                               &beta,
                               c,
                               c_.get(),
                               c,
                               c_.get(),
                               &algo_,
                               workspace,
                               workspace_,
                               s.native));
  }

 private:
  template <class V>
  void set(cublasLtMatmulDescAttributes_t attribute, V value) {
    TANDEM_CUDA(cublasLtMatmulDescSetAttribute(descriptor_.get(), attribute, &value, sizeof value));
  }
  void choose(cublasLtHandle_t handle, const Problem& problem);

  Descriptor descriptor_;
  Layout a_, b_, c_;
  cublasLtMatmulAlgo_t algo_{};
  std::size_t workspace_ = 0;
  bool usable_ = false;
};

}  // namespace tandem::kernels::lt
