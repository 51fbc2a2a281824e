// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Updates on flat ranges, by the ops of PyTorch's own optimizers: fused for SGD and Adam, which
// need no memory, single-tensor for the others, which write to an UpdateSpace what they compute in
// between. An op that takes memory by itself must not be called here.

#include <algorithm>
#include <array>
#include <string_view>

#include <ATen/ATen.h>

#include "libtorch/gpu/gpu_constant.hpp"
#include "libtorch/gpu/gpu_tensors.hpp"
#include "libtorch/gpu/op_scope.hpp"
#include "libtorch/gpu/own_call.hpp"
#include "libtorch/gpu/torch_gpu_kernels.hpp"
#include "libtorch/gpu/update_space.hpp"

namespace tandem::libtorch {
namespace {

/// The number of a step so late that PyTorch's fused Adam corrects no bias, since a power of beta
/// is 0. The numbers that it gets have the correction in them: r and step_size are those of
/// AdamNumbers, and step_size m / (sqrt(v) / r + eps) = step_size r m / (sqrt(v) + eps r).
constexpr float kUnbiased = 1e30F;

/// That number.
GpuConstant& unbiased_step() {
  static GpuConstant& step = *new GpuConstant([] { return at::full({}, kUnbiased, at::kFloat); });
  return step;
}

/// How many arrays an optimizer's update needs.
struct Arrays {
  std::string_view optimizer;
  int count;
};
constexpr Arrays kRmsprop{"RMSprop", 2}, kAdagrad{"Adagrad", 2}, kAdadelta{"Adadelta", 3},
    kNadam{"NAdam", 2}, kRadam{"RAdam", 2}, kLamb{"LAMB", 3};
constexpr std::array kArrays{kRmsprop, kAdagrad, kAdadelta, kNadam, kRadam, kLamb};

/// A piece of the ranges of an update, and arrays of its size for what is computed in between.
struct Piece {
  const UpdateSpace& space;
  DType dtype;
  std::int64_t begin;
  std::int64_t end;
  int ordinal;

  /// Of the range at p.
  at::Tensor of(const void* p) const { return range_of_gpu(p, dtype, begin, end, ordinal); }
  at::Tensor array(int i) const { return space.array(i, dtype, end - begin); }
};

/// Calls f(piece) for each piece of ranges of n elements.
template <class F>
void each_piece(const UpdateSpace& space, DType t, std::int64_t n, int ordinal, F f) {
  const std::int64_t most = UpdateSpace::piece(t);
  for (std::int64_t begin = 0; begin < n; begin += most)
    f(Piece{space, t, begin, std::min(n, begin + most), ordinal});
}

/// f(ordinal, space) with arrays for ranges of n elements.
template <class F>
void run_in_space(
    const Stream& stream, const char* name, DType t, std::int64_t n, Arrays arrays, F f) {
  run_ops(stream, name, [&](int ordinal) {
    const std::size_t nbytes = static_cast<std::size_t>(n) * itemsize(t);
    const auto space = UpdateSpace::of(stream.logical_device(), nbytes, arrays.count);
    const auto held = space->hold();
    f(ordinal, *space);
  });
}

/// An update that treats each element alike: f(piece).
template <class F>
void update_pieces(
    const Stream& stream, const char* name, DType t, std::int64_t n, Arrays arrays, F f) {
  run_in_space(stream, name, t, n, arrays, [&](int ordinal, const UpdateSpace& space) {
    each_piece(space, t, n, ordinal, f);
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

/// The gradient with that of a penalty on the parameter's square, in array 0 if there is one.
at::Tensor with_decay(const Piece& piece, const void* grad, const at::Tensor& param, double l2) {
  const at::Tensor g = piece.of(grad);
  if (l2 == 0) return g;
  at::Tensor sum = piece.array(0);
  return at::add_out(sum, g, param, l2);
}

/// sqrt(x), in an array.
at::Tensor root(const Piece& piece, int array, const at::Tensor& x) {
  at::Tensor y = piece.array(array);
  return at::sqrt_out(y, x);
}

/// The running means take in the gradient g.
void take(
    double beta1, double beta2, const at::Tensor& g, const at::Tensor& m, const at::Tensor& v) {
  m.lerp_(g, 1 - beta1);
  v.mul_(beta2).addcmul_(g, g, 1 - beta2);
}

/// The same, of a piece. @return  what they take in
at::Tensor take(const Piece& piece,
                const kernels::MeanNumbers& k,
                const void* grad,
                const at::Tensor& param,
                const at::Tensor& m,
                const at::Tensor& v) {
  at::Tensor g = with_decay(piece, grad, param, k.l2);
  take(k.beta1, k.beta2, g, m, v);
  return g;
}

/// Adds the squares of a piece's x to a sum. By rows first: a sum to one number takes memory where
/// it is long. Overwrites all arrays, after x was read.
void add_squares(const Piece& piece, const at::Tensor& x, const at::Tensor& sum) {
  constexpr std::int64_t kRow = 1024;
  const std::int64_t n = piece.end - piece.begin, rows = n / kRow, left = n % kRow;
  const at::Tensor wide = piece.space.array(1, DType::f64, n);  // as large as two arrays of f32
  wide.copy_(x);
  wide.mul_(wide);
  at::Tensor sums = piece.space.array(0, DType::f64, rows + (left > 0 ? 1 : 0));
  at::Tensor of_rows = sums.slice(0, 0, rows), of_rest = sums.slice(0, rows);
  if (rows > 0)
    at::sum_out(
        of_rows, wide.slice(0, 0, rows * kRow).view({rows, kRow}), at::OptionalIntArrayRef(1));
  if (left > 0)
    at::sum_out(of_rest, wide.slice(0, rows * kRow).view({1, left}), at::OptionalIntArrayRef(1));
  at::Tensor all = piece.space.number(0);
  sum.add_(at::sum_out(all, sums, at::OptionalIntArrayRef(0)));
}

}  // namespace

void prepare_updates(int ordinal) {
  const OwnCall own;  // an observer would ask for the device that is being opened
  unbiased_step().on(ordinal);
}

std::shared_ptr<void> TorchGpuKernels::reserve(LogicalDevice& device,
                                               std::string_view optimizer,
                                               std::size_t nbytes) {
  for (const Arrays& of : kArrays)
    if (of.optimizer == optimizer) return UpdateSpace::reserve(device, nbytes, of.count);
  return nullptr;
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
  update_pieces(stream, "rmsprop", t, n, kRmsprop, [&](const Piece& piece) {
    const at::Tensor p = piece.of(param), g = with_decay(piece, grad, p, k.weight_decay),
                     squares = piece.of(v);
    squares.mul_(k.alpha).addcmul_(g, g, 1 - k.alpha);
    at::Tensor divisor = piece.array(1);
    if (mean != nullptr) {
      const at::Tensor m = piece.of(mean);
      m.lerp_(g, 1 - k.alpha);
      at::addcmul_out(divisor, squares, m, m, -1).sqrt_();
    } else {
      at::sqrt_out(divisor, squares);
    }
    divisor.add_(k.eps);
    if (buf == nullptr) {
      p.addcdiv_(g, divisor, -k.lr);
      return;
    }
    const at::Tensor step = piece.of(buf);
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
  update_pieces(stream, "adagrad", t, n, kAdagrad, [&](const Piece& piece) {
    const at::Tensor p = piece.of(param), g = with_decay(piece, grad, p, k.weight_decay),
                     total = piece.of(sum);
    total.addcmul_(g, g);
    p.addcdiv_(g, root(piece, 1, total).add_(k.eps), -k.lr);
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
  update_pieces(stream, "adadelta", t, n, kAdadelta, [&](const Piece& piece) {
    const at::Tensor p = piece.of(param), g = with_decay(piece, grad, p, k.weight_decay);
    const at::Tensor squares = piece.of(v), steps = piece.of(u);
    squares.mul_(k.rho).addcmul_(g, g, 1 - k.rho);
    const at::Tensor step = piece.array(1).copy_(steps).add_(k.eps).sqrt_();
    step.div_(piece.array(2).copy_(squares).add_(k.eps).sqrt_()).mul_(g);
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
           {unbiased_step().on(ordinal)},
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
  update_pieces(stream, "nadam", t, n, kNadam, [&](const Piece& piece) {
    const at::Tensor p = piece.of(param), mean = piece.of(m), square = piece.of(v);
    const at::Tensor g = take(piece, k.means, grad, p, mean, square);
    const at::Tensor divisor = root(piece, 1, square).div_(k.root_bias2).add_(k.means.eps);
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
  update_pieces(stream, "radam", t, n, kRadam, [&](const Piece& piece) {
    const at::Tensor p = piece.of(param), mean = piece.of(m), square = piece.of(v);
    take(piece, k.means, grad, p, mean, square);
    if (k.means.decay != 1) p.mul_(k.means.decay);
    if (k.is_adaptive)
      p.addcdiv_(mean, root(piece, 1, square).add_(k.means.eps), -k.step_size);
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
  run_in_space(stream, "lamb", t, n, kLamb, [&](int ordinal, const UpdateSpace& space) {
    const at::Tensor own = space.number(1), way = space.number(2);  // squares, then lengths
    const auto direction = [&](const Piece& piece) {
      const at::Tensor divisor = root(piece, 1, piece.of(v)).div_(k.root_bias2).add_(k.eps);
      return piece.array(0)
          .copy_(piece.of(m))
          .div_(k.bias1)
          .div_(divisor)
          .add_(piece.of(param), k.weight_decay);
    };
    own.zero_();
    way.zero_();
    each_piece(space, t, n, ordinal, [&](const Piece& piece) {
      take(k.beta1, k.beta2, piece.of(grad), piece.of(m), piece.of(v));
      add_squares(piece, direction(piece), way);
      add_squares(piece, piece.of(param), own);
    });
    at::Tensor trust = space.number(3), product = space.number(4), have_both = space.flag();
    const at::Tensor one = space.number(5).fill_(1);
    at::div_out(trust, own.sqrt_(), way.sqrt_());
    at::gt_out(have_both, at::mul_out(product, own, way), 0);
    at::where_out(trust, have_both, trust, one);
    each_piece(space, t, n, ordinal, [&](const Piece& piece) {
      piece.of(param).sub_(direction(piece).mul_(trust).mul_(k.lr));
    });
  });
}

}  // namespace tandem::libtorch
