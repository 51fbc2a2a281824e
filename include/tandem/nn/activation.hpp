// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/nn/module.hpp"
#include "tandem/ops/activation.hpp"

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
