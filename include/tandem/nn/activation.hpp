// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/nn/module.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/softmax.hpp"

namespace tandem::nn {

struct ReLU : Module {
  Tensor forward(const Tensor& x) { return relu(x); }
  TANDEM_MODULE(ReLU)
};

class GELU : public Module {
 public:
  explicit GELU(Gelu form = Gelu::exact) : form_(form) {}
  Tensor forward(const Tensor& x) { return gelu(x, form_); }
  TANDEM_MODULE(GELU)

 private:
  Gelu form_;
};

struct Tanh : Module {
  Tensor forward(const Tensor& x) { return tanh(x); }
  TANDEM_MODULE(Tanh)
};

struct Sigmoid : Module {
  Tensor forward(const Tensor& x) { return sigmoid(x); }
  TANDEM_MODULE(Sigmoid)
};

struct SiLU : Module {
  Tensor forward(const Tensor& x) { return silu(x); }
  TANDEM_MODULE(SiLU)
};

class LeakyReLU : public Module {
 public:
  explicit LeakyReLU(double negative_slope = 0.01) : negative_slope_(negative_slope) {}
  Tensor forward(const Tensor& x) { return leaky_relu(x, negative_slope_); }
  TANDEM_MODULE(LeakyReLU)

 private:
  double negative_slope_;
};

class ELU : public Module {
 public:
  explicit ELU(double alpha = 1) : alpha_(alpha) {}
  Tensor forward(const Tensor& x) { return elu(x, alpha_); }
  TANDEM_MODULE(ELU)

 private:
  double alpha_;
};

class Softplus : public Module {
 public:
  explicit Softplus(double beta = 1, double threshold = 20) : beta_(beta), threshold_(threshold) {}
  Tensor forward(const Tensor& x) { return softplus(x, beta_, threshold_); }
  TANDEM_MODULE(Softplus)

 private:
  double beta_;
  double threshold_;
};

struct LogSigmoid : Module {
  Tensor forward(const Tensor& x) { return logsigmoid(x); }
  TANDEM_MODULE(LogSigmoid)
};

class Softmax : public Module {
 public:
  explicit Softmax(int dim) : dim_(dim) {}
  Tensor forward(const Tensor& x) { return softmax(x, dim_); }
  TANDEM_MODULE(Softmax)

 private:
  int dim_;
};

class LogSoftmax : public Module {
 public:
  explicit LogSoftmax(int dim) : dim_(dim) {}
  Tensor forward(const Tensor& x) { return log_softmax(x, dim_); }
  TANDEM_MODULE(LogSoftmax)

 private:
  int dim_;
};

}  // namespace tandem::nn
