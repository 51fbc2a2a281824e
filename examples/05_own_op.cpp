// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// An op of your own: log_cosh(x) = log(cosh(x)), with its own kernel and a gradient.
//
//   x --> apply<LogCosh> --> y      LogCosh::forward: dispatch(stream, work, kernel)
//   dx <-- LogCosh::backward <-- dy      dx = dy * tanh(x), in differentiable ops
//
// All work on a device goes through dispatch(). From the work record, it checks that all tensors
// are on one device, waits for tensors under way, counts versions, and tells observers cost and
// bytes.
//
// Expected output:
//   log_cosh([-1000 0 2 1000]) = [999.31 0.00 1.33 999.31]
//   gradient checked: yes, the second derivative: yes
//   output under DataParallel as on one device: yes
//   error: log_cosh: needs a float tensor, got i64 (3) on cpu:0

#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include <tandem/tandem.hpp>

using namespace tandem;

namespace {

/// The kernel gets pointers and sizes. It checks nothing and allocates nothing.
template <class T>
void log_cosh_kernel(const T* x, T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)  // this form does not overflow
    y[i] = std::abs(x[i]) + std::log1p(std::exp(T(-2) * std::abs(x[i]))) - std::numbers::ln2_v<T>;
}

struct LogCosh {
  static Tensor forward(autograd::FunctionContext& context, const Tensor& x) {
    context.save({x});
    const Tensor dense = x.contiguous();
    const Tensor y = empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
    const double flops = 4.0 * static_cast<double>(x.numel());
    const Work work = make_work(Work::Kind::elementwise, "log_cosh", {dense}, {y}, flops);
    dispatch(x.stream(), work, [&](HostStream&) {
      with_float(x.dtype(), [&]<class T>() {
        log_cosh_kernel(static_cast<const T*>(dense.data()), static_cast<T*>(y.data()), x.numel());
      });
    });
    return y;
  }

  static autograd::Gradients backward(autograd::FunctionContext& context, const Tensor& dy) {
    return {dy * tanh(context.saved[0].get())};
  }
};

/// The function that users of the op call.
Tensor log_cosh(const Tensor& x) {
  TANDEM_CHECK(is_float(x.dtype()), "log_cosh: needs a float tensor, got ", x.describe());
  return autograd::apply<LogCosh>(x);
}

struct Net : nn::Module {
  nn::Linear hidden{8, 32}, head{32, 4};
  Tensor forward(const Tensor& x) { return head(log_cosh(hidden(x))); }
  TANDEM_MODULE(Net, hidden, head)
};

const char* yes(bool condition) {
  return condition ? "yes" : "no";
}

}  // namespace

int main() {
  manual_seed(1);
  std::printf("log_cosh([-1000 0 2 1000]) = [");
  const char* gap = "";
  for (const double value : log_cosh(tensor({-1000.f, 0.f, 2.f, 1000.f})).to_doubles()) {
    std::printf("%s%.2f", gap, value);
    gap = " ";
  }
  std::printf("]\n");

  // Check the gradient against finite differences, in f64 and on a non-contiguous view.
  Tensor x = randn({3, 4}, {.dtype = DType::f64});
  x.requires_grad_();
  const auto op = [](const std::vector<Tensor>& in) { return std::vector{log_cosh(in[0].t())}; };
  std::printf("gradient checked: %s, the second derivative: %s\n",
              yes(autograd::gradcheck(op, {x}).empty()),
              yes(autograd::gradgradcheck(op, {x}).empty()));

  // The op runs on whatever device its input is on.
  Net net;
  const Tensor batch = randn({10, 8});
  const Tensor expected = net(batch);
  parallel::DataParallel dp(net, {.devices = configure_devices("cpu:3")});
  const double difference = global_norm({dp(batch) - expected}).item();
  std::printf("output under DataParallel as on one device: %s\n", yes(difference <= 1e-5));

  try {
    log_cosh(arange(0, 3));
  } catch (const InvalidArgument& error) {
    std::printf("error: %s\n", error.what());
  }
}
