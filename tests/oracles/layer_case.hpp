// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/module.hpp"

#include "oracles/oracle_file.hpp"

namespace tandem::oracles {

/// One case of a file of modules in one float type.
class LayerCase {
 public:
  LayerCase(const OracleFile& file, std::string name, DType dtype)
      : LayerCase(file, std::move(name), dtype, tolerance_of(dtype)) {}
  LayerCase(const OracleFile& file, std::string name, DType dtype, Tolerance tolerance)
      : file_(file),
        name_(std::move(name)),
        dtype_(dtype),
        tolerance_(tolerance),
        parameters_(file.parameters(name_)) {}

  const nlohmann::json& parameters() const { return parameters_; }
  DType dtype() const { return dtype_; }

  /// A training pass with backward, then an evaluation pass.
  template <class M>
  void check(M module) const {
    nn::StateDict state;
    for (const std::string& name : file_.names_after(name_ + ".in.")) {
      if (name != "x") state.set(name, load("in." + name));
    }
    module.load_state_dict(state);
    Tensor x = load("in.x");
    x.requires_grad_();
    const nlohmann::json& strided = parameters_.at("strided");
    const Tensor view = strided.empty() ? x : derive(x, strided.at("x").get<std::string>());

    const Tensor y = module(view);
    compare(y, "out");
    y.backward(load("grad_out"));
    compare(x.grad(), "grad.x");
    for (const auto& [name, parameter] : module.named_parameters())
      compare(parameter.grad(), "grad." + name);
    for (const auto& [name, buffer] : module.named_buffers())
      compare(buffer, "out." + name);

    module.eval();
    const autograd::NoGrad off;
    compare(module(view), "out.eval");
  }

 private:
  Tensor load(const std::string& what) const {
    const Tensor x = file_.load(name_ + "." + what);
    return x.dtype() == DType::f64 ? x.to(dtype_) : x;
  }
  void compare(const Tensor& actual, const std::string& what) const {
    expect_close(actual, load(what), tolerance_, name_ + "." + what);
  }

  const OracleFile& file_;
  std::string name_;
  DType dtype_;
  Tolerance tolerance_;
  nlohmann::json parameters_;
};

}  // namespace tandem::oracles
