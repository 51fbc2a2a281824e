// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// A tensor and its gradient: operations on a leaf are recorded, and backward() goes through them in
// reverse order.
//
//      w (3) --+
//              * --> w * x --> sum --> square --> loss        forward
//      x (3) --+
//      w.grad <-- x * d <----- d <---- 2 * sum <--- 1         backward
//
// Expected output:
//   x = f32 (3) on cpu:0
//   loss = 81
//   dloss/dw = [18 36 54]
//   after one step: loss = 59.9
//   row sums of a (2, 3) matrix = [3 12], of its columns = [3 5 7]
//   error: add: shapes (3) and (2) do not broadcast (3 against 2 in dimension -1)

#include <iomanip>
#include <iostream>

#include <tandem/tandem.hpp>

using namespace tandem;

namespace {

Tensor loss_of(const Tensor& w, const Tensor& x) {
  return square(sum(w * x));
}

void print(const Tensor& x) {
  std::cout << '[';
  const char* gap = "";
  for (const double value : x.to_doubles()) {
    std::cout << gap << value;
    gap = " ";
  }
  std::cout << ']';
}

}  // namespace

int main() {
  // Tensors are handles: copies share data, and views share storage.
  const Tensor x = tensor({1.f, 2.f, 3.f});
  std::cout << "x = " << x.describe() << '\n';

  // Gradients end up in the leaves that require grad.
  Tensor w = tensor({1.f, 1.f, 2.f});
  w.requires_grad_();
  const Tensor loss = loss_of(w, x);
  std::cout << "loss = " << loss.item() << '\n';
  loss.backward();
  std::cout << "dloss/dw = ";
  print(w.grad());
  std::cout << '\n';

  // Take a step against the gradient. Under NoGrad nothing is recorded, so w may change in place.
  {
    const autograd::NoGrad off;
    w.add_(w.grad(), -0.005);
  }
  std::cout << "after one step: loss = " << std::setprecision(3) << loss_of(w, x).item() << '\n';

  // Views and reductions, as in PyTorch.
  const Tensor matrix = arange(0, 6).reshape({2, 3});
  std::cout << "row sums of a (2, 3) matrix = ";
  print(sum(matrix, {1}));
  std::cout << ", of its columns = ";
  print(sum(matrix.t(), {1}));
  std::cout << '\n';

  // Bad input throws a typed error that names both values.
  try {
    x + tensor({1.f, 2.f});
  } catch (const InvalidArgument& error) {
    std::cout << "error: " << error.what() << '\n';
  }
}
