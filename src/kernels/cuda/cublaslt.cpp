// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// GEMM by cuBLASLt. It counts in column-major order: c = a @ b in row-major order is c' = b' @ a'
// there.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"
#include "tandem/runtime/runtime.hpp"

#include "kernels/copy.hpp"
#include "kernels/cuda/gemm.hpp"
#include "kernels/cuda/lt_plan.hpp"
#include "kernels/workspace.hpp"
#include "runtime/cuda/pool.hpp"
#include "runtime/gpu/gpu_device.hpp"

namespace tandem::kernels {
namespace {

using lt::Epilogue;
using lt::Problem;

/// What GELU's epilogues ask of the matrix that goes into it: a step that this divides, and bytes.
constexpr std::int64_t kGeluColumns = 8;
constexpr std::uint32_t kGeluAlignment = 16;

/// Products that cuBLASLt takes at once: a dimension of a launch is not larger.
constexpr std::int64_t kMostBatch = 65535;

/// Handle and plans of one device, taken by one call at a time.
class LtState final : public LibraryState {
 public:
  /// @param gpu  the calling thread's.
  explicit LtState(int gpu) {
    if (cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS) return;
    cuda::release_pools(gpu);  // it asks the driver for memory
    TANDEM_CUDA(cublasLtCreate(&handle));
  }
  ~LtState() override {
    plans.clear();
    cublasLtDestroy(handle);
  }

  lt::Plan& find(const Problem& problem) {
    const lt::Key key = problem.key();
    auto known = plans.find(key);
    if (known == plans.end()) known = plans.emplace(key, lt::Plan(handle, problem)).first;
    return known->second;
  }

  cublasLtHandle_t handle = nullptr;
  std::unordered_map<lt::Key, lt::Plan, lt::KeyHash> plans;
};

/// The state for the time of a call.
class LtScope {
 public:
  explicit LtScope(Device device)
      : device_(logical_device(device)), state_(device_.take_library(Library::cublaslt)) {
    if (state_ == nullptr) state_ = std::make_unique<LtState>(device_.gpu()->ordinal());
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

/// Alignment in bytes, up to that of a vector load. What more there is depends on how many devices
/// share a batch, and must not choose the algorithm, whose bits may differ.
std::uint32_t alignment(const void* p) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(16, at & (~at + 1)));
}

/// @return  false, with nothing done, where cuBLASLt has no algorithm.
template <class T, class C>
bool run(const CudaStream& s,
         const Problem& problem,
         const T* a,
         const T* b,
         compute_t<T> beta,
         C* c,
         const C* bias,
         C* pre) {
  const LtScope scope(s.device);
  LtState& state = *scope;
  lt::Plan& plan = state.find(problem);
  if (!plan.usable()) return false;
  const Workspace<unsigned char> workspace(s.device, static_cast<std::int64_t>(plan.workspace()));
  plan.run(state.handle, s, a, b, beta, c, bias, pre, workspace.data());
  return true;
}

/// The second way of a product that cuBLASLt refuses: with no more than the type's own alignment,
/// which more algorithms take.
template <class T, class C>
bool run_unaligned(const CudaStream& s,
                   Problem problem,
                   const T* a,
                   const T* b,
                   compute_t<T> beta,
                   C* c,
                   const C* bias) {
  C* const none = nullptr;
  if (run(s, problem, a, b, beta, c, bias, none)) return true;
  problem.a_alignment = problem.b_alignment = sizeof(T);
  problem.c_alignment = sizeof(C);
  return run(s, problem, a, b, beta, c, bias, none);
}

/// The bias in each row of c.
template <class T>
void fill_rows(const CudaStream& s, const Problem& p, const T* bias, T* c) {
  const Shape shape{p.batch.count, p.size.m, p.size.n};
  const View from{const_cast<T*>(bias), dtype_of<T>(), shape, {0, 0, 1}};
  copy(s, from, {c, dtype_of<T>(), shape, {p.batch.c, p.ldc, 1}});
}

[[noreturn]] void refuse(const Problem& p) {
  throw DeviceError("GPU " + std::to_string(cuda::current_gpu()),
                    "cublasLtMatmulAlgoGetHeuristic",
                    CUBLAS_STATUS_NOT_SUPPORTED,
                    tandem::detail::concat("cuBLASLt has no algorithm for ",
                                           p.batch.count,
                                           " products of ",
                                           p.size.m,
                                           " x ",
                                           p.size.k,
                                           " and ",
                                           p.size.k,
                                           " x ",
                                           p.size.n,
                                           " of type ",
                                           static_cast<int>(p.type),
                                           ", steps ",
                                           p.a.ld,
                                           ", ",
                                           p.b.ld,
                                           " and ",
                                           p.ldc));
}

/// At most kMostBatch products.
template <class T, class C>
void multiply(const CudaStream& s,
              Problem problem,
              const T* a,
              const T* b,
              compute_t<T> beta,
              C* c,
              const C* bias) {
  if (run_unaligned(s, problem, a, b, beta, c, bias)) return;
  if (bias == nullptr) refuse(problem);
  fill_rows(s, problem, bias, c);
  problem.epilogue = Epilogue::none;
  problem.adds = true;
  if (!run_unaligned<T, C>(s, problem, a, b, 1, c, nullptr)) refuse(problem);
}

}  // namespace

template <class T, class C>
void gemm(const CudaStream& s,
          GemmSize size,
          Operand<T> a,
          Operand<T> b,
          compute_t<T> beta,
          C* c,
          std::int64_t ldc,
          const std::type_identity_t<C>* bias,
          GemmBatch batch) {
  if (size.m == 0 || size.n == 0 || batch.count == 0) return;
  for (std::int64_t done = 0; done < batch.count; done += kMostBatch) {
    const T* const first_a = a.data + done * batch.a;
    const T* const first_b = b.data + done * batch.b;
    C* const first_c = c + done * batch.c;
    GemmBatch some = batch;
    some.count = std::min(kMostBatch, batch.count - done);
    const Problem problem{data_type<T>(),
                          data_type<C>(),
                          data_type<compute_t<T>>(),
                          compute_type<T>(s.precision),
                          size,
                          a.layout,
                          b.layout,
                          ldc,
                          some,
                          bias != nullptr ? Epilogue::bias : Epilogue::none,
                          beta != 0,
                          alignment(first_a),
                          alignment(first_b),
                          alignment(first_c)};
    multiply(s, problem, first_a, first_b, beta, first_c, bias);
  }
}

template <class T>
bool gemm_gelu(
    const CudaStream& s, GemmSize size, Operand<T> a, Operand<T> b, const T* bias, T* pre, T* y) {
  const std::uint32_t place = std::min(alignment(pre), alignment(y));
  if (size.n % kGeluColumns != 0 || place < kGeluAlignment) return false;
  const Problem problem{data_type<T>(),
                        data_type<T>(),
                        data_type<compute_t<T>>(),
                        compute_type<T>(s.precision),
                        size,
                        a.layout,
                        b.layout,
                        size.n,
                        {},
                        bias != nullptr ? Epilogue::bias_gelu : Epilogue::gelu,
                        false,
                        alignment(a.data),
                        alignment(b.data),
                        place,
                        pre};
  return run(s, problem, a.data, b.data, compute_t<T>(0), y, bias, pre);
}

}  // namespace tandem::kernels

#include "kernels/cuda/gemm_instances.inl"
