// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// GEMM by cuBLASLt. It counts in column-major order: c = a @ b in row-major order is c' = b' @ a'
// there.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <cublasLt.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/runtime.hpp"

#include "kernels/cuda/gemm.hpp"
#include "kernels/workspace.hpp"
#include "runtime/cuda/check.hpp"

namespace tandem::cuda {

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  const std::string name(call);
  throw DeviceError("GPU " + std::to_string(current_gpu()),
                    name.substr(0, name.find('(')),
                    status,
                    cublasLtGetStatusString(status));
}

}  // namespace tandem::cuda

namespace tandem::kernels {
namespace {

/// Bytes that an algorithm may ask for: what NVIDIA advises for the largest GPUs.
constexpr std::size_t kMostWorkspace = std::size_t{32} << 20;

/// What descriptors and the choice of an algorithm depend on.
struct Problem {
  cudaDataType_t type;
  cudaDataType_t scale_type;  // of alpha and beta
  cublasComputeType_t compute;
  GemmSize size;
  MatrixLayout a, b;
  std::int64_t ldc;
  GemmBatch batch;
  bool biased;
  bool adds;                                            // beta is not zero
  std::uint32_t a_alignment, b_alignment, c_alignment;  // bytes

  auto key() const noexcept {
    return std::array<std::int64_t, 18>{type,
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
                                        (biased ? 1 : 0) + (adds ? 2 : 0),
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

/// As it lies in memory, seen in column-major order.
Layout make_layout(
    const Problem& p, std::int64_t rows, std::int64_t cols, std::int64_t ld, std::int64_t step) {
  cublasLtMatrixLayout_t layout = nullptr;
  TANDEM_CUDA(cublasLtMatrixLayoutCreate(
      &layout, p.type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols), ld));
  Layout owner(layout);
  const auto count = static_cast<std::int32_t>(p.batch.count);
  TANDEM_CUDA(cublasLtMatrixLayoutSetAttribute(
      layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
  TANDEM_CUDA(cublasLtMatrixLayoutSetAttribute(
      layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step));
  return owner;
}

bool by_rows(MatrixLayout l) {
  return l.order == MatrixOrder::row_major;
}

/// A problem as cuBLASLt gets it, kept for the next time. In its order: its a is our b.
class LtPlan {
 public:
  LtPlan(cublasLtHandle_t handle, const Problem& p) {
    cublasLtMatmulDesc_t d = nullptr;
    TANDEM_CUDA(cublasLtMatmulDescCreate(&d, p.compute, p.scale_type));
    descriptor_.reset(d);
    set(CUBLASLT_MATMUL_DESC_TRANSA, by_rows(p.b) ? CUBLAS_OP_N : CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_TRANSB, by_rows(p.a) ? CUBLAS_OP_N : CUBLAS_OP_T);
    if (p.biased) set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    const GemmSize& z = p.size;
    a_ = by_rows(p.b) ? make_layout(p, z.n, z.k, p.b.ld, p.batch.b)
                      : make_layout(p, z.k, z.n, p.b.ld, p.batch.b);
    b_ = by_rows(p.a) ? make_layout(p, z.k, z.m, p.a.ld, p.batch.a)
                      : make_layout(p, z.m, z.k, p.a.ld, p.batch.a);
    c_ = make_layout(p, z.n, z.m, p.ldc, p.batch.c);
    choose(handle, p);
  }

  std::size_t workspace() const noexcept { return workspace_; }

  template <class T>
  void run(cublasLtHandle_t handle,
           const CudaStream& s,
           const T* a,
           const T* b,
           compute_t<T> beta,
           T* c,
           const T* bias,
           void* workspace) {
    if (bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
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

  void choose(cublasLtHandle_t handle, const Problem& problem) {
    cublasLtMatmulPreference_t p = nullptr;
    TANDEM_CUDA(cublasLtMatmulPreferenceCreate(&p));
    const Preference owner(p);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      TANDEM_CUDA(cublasLtMatmulPreferenceSetAttribute(p, attribute, &value, sizeof value));
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, problem.b_alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, problem.a_alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, problem.c_alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, problem.c_alignment);
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    TANDEM_CUDA(cublasLtMatmulAlgoGetHeuristic(
        handle, descriptor_.get(), a_.get(), b_.get(), c_.get(), c_.get(), p, 1, &result, &found));
    if (found == 0) cuda::check(CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmulAlgoGetHeuristic");
    algo_ = result.algo;
    workspace_ = result.workspaceSize;
  }

  Descriptor descriptor_;
  Layout a_, b_, c_;
  cublasLtMatmulAlgo_t algo_{};
  std::size_t workspace_ = 0;
};

/// Of one device: handle and plans, taken by one call at a time.
class LtState final : public LibraryState {
 public:
  LtState() { TANDEM_CUDA(cublasLtCreate(&handle)); }
  ~LtState() override {
    plans.clear();
    cublasLtDestroy(handle);
  }

  cublasLtHandle_t handle = nullptr;
  std::unordered_map<Key, LtPlan, KeyHash> plans;
};

/// The state for the time of a call.
class LtScope {
 public:
  explicit LtScope(Device device)
      : device_(logical_device(device)), state_(device_.take_library(Library::cublaslt)) {
    if (state_ == nullptr) state_ = std::make_unique<LtState>();
  }
  ~LtScope() { device_.give_library(Library::cublaslt, std::move(state_)); }
  LtScope(const LtScope&) = delete;
  LtScope& operator=(const LtScope&) = delete;
  LtState& operator*() const noexcept { return static_cast<LtState&>(*state_); }

 private:
  LogicalDevice& device_;
  std::unique_ptr<LibraryState> state_;
};

template <class T>
constexpr cudaDataType_t data_type() {
  if constexpr (std::is_same_v<T, double>) return CUDA_R_64F;
  if constexpr (std::is_same_v<T, BFloat16>) return CUDA_R_16BF;
  if constexpr (std::is_same_v<T, Half>) return CUDA_R_16F;
  return CUDA_R_32F;
}

template <class T>
cublasComputeType_t compute_type(MatmulPrecision precision) {
  if constexpr (std::is_same_v<T, double>) return CUBLAS_COMPUTE_64F;
  const bool tf32 = std::is_same_v<T, float> && precision == MatmulPrecision::high;
  return tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/// Alignment in bytes, up to what algorithms look at.
std::uint32_t alignment(const void* p) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(256, at & (~at + 1)));
}

}  // namespace

template <class T>
void gemm(const CudaStream& s,
          GemmSize size,
          Operand<T> a,
          Operand<T> b,
          compute_t<T> beta,
          T* c,
          std::int64_t ldc,
          const T* bias,
          GemmBatch batch) {
  if (size.m == 0 || size.n == 0 || batch.count == 0) return;
  const Problem problem{data_type<T>(),
                        data_type<compute_t<T>>(),
                        compute_type<T>(s.precision),
                        size,
                        a.layout,
                        b.layout,
                        ldc,
                        batch,
                        bias != nullptr,
                        beta != 0,
                        alignment(a.data),
                        alignment(b.data),
                        alignment(c)};
  const LtScope scope(s.device);
  LtState& state = *scope;
  const Key key = problem.key();
  auto known = state.plans.find(key);
  if (known == state.plans.end())
    known = state.plans.emplace(key, LtPlan(state.handle, problem)).first;
  LtPlan& plan = known->second;
  const Workspace<unsigned char> workspace(s.device, static_cast<std::int64_t>(plan.workspace()));
  plan.run(state.handle, s, a.data, b.data, beta, c, bias, workspace.data());
}

template void gemm(const CudaStream&,
                   GemmSize,
                   Operand<float>,
                   Operand<float>,
                   float,
                   float*,
                   std::int64_t,
                   const float*,
                   GemmBatch);
template void gemm(const CudaStream&,
                   GemmSize,
                   Operand<double>,
                   Operand<double>,
                   double,
                   double*,
                   std::int64_t,
                   const double*,
                   GemmBatch);
template void gemm(const CudaStream&,
                   GemmSize,
                   Operand<BFloat16>,
                   Operand<BFloat16>,
                   float,
                   BFloat16*,
                   std::int64_t,
                   const BFloat16*,
                   GemmBatch);
template void gemm(const CudaStream&,
                   GemmSize,
                   Operand<Half>,
                   Operand<Half>,
                   float,
                   Half*,
                   std::int64_t,
                   const Half*,
                   GemmBatch);

}  // namespace tandem::kernels
