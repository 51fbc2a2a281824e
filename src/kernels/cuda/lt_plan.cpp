// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/lt_plan.hpp"

#include <string>

#include "tandem/core/error.hpp"

namespace tandem::cuda {

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  check_context(current_gpu(), call);
  const std::string name(call);
  throw DeviceError("GPU " + std::to_string(current_gpu()),
                    name.substr(0, name.find('(')),
                    status,
                    cublasLtGetStatusString(status));
}

}  // namespace tandem::cuda

namespace tandem::kernels::lt {
namespace {

/// Bytes that an algorithm may ask for: what NVIDIA advises for the largest GPUs.
constexpr std::size_t kMaxWorkspace = std::size_t{32} << 20;

/// How parts of a sum may be added up: never in the 16 bits of the result.
constexpr std::uint32_t kWideReductions =
    CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

bool is_gelu(Epilogue e) {
  return e == Epilogue::gelu || e == Epilogue::bias_gelu;
}

/// GELU's are those that store what goes into it too.
cublasLtEpilogue_t native(Epilogue e) {
  switch (e) {
    case Epilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::gelu:
      return CUBLASLT_EPILOGUE_GELU_AUX;
    case Epilogue::bias_gelu:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    default:
      return CUBLASLT_EPILOGUE_DEFAULT;
  }
}

/// As it lies in memory, seen in column-major order.
Layout make_layout(const Problem& p,
                   cudaDataType_t type,
                   std::int64_t rows,
                   std::int64_t cols,
                   std::int64_t ld,
                   std::int64_t step) {
  cublasLtMatrixLayout_t layout = nullptr;
  TANDEM_CUDA(cublasLtMatrixLayoutCreate(
      &layout, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols), ld));
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

}  // namespace

Plan::Plan(cublasLtHandle_t handle, const Problem& p) {
  cublasLtMatmulDesc_t d = nullptr;
  TANDEM_CUDA(cublasLtMatmulDescCreate(&d, p.compute, p.scale_type));
  descriptor_.reset(d);
  set(CUBLASLT_MATMUL_DESC_TRANSA, by_rows(p.b) ? CUBLAS_OP_N : CUBLAS_OP_T);
  set(CUBLASLT_MATMUL_DESC_TRANSB, by_rows(p.a) ? CUBLAS_OP_N : CUBLAS_OP_T);
  if (p.epilogue != Epilogue::none) set(CUBLASLT_MATMUL_DESC_EPILOGUE, native(p.epilogue));
  if (is_gelu(p.epilogue)) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.ldc);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p.pre);
  }
  const GemmSize& z = p.size;
  a_ = by_rows(p.b) ? make_layout(p, p.type, z.n, z.k, p.b.ld, p.batch.b)
                    : make_layout(p, p.type, z.k, z.n, p.b.ld, p.batch.b);
  b_ = by_rows(p.a) ? make_layout(p, p.type, z.k, z.m, p.a.ld, p.batch.a)
                    : make_layout(p, p.type, z.m, z.k, p.a.ld, p.batch.a);
  c_ = make_layout(p, p.c_type, z.n, z.m, p.ldc, p.batch.c);
  choose(handle, p);
}

void Plan::choose(cublasLtHandle_t handle, const Problem& problem) {
  cublasLtMatmulPreference_t p = nullptr;
  TANDEM_CUDA(cublasLtMatmulPreferenceCreate(&p));
  const Preference owner(p);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    TANDEM_CUDA(cublasLtMatmulPreferenceSetAttribute(p, attribute, &value, sizeof value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMaxWorkspace);
  if (problem.type == CUDA_R_16F || problem.type == CUDA_R_16BF)
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kWideReductions);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, problem.b_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, problem.a_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, problem.c_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, problem.c_alignment);
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle, descriptor_.get(), a_.get(), b_.get(), c_.get(), c_.get(), p, 1, &result, &found);
  // It refuses some sizes as invalid; whoever asks has another way.
  if (status != CUBLAS_STATUS_SUCCESS)
    return cuda::check_context(cuda::current_gpu(), "cublasLtMatmulAlgoGetHeuristic");
  if (found == 0) return;
  usable_ = true;
  algo_ = result.algo;
  workspace_ = result.workspaceSize;
}

}  // namespace tandem::kernels::lt
