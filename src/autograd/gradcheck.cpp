// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/autograd/gradcheck.hpp"

#include <cmath>
#include <numeric>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::autograd {
namespace {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// Fixed weights that make a scalar of an output, so that every element counts differently.
Tensor weight_like(const Tensor& y) {
  std::vector<double> values(static_cast<std::size_t>(y.numel()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(1.0 + 1.7 * static_cast<double>(i));
  return from_host(std::span<const double>(values), y.shape(), y.device());
}

double weighted_sum(const std::vector<Tensor>& outputs) {
  double total = 0;
  for (const Tensor& y : outputs) {
    if (!is_float(y.dtype())) continue;
    const std::vector<double> values = y.to_doubles(), weights = weight_like(y).to_doubles();
    for (std::size_t i = 0; i < values.size(); ++i)
      total += values[i] * weights[i];
  }
  return total;
}

std::vector<Tensor> analytic(const Function& f,
                             const std::vector<Tensor>& inputs,
                             const std::vector<Tensor>& wanted) {
  std::vector<Tensor> roots, gradients;
  for (const Tensor& y : f(inputs)) {
    if (!y.requires_grad()) continue;
    roots.push_back(y);
    gradients.push_back(weight_like(y));
  }
  if (roots.empty()) return std::vector<Tensor>(wanted.size());
  return grad(roots, wanted, gradients);
}

/// Evaluates f with `values` in the place of input `which`.
double evaluate_at(const Function& f,
                   const std::vector<Tensor>& inputs,
                   std::size_t which,
                   const std::vector<double>& values) {
  std::vector<Tensor> moved = inputs;
  const Tensor& x = inputs[which];
  // Same strides as the input, so that strided paths are the ones checked.
  auto buffer = std::make_shared<Buffer>(x.device(), x.buffer().nbytes(), Category::activation);
  Tensor y = from_buffer(std::move(buffer), x.impl().offset, x.shape(), x.strides(), x.dtype());
  y.copy_(from_host(std::span<const double>(values), x.shape(), x.device()));
  moved[which] = y;
  return weighted_sum(f(moved));
}

/// The derivative of f along `direction` from `values`, those of input `which`, as a central
/// difference.
double difference_along(const Function& f,
                        const std::vector<Tensor>& inputs,
                        std::size_t which,
                        const std::vector<double>& values,
                        const std::vector<double>& direction,
                        double eps) {
  std::vector<double> up = values, down = values;
  for (std::size_t i = 0; i < up.size(); ++i) {
    up[i] += eps * direction[i];
    down[i] -= eps * direction[i];
  }
  return (evaluate_at(f, inputs, which, up) - evaluate_at(f, inputs, which, down)) / (2 * eps);
}

/// A direction of length 1 without zeros.
std::vector<double> fixed_direction(std::size_t size) {
  std::vector<double> direction(size);
  double squares = 0;
  for (std::size_t i = 0; i < size; ++i) {
    direction[i] = 1.5 + std::cos(2.3 + 0.9 * static_cast<double>(i));
    if (i % 2 == 1) direction[i] = -direction[i];
    squares += direction[i] * direction[i];
  }
  for (double& d : direction)
    d /= std::sqrt(squares);
  return direction;
}

/// "" where backward's `got` and the difference agree.
std::string disagreement(
    std::size_t input, const std::string& of, double got, double expected, GradcheckOptions o) {
  if (std::abs(got - expected) <= o.atol + o.rtol * std::abs(expected)) return "";
  return tandem::detail::concat(
      "input ", input, of, ": backward gives ", got, ", but central differences give ", expected);
}

/// Holds backward's gradient `got` of input `which` against differences.
std::string check_input(const Function& f,
                        const std::vector<Tensor>& inputs,
                        std::size_t which,
                        const std::vector<double>& got,
                        const GradcheckOptions& options) {
  const std::vector<double> values = inputs[which].to_doubles();
  if (options.fast_mode) {
    const std::vector<double> direction = fixed_direction(got.size());
    const double along = std::inner_product(got.begin(), got.end(), direction.begin(), 0.0);
    const double expected = difference_along(f, inputs, which, values, direction, options.eps);
    return disagreement(which, ", along a direction", along, expected, options);
  }
  std::vector<double> direction(got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    direction[i] = 1;
    const double expected = difference_along(f, inputs, which, values, direction, options.eps);
    direction[i] = 0;
    std::string text =
        disagreement(which, tandem::detail::concat(", element ", i), got[i], expected, options);
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace

std::string gradcheck(const Function& f,
                      const std::vector<Tensor>& inputs,
                      GradcheckOptions options) {
  std::vector<Tensor> wanted;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) continue;
    TANDEM_CHECK(inputs[i].dtype() == DType::f64,
                 "gradcheck: input ",
                 i,
                 " is ",
                 inputs[i].dtype(),
                 "; it must be f64");
    wanted.push_back(inputs[i]);
    places.push_back(i);
  }
  TANDEM_CHECK(!wanted.empty(), "gradcheck: no input requires grad");
  const std::vector<Tensor> gradients = analytic(f, inputs, wanted);
  const NoGrad off;
  for (std::size_t w = 0; w < wanted.size(); ++w) {
    const auto count = static_cast<std::size_t>(wanted[w].numel());
    const std::vector<double> got =
        gradients[w].defined() ? gradients[w].to_doubles() : std::vector<double>(count, 0.0);
    std::string text = check_input(f, inputs, places[w], got, options);
    if (!text.empty()) return text;
  }
  return "";
}

std::string gradgradcheck(const Function& f,
                          const std::vector<Tensor>& inputs,
                          GradcheckOptions options) {
  const Function first = [&](const std::vector<Tensor>& xs) {
    const EnableGrad on;
    std::vector<Tensor> leaves = xs, wanted, roots, gradients;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!inputs[i].requires_grad()) continue;
      if (!leaves[i].requires_grad()) leaves[i].requires_grad_();
      wanted.push_back(leaves[i]);
    }
    for (const Tensor& y : f(leaves)) {
      if (!y.requires_grad()) continue;
      roots.push_back(y);
      gradients.push_back(weight_like(y));
    }
    std::vector<Tensor> result = grad(roots, wanted, gradients, {.create_graph = true});
    std::erase_if(result, [](const Tensor& g) { return !g.defined(); });
    return result;
  };
  return gradcheck(first, inputs, options);
}

}  // namespace tandem::autograd
