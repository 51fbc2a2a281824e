// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// GEMM by cuBLASLt. It counts in column-major order: c = a @ b in row-major order is c' = b' @ a'
// there.

#include <array>
#include <memory>
#include <unordered_map>

#include <cublasLt.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/runtime.hpp"

#include "kernels/cuda/gemm.hpp"
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

/// What the choice of an algorithm depends on.
using Problem = std::array<std::int64_t, 13>;

struct ProblemHash {
  std::size_t operator()(const Problem& p) const noexcept {
    std::uint64_t h = 0xcbf29ce484222325U;
    for (const std::int64_t v : p)
      h = (h ^ static_cast<std::uint64_t>(v)) * 0x100000001b3U + (h >> 29);
    return h;
  }
};

struct Choice {
  cublasLtMatmulAlgo_t algo;
  std::size_t workspace;
};

/// Of one device: handle and choices, taken by one call at a time.
class LtState final : public LibraryState {
 public:
  LtState() { TANDEM_CUDA(cublasLtCreate(&handle)); }
  ~LtState() override { cublasLtDestroy(handle); }

  cublasLtHandle_t handle = nullptr;
  std::unordered_map<Problem, Choice, ProblemHash> choices;
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

template <class T>
constexpr cudaDataType_t kType = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;
template <class T>
constexpr cublasComputeType_t kCompute =
    std::is_same_v<T, float> ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_64F;

/// As it lies in memory, seen in column-major order.
template <class T>
Layout make_layout(
    std::int64_t rows, std::int64_t cols, std::int64_t ld, GemmBatch batch, std::int64_t step) {
  cublasLtMatrixLayout_t layout = nullptr;
  TANDEM_CUDA(cublasLtMatrixLayoutCreate(
      &layout, kType<T>, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols), ld));
  Layout owner(layout);
  const auto count = static_cast<std::int32_t>(batch.count);
  TANDEM_CUDA(cublasLtMatrixLayoutSetAttribute(
      layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
  TANDEM_CUDA(cublasLtMatrixLayoutSetAttribute(
      layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step));
  return owner;
}

bool by_rows(MatrixLayout l) {
  return l.order == MatrixOrder::row_major;
}

/// One call: what cuBLASLt needs to be told of it.
template <class T>
struct Call {
  Descriptor descriptor;
  Layout a, b, c;  // in cuBLASLt's order: its a is our b

  Call(GemmSize z,
       MatrixLayout our_a,
       MatrixLayout our_b,
       std::int64_t ldc,
       const T* bias,
       GemmBatch batch) {
    cublasLtMatmulDesc_t d = nullptr;
    TANDEM_CUDA(cublasLtMatmulDescCreate(&d, kCompute<T>, kType<T>));
    descriptor.reset(d);
    set(CUBLASLT_MATMUL_DESC_TRANSA, by_rows(our_b) ? CUBLAS_OP_N : CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_TRANSB, by_rows(our_a) ? CUBLAS_OP_N : CUBLAS_OP_T);
    if (bias != nullptr) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    a = by_rows(our_b) ? make_layout<T>(z.n, z.k, our_b.ld, batch, batch.b)
                       : make_layout<T>(z.k, z.n, our_b.ld, batch, batch.b);
    b = by_rows(our_a) ? make_layout<T>(z.k, z.m, our_a.ld, batch, batch.a)
                       : make_layout<T>(z.m, z.k, our_a.ld, batch, batch.a);
    c = make_layout<T>(z.n, z.m, ldc, batch, batch.c);
  }

  Choice choose(cublasLtHandle_t handle) const {
    cublasLtMatmulPreference_t p = nullptr;
    TANDEM_CUDA(cublasLtMatmulPreferenceCreate(&p));
    const Preference owner(p);
    TANDEM_CUDA(cublasLtMatmulPreferenceSetAttribute(
        p, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kMostWorkspace, sizeof kMostWorkspace));
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    TANDEM_CUDA(cublasLtMatmulAlgoGetHeuristic(
        handle, descriptor.get(), a.get(), b.get(), c.get(), c.get(), p, 1, &result, &found));
    if (found == 0) cuda::check(CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmulAlgoGetHeuristic");
    return {result.algo, result.workspaceSize};
  }

 private:
  template <class V>
  void set(cublasLtMatmulDescAttributes_t attribute, V value) {
    TANDEM_CUDA(cublasLtMatmulDescSetAttribute(descriptor.get(), attribute, &value, sizeof value));
  }
};

/// Alignment in bytes, up to what algorithms look at.
std::int64_t alignment(const void* p) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  return static_cast<std::int64_t>(std::min<std::uintptr_t>(256, at & (~at + 1)));
}

}  // namespace

template <class T>
void gemm(const CudaStream& s,
          GemmSize z,
          Operand<T> a,
          Operand<T> b,
          T beta,
          T* c,
          std::int64_t ldc,
          const T* bias,
          GemmBatch batch) {
  if (z.m == 0 || z.n == 0 || batch.count == 0) return;
  const Call<T> call(z, a.layout, b.layout, ldc, bias, batch);
  const LtScope scope(s.device);
  LtState& state = *scope;
  const Problem problem{z.m,
                        z.n,
                        z.k,
                        a.layout.ld,
                        b.layout.ld,
                        ldc,
                        batch.count,
                        batch.a,
                        batch.b,
                        batch.c,
                        (by_rows(a.layout) ? 1 : 0) + (by_rows(b.layout) ? 2 : 0) +
                            (bias != nullptr ? 4 : 0) + (beta != T(0) ? 8 : 0),
                        std::int64_t{sizeof(T)},
                        alignment(a.data) * 512 * 512 + alignment(b.data) * 512 + alignment(c)};
  auto known = state.choices.find(problem);
  if (known == state.choices.end())
    known = state.choices.emplace(problem, call.choose(state.handle)).first;
  const Choice& choice = known->second;
  const Buffer workspace(s.device, choice.workspace, Category::workspace);
  const T alpha = T(1);
  TANDEM_CUDA(cublasLtMatmul(state.handle,
                             call.descriptor.get(),
                             &alpha,
                             b.data,
                             call.a.get(),
                             a.data,
                             call.b.get(),
                             &beta,
                             c,
                             call.c.get(),
                             c,
                             call.c.get(),
                             &choice.algo,
                             workspace.data(),
                             choice.workspace,
                             s.native));
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

}  // namespace tandem::kernels
