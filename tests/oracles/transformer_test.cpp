// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#include "tandem/nn/transformer.hpp"

#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "tandem/nn/models/bert.hpp"
#include "tandem/nn/models/gpt.hpp"
#include "tandem/ops/index.hpp"

#include "oracles/oracle_file.hpp"

namespace tandem::oracles {
namespace {

using nlohmann::json;
using Arguments = std::map<std::string, Tensor>;

/// One case of transformer.safetensors in one float type.
class ModuleCase {
 public:
  ModuleCase(const OracleFile& file, std::string name, DType dtype)
      : file_(file), name_(std::move(name)), dtype_(dtype), parameters_(file.parameters(name_)) {}

  const json& parameters() const { return parameters_; }
  DType dtype() const { return dtype_; }

  /// Loads the state, calls `run` with the arguments, and compares the output and all gradients.
  void check(nn::Module& module, const std::function<Tensor(const Arguments&)>& run) const {
    nn::StateDict state;
    for (const std::string& name : file_.names_after(name_ + ".state."))
      state.set(name, load("state." + name));
    module.load_state_dict(state);
    Arguments arguments;
    for (const auto& entry : parameters_.at("inputs")) {
      const std::string name = entry.get<std::string>();
      arguments[name] = load("in." + name);
      if (file_.has(name_ + ".grad." + name)) arguments[name].requires_grad_();
    }
    const Tensor y = run(arguments);
    compare(y, "out");
    y.backward(load("grad_out"));
    for (const auto& [name, x] : arguments) {
      if (x.requires_grad()) compare(x.grad(), "grad." + name);
    }
    for (const auto& [name, parameter] : module.named_parameters())
      compare(parameter.grad(), "grad." + name);
  }

 private:
  Tensor load(const std::string& what) const {
    const Tensor x = file_.load(name_ + "." + what);
    return x.dtype() == DType::f64 ? x.to(dtype_) : x;
  }
  /// Several layers amplify what f32 rounds: gradients are of the size of their largest elements.
  void compare(const Tensor& actual, const std::string& what) const {
    const Tolerance tolerance = dtype_ == DType::f64 ? Tolerance{1e-11, 1} : Tolerance{2e-4, 10};
    expect_close(actual, load(what), tolerance, name_ + "." + what);
  }

  const OracleFile& file_;
  std::string name_;
  DType dtype_;
  json parameters_;
};

void check_attention(const ModuleCase& c) {
  nn::MultiheadAttention module(
      8, 2, {.bias = c.parameters().at("bias").get<bool>(), .dtype = c.dtype()});
  c.check(module, [&](const Arguments& in) {
    const auto mask = in.find("attention");
    return module(in.at("query"),
                  in.at("key"),
                  in.at("value"),
                  nn::AttentionMasks{.key_padding = in.at("key_padding"),
                                     .attention = mask == in.end() ? Tensor() : mask->second});
  });
}

void check_gpt(const ModuleCase& c) {
  nn::models::Gpt module({.layers = 2,
                          .width = 8,
                          .heads = 2,
                          .context = 6,
                          .vocabulary = 11,
                          .dropout = 0,
                          .tied = c.parameters().at("tied").get<bool>(),
                          .dtype = c.dtype()});
  c.check(module, [&](const Arguments& in) { return module(in.at("index")); });
}

nn::models::BertOptions small_bert(DType dtype) {
  return {.layers = 2,
          .width = 8,
          .heads = 2,
          .context = 6,
          .vocabulary = 11,
          .dropout = 0,
          .dtype = dtype};
}

void check_bert(const ModuleCase& c) {
  nn::models::Bert module(small_bert(c.dtype()));
  c.check(module, [&](const Arguments& in) {
    const auto [hidden, pooled] = module(in.at("index"), in.at("segments"), in.at("key_padding"));
    return cat({hidden, pooled.unsqueeze(1)}, 1);
  });
}

void check_bert_masked_lm(const ModuleCase& c) {
  for (const bool recompute : {false, true}) {
    nn::models::BertOptions options = small_bert(c.dtype());
    options.recompute = recompute;
    nn::models::BertMaskedLm module(options);
    c.check(module, [&](const Arguments& in) {
      return module(in.at("index"), in.at("segments"), in.at("key_padding"));
    });
  }
}

class TransformerOracle : public ::testing::TestWithParam<DType> {};

TEST_P(TransformerOracle, ModulesAgreeWithPyTorch) {
  const std::map<std::string, void (*)(const ModuleCase&)> checks{
      {"MultiheadAttention", check_attention},
      {"Gpt", check_gpt},
      {"Bert", check_bert},
      {"BertMaskedLm", check_bert_masked_lm}};
  const OracleFile file("transformer");
  EXPECT_GE(file.cases().size(), 9U);
  for (const std::string& name : file.cases()) {
    SCOPED_TRACE(name);
    const ModuleCase module(file, name, GetParam());
    checks.at(module.parameters().at("op").get<std::string>())(module);
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes,
                         TransformerOracle,
                         ::testing::Values(DType::f64, DType::f32),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

}  // namespace
}  // namespace tandem::oracles
