// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "tandem/core/dtype.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/stream.hpp"

#include "kernels/adam.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/lamb.hpp"
#include "kernels/optimizer.hpp"
#include "kernels/sum_ranks.hpp"
#include "kernels/view.hpp"

namespace tandem::kernels {

/// The kernels that data parallelism needs on GPUs: tandem's own in a build with CUDA, or those
/// that come with a GpuBackend that another library has registered. Each does what the function of
/// its name does, and stands there.
///
/// Thread-safe. Every function queues work on the stream, and throws DeviceError if the GPU
/// refuses.
class GpuKernels {
 public:
  GpuKernels() = default;
  virtual ~GpuKernels() = default;
  GpuKernels(const GpuKernels&) = delete;
  GpuKernels& operator=(const GpuKernels&) = delete;

  // Of collectives. The GPU reaches all that is pointed to; at most kMaxDevices sources and
  // targets.

  virtual void sum_ranks(const Stream& stream,
                         Reduction reduction,
                         DType dtype,
                         std::span<const void* const> sources,
                         std::span<void* const> targets,
                         std::int64_t begin,
                         std::int64_t end,
                         std::span<const double> factors) = 0;
  virtual void divide(const Stream& stream,
                      DType dtype,
                      void* x,
                      double divisor,
                      std::int64_t begin,
                      std::int64_t end) = 0;
};

/// The kernels of a backend that another library has registered: those of collectives, and what a
/// step calls by dispatch_on_any.
class RegisteredKernels : public GpuKernels {
 public:
  virtual void copy(const Stream& stream, const View& x, const View& y) = 0;
  virtual void fill(const Stream& stream, double value, const View& y) = 0;
  virtual void binary(
      const Stream& stream, Binary op, const View& a, const View& b, const View& y) = 0;
  virtual void binary(const Stream& stream, Binary op, const View& a, double b, const View& y) = 0;
  virtual void scaled_add(
      const Stream& stream, const View& a, const View& b, double alpha, const View& y) = 0;

  // Of flat ranges of n elements.

  virtual void scale(
      const Stream& stream, DType t, std::int64_t n, void* x, const void* factor) = 0;
  virtual void clamp(const Stream& stream, DType t, std::int64_t n, void* x, double limit) = 0;
  virtual void find_nonfinite(
      const Stream& stream, DType t, std::int64_t n, const void* x, std::int32_t* flag) = 0;
  virtual void average(const Stream& stream,
                       DType t,
                       std::int64_t n,
                       double share,
                       const void* x,
                       void* average) = 0;
  virtual void swap(const Stream& stream, DType t, std::int64_t n, void* a, void* b) = 0;

  // Updates.

  /// Takes memory for what an optimizer's updates on a device compute in between, which they use
  /// for as long as the result lives: they come after a step's vote, where memory must not be
  /// refused. What is reserved already is enough for who asks again.
  ///
  /// @param optimizer  its name, such as "RMSprop". @param nbytes  of its largest range of
  ///                   parameters there.
  /// @return  null: they need none.
  /// @throws OutOfMemory
  virtual std::shared_ptr<void> reserve(LogicalDevice& device,
                                        std::string_view optimizer,
                                        std::size_t nbytes) = 0;
  virtual void sgd(const Stream& stream,
                   DType t,
                   std::int64_t n,
                   const SgdNumbers& k,
                   void* param,
                   const void* grad) = 0;
  virtual void sgd_momentum(const Stream& stream,
                            DType t,
                            std::int64_t n,
                            const SgdNumbers& k,
                            void* param,
                            const void* grad,
                            void* buf) = 0;
  virtual void rmsprop(const Stream& stream,
                       DType t,
                       std::int64_t n,
                       const RmspropNumbers& k,
                       void* param,
                       const void* grad,
                       void* v,
                       void* mean,
                       void* buf) = 0;
  virtual void adagrad(const Stream& stream,
                       DType t,
                       std::int64_t n,
                       const AdagradNumbers& k,
                       void* param,
                       const void* grad,
                       void* sum) = 0;
  virtual void adadelta(const Stream& stream,
                        DType t,
                        std::int64_t n,
                        const AdadeltaNumbers& k,
                        void* param,
                        const void* grad,
                        void* v,
                        void* u) = 0;
  virtual void adam(const Stream& stream,
                    DType t,
                    std::int64_t n,
                    const AdamNumbers& k,
                    void* param,
                    const void* grad,
                    void* m,
                    void* v) = 0;
  virtual void nadam(const Stream& stream,
                     DType t,
                     std::int64_t n,
                     const NadamNumbers& k,
                     void* param,
                     const void* grad,
                     void* m,
                     void* v) = 0;
  virtual void radam(const Stream& stream,
                     DType t,
                     std::int64_t n,
                     const RadamNumbers& k,
                     void* param,
                     const void* grad,
                     void* m,
                     void* v) = 0;
  virtual void lamb(const Stream& stream,
                    DType t,
                    std::int64_t n,
                    const LambNumbers& k,
                    void* param,
                    const void* grad,
                    void* m,
                    void* v) = 0;
};

/// The process's. Lives until the process ends.
/// @throws InternalError  there are none, and so no GPUs.
GpuKernels& gpu_kernels();

/// Those that are registered. @throws InternalError  there are none.
RegisteredKernels& registered_kernels();

/// Makes the process's kernels another library's, from now on. It uses no GPU yet.
void register_gpu_kernels(std::unique_ptr<RegisteredKernels> kernels);

}  // namespace tandem::kernels
