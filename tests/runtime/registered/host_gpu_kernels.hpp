// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/copy.hpp"
#include "kernels/divide.hpp"
#include "kernels/fill.hpp"
#include "kernels/gpu_kernels.hpp"

namespace tandem::kernels::test {

/// The host's kernels, for GPUs in the host's memory (host_gpus.hpp).
class HostGpuKernels final : public RegisteredKernels {
 public:
  void sum_ranks(const Stream&,
                 Reduction reduction,
                 DType dtype,
                 std::span<const void* const> sources,
                 std::span<void* const> targets,
                 std::int64_t begin,
                 std::int64_t end,
                 std::span<const double> factors) override {
    kernels::sum_ranks(reduction, dtype, sources, targets, begin, end, factors);
  }
  void divide(const Stream&,
              DType dtype,
              void* x,
              double divisor,
              std::int64_t begin,
              std::int64_t end) override {
    kernels::divide(dtype, x, divisor, begin, end);
  }
  void copy(const Stream&, const View& x, const View& y) override { kernels::copy(host_, x, y); }
  void fill(const Stream&, double value, const View& y) override { kernels::fill(host_, value, y); }
  void binary(const Stream&, Binary op, const View& a, const View& b, const View& y) override {
    kernels::binary(host_, op, a, b, y);
  }
  void binary(const Stream&, Binary op, const View& a, double b, const View& y) override {
    kernels::binary(host_, op, a, b, y);
  }
  void scaled_add(
      const Stream&, const View& a, const View& b, double alpha, const View& y) override {
    kernels::scaled_add(host_, a, b, alpha, y);
  }
  void scale(const Stream&, DType t, std::int64_t n, void* x, const void* factor) override {
    kernels::scale(host_, t, n, x, factor);
  }
  void clamp(const Stream&, DType t, std::int64_t n, void* x, double limit) override {
    kernels::clamp(host_, t, n, x, limit);
  }
  void find_nonfinite(
      const Stream&, DType t, std::int64_t n, const void* x, std::int32_t* flag) override {
    kernels::find_nonfinite(host_, t, n, x, flag);
  }
  void average(
      const Stream&, DType t, std::int64_t n, double share, const void* x, void* average) override {
    kernels::average(host_, t, n, share, x, average);
  }
  void swap(const Stream&, DType t, std::int64_t n, void* a, void* b) override {
    kernels::swap(host_, t, n, a, b);
  }
  std::shared_ptr<void> reserve(LogicalDevice&, std::string_view, std::size_t) override {
    return nullptr;  // these updates compute nothing in between
  }
  void sgd(const Stream&,
           DType t,
           std::int64_t n,
           const SgdNumbers& k,
           void* param,
           const void* grad) override {
    kernels::sgd(host_, t, n, k, param, grad);
  }
  void sgd_momentum(const Stream&,
                    DType t,
                    std::int64_t n,
                    const SgdNumbers& k,
                    void* param,
                    const void* grad,
                    void* buf) override {
    kernels::sgd_momentum(host_, t, n, k, param, grad, buf);
  }
  void rmsprop(const Stream&,
               DType t,
               std::int64_t n,
               const RmspropNumbers& k,
               void* param,
               const void* grad,
               void* v,
               void* mean,
               void* buf) override {
    kernels::rmsprop(host_, t, n, k, param, grad, v, mean, buf);
  }
  void adagrad(const Stream&,
               DType t,
               std::int64_t n,
               const AdagradNumbers& k,
               void* param,
               const void* grad,
               void* sum) override {
    kernels::adagrad(host_, t, n, k, param, grad, sum);
  }
  void adadelta(const Stream&,
                DType t,
                std::int64_t n,
                const AdadeltaNumbers& k,
                void* param,
                const void* grad,
                void* v,
                void* u) override {
    kernels::adadelta(host_, t, n, k, param, grad, v, u);
  }
  void adam(const Stream&,
            DType t,
            std::int64_t n,
            const AdamNumbers& k,
            void* param,
            const void* grad,
            void* m,
            void* v) override {
    kernels::adam(host_, t, n, k, param, grad, m, v);
  }
  void nadam(const Stream&,
             DType t,
             std::int64_t n,
             const NadamNumbers& k,
             void* param,
             const void* grad,
             void* m,
             void* v) override {
    kernels::nadam(host_, t, n, k, param, grad, m, v);
  }
  void radam(const Stream&,
             DType t,
             std::int64_t n,
             const RadamNumbers& k,
             void* param,
             const void* grad,
             void* m,
             void* v) override {
    kernels::radam(host_, t, n, k, param, grad, m, v);
  }
  void lamb(const Stream&,
            DType t,
            std::int64_t n,
            const LambNumbers& k,
            void* param,
            const void* grad,
            void* m,
            void* v) override {
    kernels::lamb(host_, t, n, k, param, grad, m, v);
  }

 private:
  HostStream host_;
};

}  // namespace tandem::kernels::test
