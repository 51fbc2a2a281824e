// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/oracle.hpp"

#include <cmath>
#include <string_view>

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/io/safetensors.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::oracle {
namespace {

Tensor tensor_of(const SafetensorsFile& file, const SafetensorsEntry& entry) {
  std::vector<std::byte> bytes(entry.nbytes);
  file.read(entry, bytes);
  return with_dtype(entry.dtype, [&]<class T>() {
    const std::span<const T> values(reinterpret_cast<const T*>(bytes.data()),
                                    bytes.size() / sizeof(T));
    return from_host(values, entry.shape);
  });
}

/// What a test does to a stored input: "transpose:0:1", "step:1:2", "expand:0:3", "channels_last".
Tensor derived(const Tensor& x, const std::string& how) {
  if (how == "channels_last") return x.contiguous(MemoryFormat::channels_last);
  const auto first = how.find(':');
  const auto second = how.find(':', first + 1);
  const int a = std::stoi(how.substr(first + 1));
  const int b = std::stoi(how.substr(second + 1));
  const std::string kind = how.substr(0, first);
  if (kind == "transpose") return x.transpose(a, b);
  if (kind == "step") return x.slice(a, {.start = 0, .step = b});
  Shape shape = x.shape();
  shape[a] = b;
  EXPECT_EQ(kind, "expand");
  return x.expand(shape);
}

struct Run {
  Tensor out;
  std::map<std::string, Tensor> gradients;  ///< by input
};

enum class Backward { fused, formula };

Run run(const Case& c, const Op& op, DType type, Backward backward) {
  std::vector<Tensor> inputs, leaves;
  std::vector<std::string> names;
  const auto& strided = c.parameters.at("strided");
  for (const std::string& name : c.input_names) {
    Tensor x = c.tensors.at("in." + name).detach();
    if (x.dtype() == DType::f64) x = x.to(type);
    if (c.tensors.contains("grad." + name)) {
      leaves.push_back(x.requires_grad_());
      names.push_back(name);
    }
    inputs.push_back(strided.contains(name) ? derived(x, strided.at(name)) : x);
  }
  Run result{op(c.parameters, inputs), {}};
  const auto dy = c.tensors.find("grad_out");
  if (dy == c.tensors.end() || leaves.empty()) return result;
  const auto gradients = autograd::grad(
      {result.out}, leaves, {dy->second.to(type)}, {.create_graph = backward == Backward::formula});
  for (std::size_t i = 0; i < names.size(); ++i)
    result.gradients[names[i]] = gradients[i];
  return result;
}

void expect_case(const Case& c, const Op& op, DType type, Backward backward) {
  // PyTorch's own variance is 2e-11 from the exact one where the mean is a million.
  const double narrow = c.name.find("far_from_zero") != std::string::npos ? 1e-10 : 1e-12;
  const double tolerance = type == DType::f64 ? narrow : 2e-5;
  const std::string how =
      std::string(name(type)) + (backward == Backward::fused ? ", fused" : ", formula");
  SCOPED_TRACE(c.name + " (" + how + ")");
  const Run result = run(c, op, type, backward);
  const Tensor& expected = c.tensors.at("out");
  if (type == DType::f64) {
    EXPECT_EQ(result.out.dtype(), expected.dtype());
  }
  expect_close(result.out, expected, tolerance, "out");
  for (const auto& [input, gradient] : result.gradients) {
    ASSERT_TRUE(gradient.defined()) << "no gradient of " << input;
    expect_close(gradient, c.tensors.at("grad." + input), tolerance, "gradient of " + input);
  }
}

/// Made to be told from its neighbours in f64 alone.
bool is_for_f64(const std::string& name) {
  for (const std::string_view part : {"unusual", "large", "far_from_zero"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::vector<Case> load(const std::string& family) {
  const SafetensorsFile file(std::string(TANDEM_ORACLES) + "/" + family + ".safetensors");
  std::vector<Case> cases;
  for (const auto& [name, text] : file.metadata()) {
    Case c{name, {}, nlohmann::json::parse(text), {}, {}};
    c.op = c.parameters.at("op");
    c.input_names = c.parameters.at("inputs");
    for (const SafetensorsEntry& entry : file.entries()) {
      if (entry.name.starts_with(name + "."))
        c.tensors[entry.name.substr(name.size() + 1)] = tensor_of(file, entry);
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

void expect_family(const std::string& family, const std::map<std::string, Op>& ops) {
  const std::vector<Case> cases = load(family);
  ASSERT_FALSE(cases.empty());
  for (const Case& c : cases) {
    const auto op = ops.find(c.op);
    ASSERT_NE(op, ops.end()) << "the test does not know " << c.op << " of " << c.name;
    expect_case(c, op->second, DType::f64, Backward::fused);
    expect_case(c, op->second, DType::f64, Backward::formula);
    if (!is_for_f64(c.name)) expect_case(c, op->second, DType::f32, Backward::fused);
  }
}

void expect_close(const Tensor& actual,
                  const Tensor& expected,
                  double tolerance,
                  const std::string& what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  const std::vector<double> a = actual.to_doubles(), b = expected.to_doubles();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    ASSERT_LE(std::abs(a[i] - b[i]), tolerance * std::max(1.0, std::abs(b[i])))
        << what << " of shape " << expected.shape() << " at " << i << ": " << a[i]
        << ", PyTorch has " << b[i];
  }
}

Dims dims_of(const nlohmann::json& value) {
  if (value.is_null()) return {};
  const std::vector<std::int64_t> numbers = value;
  return Dims(std::span<const std::int64_t>(numbers));
}

}  // namespace tandem::oracle
