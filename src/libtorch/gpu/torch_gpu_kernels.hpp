// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/gpu_kernels.hpp"

namespace tandem::libtorch {

/// The kernels of a step by PyTorch's ops, on the memory that tandem's tensors have. Sums of 16-bit
/// floats are made in f32, and rounded once.
class TorchGpuKernels final : public kernels::RegisteredKernels {
 public:
  void sum_ranks(const Stream& stream,
                 kernels::Reduction reduction,
                 DType dtype,
                 std::span<const void* const> sources,
                 std::span<void* const> targets,
                 std::int64_t begin,
                 std::int64_t end,
                 std::span<const double> factors) override;
  void divide(const Stream& stream,
              DType dtype,
              void* x,
              double divisor,
              std::int64_t begin,
              std::int64_t end) override;
  void copy(const Stream& stream, const kernels::View& x, const kernels::View& y) override;
  void fill(const Stream& stream, double value, const kernels::View& y) override;
  void binary(const Stream& stream,
              kernels::Binary op,
              const kernels::View& a,
              const kernels::View& b,
              const kernels::View& y) override;
  void binary(const Stream& stream,
              kernels::Binary op,
              const kernels::View& a,
              double b,
              const kernels::View& y) override;
  void scaled_add(const Stream& stream,
                  const kernels::View& a,
                  const kernels::View& b,
                  double alpha,
                  const kernels::View& y) override;
  void scale(const Stream& stream, DType t, std::int64_t n, void* x, const void* factor) override;
  void clamp(const Stream& stream, DType t, std::int64_t n, void* x, double limit) override;
  void find_nonfinite(
      const Stream& stream, DType t, std::int64_t n, const void* x, std::int32_t* flag) override;
  void average(const Stream& stream,
               DType t,
               std::int64_t n,
               double share,
               const void* x,
               void* average) override;
  void swap(const Stream& stream, DType t, std::int64_t n, void* a, void* b) override;
  std::shared_ptr<void> reserve(LogicalDevice& device,
                                std::string_view optimizer,
                                std::size_t nbytes) override;
  void sgd(const Stream& stream,
           DType t,
           std::int64_t n,
           const kernels::SgdNumbers& k,
           void* param,
           const void* grad) override;
  void sgd_momentum(const Stream& stream,
                    DType t,
                    std::int64_t n,
                    const kernels::SgdNumbers& k,
                    void* param,
                    const void* grad,
                    void* buf) override;
  void rmsprop(const Stream& stream,
               DType t,
               std::int64_t n,
               const kernels::RmspropNumbers& k,
               void* param,
               const void* grad,
               void* v,
               void* mean,
               void* buf) override;
  void adagrad(const Stream& stream,
               DType t,
               std::int64_t n,
               const kernels::AdagradNumbers& k,
               void* param,
               const void* grad,
               void* sum) override;
  void adadelta(const Stream& stream,
                DType t,
                std::int64_t n,
                const kernels::AdadeltaNumbers& k,
                void* param,
                const void* grad,
                void* v,
                void* u) override;
  void adam(const Stream& stream,
            DType t,
            std::int64_t n,
            const kernels::AdamNumbers& k,
            void* param,
            const void* grad,
            void* m,
            void* v) override;
  void nadam(const Stream& stream,
             DType t,
             std::int64_t n,
             const kernels::NadamNumbers& k,
             void* param,
             const void* grad,
             void* m,
             void* v) override;
  void radam(const Stream& stream,
             DType t,
             std::int64_t n,
             const kernels::RadamNumbers& k,
             void* param,
             const void* grad,
             void* m,
             void* v) override;
  void lamb(const Stream& stream,
            DType t,
            std::int64_t n,
            const kernels::LambNumbers& k,
            void* param,
            const void* grad,
            void* m,
            void* v) override;
};

/// Makes what updates on a GPU need besides their arguments. A second call does nothing.
void prepare_updates(int ordinal);

}  // namespace tandem::libtorch
