// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Updates on flat ranges, by the ops of PyTorch's own optimizers: fused for SGD and Adam, which
// take no memory, single-tensor for the others, which do.

#include <algorithm>
#include <map>
#include <mutex>

#include <ATen/ATen.h>

#include "libtorch/gpu/gpu_tensors.hpp"
#include "libtorch/gpu/op_scope.hpp"
#include "libtorch/gpu/own_call.hpp"
#include "libtorch/gpu/torch_gpu_kernels.hpp"

namespace tandem::libtorch {
namespace {

/// Elements for which an update takes memory at once, such as for a divisor.
constexpr std::int64_t kPiece = std::int64_t{1} << 24;
/// The number of a step so late that PyTorch's fused Adam corrects no bias, since a power of beta
/// is 0. The numbers that it gets have the correction in them: r and step_size are those of
/// AdamNumbers, and step_size m / (sqrt(v) / r + eps) = step_size r m / (sqrt(v) + eps r).
constexpr float kUnbiased = 1e30F;

/// That number on each GPU, where it stays from the GPU's first use on: an update comes after a
/// step's vote, where memory must not be refused.
///
/// Thread-safe.
class UnbiasedSteps {
 public:
  static UnbiasedSteps& get() {
    static UnbiasedSteps& all = *new UnbiasedSteps;
    return all;
  }
  at::Tensor on(int ordinal) {
    const std::scoped_lock lock(mutex_);
    at::Tensor& step = made_[ordinal];
    // From the host: PyTorch waits for such a copy, so that any stream may read it.
    if (!step.defined()) step = at::full({}, kUnbiased, at::kFloat).to(gpu_of(ordinal));
    return step;
  }

 private:
  std::mutex mutex_;  // guards made_
  std::map<int, at::Tensor> made_;
};

/// Calls f(part) for each piece of ranges of n elements, where part(p) is the piece of the range at
/// p.
template <class F>
void each_piece(const Stream& stream, const char* name, DType t, std::int64_t n, F f) {
  run_ops(stream, name, [&](int ordinal) {
    for (std::int64_t begin = 0; begin < n; begin += kPiece) {
      const std::int64_t end = std::min(n, begin + kPiece);
      f([&](const void* p) { return range_of_gpu(p, t, begin, end, ordinal); });
    }
  });
}

/// PyTorch's fused SGD, which takes no memory. @param buf  null: no momentum
void fused_sgd(const Stream& stream,
               DType t,
               std::int64_t n,
               const kernels::SgdNumbers& k,
               void* param,
               const void* grad,
               void* buf) {
  run_ops(stream, "sgd", [&](int ordinal) {
    const auto whole = [&](const void* x) { return range_of_gpu(x, t, 0, n, ordinal); };
    const bool nesterov = k.grad_share != 0;
    // The buffer takes the gradient, whatever it has.
    const bool is_first = buf != nullptr && k.old_share == 0 && k.new_share == 1;
    const double later = nesterov ? k.buf_share : k.old_share;
    const double momentum = buf == nullptr ? 0 : is_first && !nesterov ? 1 : later;
    at::_fused_sgd_({whole(param)},
                    {whole(grad)},
                    buf == nullptr ? std::vector<at::Tensor>{} : std::vector{whole(buf)},
                    k.weight_decay,
                    momentum,
                    k.lr,
                    /*dampening=*/1 - k.new_share,
                    nesterov && buf != nullptr,
                    /*maximize=*/false,
                    is_first,
                    {},
                    {});
  });
}

/// The gradient with that of a penalty on the parameter's square.
at::Tensor with_decay(const at::Tensor& grad, const at::Tensor& param, double l2) {
  return l2 == 0 ? grad : at::add(grad, param, l2);
}

/// The running means take in the gradient. @return  what they take in
at::Tensor take(const kernels::MeanNumbers& k,
                const at::Tensor& grad,
                const at::Tensor& param,
                const at::Tensor& m,
                const at::Tensor& v) {
  at::Tensor g = with_decay(grad, param, k.l2);
  m.lerp_(g, 1 - k.beta1);
  v.mul_(k.beta2).addcmul_(g, g, 1 - k.beta2);
  return g;
}

}  // namespace

void prepare_updates(int ordinal) {
  const OwnCall own;  // an observer would ask for the device that is being opened
  UnbiasedSteps::get().on(ordinal);
}

void TorchGpuKernels::sgd(const Stream& stream,
                          DType t,
                          std::int64_t n,
                          const kernels::SgdNumbers& k,
                          void* param,
                          const void* grad) {
  fused_sgd(stream, t, n, k, param, grad, nullptr);
}

void TorchGpuKernels::sgd_momentum(const Stream& stream,
                                   DType t,
                                   std::int64_t n,
                                   const kernels::SgdNumbers& k,
                                   void* param,
                                   const void* grad,
                                   void* buf) {
  fused_sgd(stream, t, n, k, param, grad, buf);
}

void TorchGpuKernels::rmsprop(const Stream& stream,
                              DType t,
                              std::int64_t n,
                              const kernels::RmspropNumbers& k,
                              void* param,
                              const void* grad,
                              void* v,
                              void* mean,
                              void* buf) {
  each_piece(stream, "rmsprop", t, n, [&](auto part) {
    const at::Tensor p = part(param), g = with_decay(part(grad), p, k.weight_decay),
                     squares = part(v);
    squares.mul_(k.alpha).addcmul_(g, g, 1 - k.alpha);
    at::Tensor spread = squares;
    if (mean != nullptr) {
      const at::Tensor m = part(mean);
      m.lerp_(g, 1 - k.alpha);
      spread = at::addcmul(squares, m, m, -1);
    }
    const at::Tensor divisor = spread.sqrt().add_(k.eps);
    if (buf == nullptr) {
      p.addcdiv_(g, divisor, -k.lr);
      return;
    }
    const at::Tensor step = part(buf);
    step.mul_(k.momentum).addcdiv_(g, divisor);
    p.add_(step, -k.lr);
  });
}

void TorchGpuKernels::adagrad(const Stream& stream,
                              DType t,
                              std::int64_t n,
                              const kernels::AdagradNumbers& k,
                              void* param,
                              const void* grad,
                              void* sum) {
  each_piece(stream, "adagrad", t, n, [&](auto part) {
    const at::Tensor p = part(param), g = with_decay(part(grad), p, k.weight_decay),
                     total = part(sum);
    total.addcmul_(g, g);
    p.addcdiv_(g, total.sqrt().add_(k.eps), -k.lr);
  });
}

void TorchGpuKernels::adadelta(const Stream& stream,
                               DType t,
                               std::int64_t n,
                               const kernels::AdadeltaNumbers& k,
                               void* param,
                               const void* grad,
                               void* v,
                               void* u) {
  each_piece(stream, "adadelta", t, n, [&](auto part) {
    const at::Tensor p = part(param), g = with_decay(part(grad), p, k.weight_decay);
    const at::Tensor squares = part(v), steps = part(u);
    squares.mul_(k.rho).addcmul_(g, g, 1 - k.rho);
    const at::Tensor step =
        at::add(steps, k.eps).sqrt_().div_(at::add(squares, k.eps).sqrt_()).mul_(g);
    steps.mul_(k.rho).addcmul_(step, step, 1 - k.rho);
    p.add_(step, -k.lr);
  });
}

void TorchGpuKernels::adam(const Stream& stream,
                           DType t,
                           std::int64_t n,
                           const kernels::AdamNumbers& k,
                           void* param,
                           const void* grad,
                           void* m,
                           void* v) {
  run_ops(stream, "adam", [&](int ordinal) {
    const auto whole = [&](const void* x) { return range_of_gpu(x, t, 0, n, ordinal); };
    const double lr = k.step_size * k.root_bias2;
    const bool decays = k.means.decay != 1;
    const auto update = decays ? &at::_ops::_fused_adamw_::call : &at::_ops::_fused_adam_::call;
    update({whole(param)},
           {whole(grad)},
           {whole(m)},
           {whole(v)},
           {},
           {UnbiasedSteps::get().on(ordinal)},
           lr,
           k.means.beta1,
           k.means.beta2,
           decays ? (1 - k.means.decay) / lr : k.means.l2,
           k.means.eps * k.root_bias2,
           /*amsgrad=*/false,
           /*maximize=*/false,
           {},
           {});
  });
}

void TorchGpuKernels::nadam(const Stream& stream,
                            DType t,
                            std::int64_t n,
                            const kernels::NadamNumbers& k,
                            void* param,
                            const void* grad,
                            void* m,
                            void* v) {
  each_piece(stream, "nadam", t, n, [&](auto part) {
    const at::Tensor p = part(param), mean = part(m), square = part(v);
    const at::Tensor g = take(k.means, part(grad), p, mean, square);
    const at::Tensor divisor = square.sqrt().div_(k.root_bias2).add_(k.means.eps);
    if (k.means.decay != 1) p.mul_(k.means.decay);
    p.addcdiv_(g, divisor, -k.grad_step).addcdiv_(mean, divisor, -k.mean_step);
  });
}

void TorchGpuKernels::radam(const Stream& stream,
                            DType t,
                            std::int64_t n,
                            const kernels::RadamNumbers& k,
                            void* param,
                            const void* grad,
                            void* m,
                            void* v) {
  each_piece(stream, "radam", t, n, [&](auto part) {
    const at::Tensor p = part(param), mean = part(m), square = part(v);
    take(k.means, part(grad), p, mean, square);
    if (k.means.decay != 1) p.mul_(k.means.decay);
    if (k.is_adaptive)
      p.addcdiv_(mean, square.sqrt().add_(k.means.eps), -k.step_size);
    else
      p.add_(mean, -k.step_size);
  });
}

void TorchGpuKernels::lamb(const Stream& stream,
                           DType t,
                           std::int64_t n,
                           const kernels::LambNumbers& k,
                           void* param,
                           const void* grad,
                           void* m,
                           void* v) {
  run_ops(stream, "lamb", [&](int ordinal) {
    const auto whole = [&](const void* x) { return range_of_gpu(x, t, 0, n, ordinal); };
    const at::Tensor p = whole(param), mean = whole(m), square = whole(v);
    take({k.beta1, k.beta2, k.eps, 0, 1}, whole(grad), p, mean, square);
    const at::Tensor direction = at::div(mean, k.bias1)
                                     .div_(square.sqrt().div_(k.root_bias2).add_(k.eps))
                                     .add_(p, k.weight_decay);
    const at::Tensor own = at::linalg_vector_norm(p, 2, {}, false, at::kDouble);
    const at::Tensor way = at::linalg_vector_norm(direction, 2, {}, false, at::kDouble);
    const at::Tensor one = at::ones_like(own);
    const at::Tensor trust = at::where((own > 0).logical_and_(way > 0), own / way, one);
    p.sub_(direction.mul_(trust.to(p.scalar_type())).mul_(k.lr));
  });
}

}  // namespace tandem::libtorch
