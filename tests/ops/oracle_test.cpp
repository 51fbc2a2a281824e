// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/oracle.hpp"

#include <gtest/gtest.h>

#include "tandem/ops/activation.hpp"
#include "tandem/ops/elementwise.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/ops/reduce.hpp"

namespace tandem {
namespace {

using nlohmann::json;
using oracle::dims_of;
using oracle::Op;
using Inputs = std::vector<Tensor>;

Op unary(Tensor (*f)(const Tensor&)) {
  return [f](const json&, const Inputs& x) { return f(x[0]); };
}
Op binary(Tensor (*f)(const Tensor&, const Tensor&)) {
  return [f](const json&, const Inputs& x) { return f(x[0], x[1]); };
}
Op with_number(Tensor (*f)(const Tensor&, double)) {
  return [f](const json& p, const Inputs& x) { return f(x[0], p.at("other")); };
}

TEST(OracleTest, Elementwise) {
  std::map<std::string, Op> ops{{"add", binary(add)},
                                {"sub", binary(sub)},
                                {"mul", binary(mul)},
                                {"div", binary(div)},
                                {"maximum", binary(maximum)},
                                {"minimum", binary(minimum)},
                                {"eq", binary(eq)},
                                {"ne", binary(ne)},
                                {"lt", binary(lt)},
                                {"le", binary(le)},
                                {"gt", binary(gt)},
                                {"ge", binary(ge)},
                                {"neg", unary(neg)},
                                {"abs", unary(abs)},
                                {"exp", unary(exp)},
                                {"log", unary(log)},
                                {"sqrt", unary(sqrt)},
                                {"rsqrt", unary(rsqrt)},
                                {"square", unary(square)},
                                {"sin", unary(sin)},
                                {"cos", unary(cos)},
                                {"erf", unary(erf)},
                                {"reciprocal", unary(reciprocal)},
                                {"add_scalar", with_number(add)},
                                {"mul_scalar", with_number(mul)},
                                {"sub_scalar", with_number(operator-)},
                                {"div_scalar", with_number(operator/)},
                                {"eq_scalar", with_number(eq)},
                                {"ne_scalar", with_number(ne)},
                                {"lt_scalar", with_number(lt)},
                                {"le_scalar", with_number(le)},
                                {"gt_scalar", with_number(gt)},
                                {"ge_scalar", with_number(ge)}};
  ops["pow"] = [](const json& p, const Inputs& x) { return pow(x[0], p.at("exponent")); };
  ops["where"] = [](const json&, const Inputs& x) { return where(x[0], x[1], x[2]); };
  oracle::expect_family("elementwise", ops);
}

TEST(OracleTest, Activation) {
  std::map<std::string, Op> ops{
      {"relu", unary(relu)}, {"tanh", unary(tanh)}, {"sigmoid", unary(sigmoid)}};
  ops["gelu"] = [](const json& p, const Inputs& x) {
    return gelu(x[0], p.at("approximate") == "tanh" ? Gelu::tanh : Gelu::exact);
  };
  ops["softmax"] = [](const json& p, const Inputs& x) { return softmax(x[0], p.at("dim")); };
  ops["log_softmax"] = [](const json& p, const Inputs& x) {
    return log_softmax(x[0], p.at("dim"));
  };
  oracle::expect_family("activation", ops);
}

Op reduction(Tensor (*f)(const Tensor&, const Dims&, Keep)) {
  return [f](const json& p, const Inputs& x) {
    return f(x[0], dims_of(p.at("dim")), p.at("keepdim") ? Keep::dims : Keep::none);
  };
}

TEST(OracleTest, Reduce) {
  std::map<std::string, Op> ops{{"sum", reduction(sum)},
                                {"mean", reduction(mean)},
                                {"amax", reduction(amax)},
                                {"amin", reduction(amin)}};
  ops["var"] = [](const json& p, const Inputs& x) {
    return var(x[0],
               dims_of(p.at("dim")),
               p.at("unbiased") ? 1 : 0,
               p.at("keepdim") ? Keep::dims : Keep::none);
  };
  ops["argmax"] = [](const json& p, const Inputs& x) {
    const Keep keep = p.at("keepdim") ? Keep::dims : Keep::none;
    return p.at("dim").is_null() ? argmax(x[0].flatten(), 0) : argmax(x[0], p.at("dim"), keep);
  };
  oracle::expect_family("reduce", ops);
}

TEST(OracleTest, Index) {
  std::map<std::string, Op> ops;
  ops["reshape"] = [](const json& p, const Inputs& x) {
    return x[0].reshape(dims_of(p.at("shape")));
  };
  ops["expand"] = [](const json& p, const Inputs& x) {
    return x[0].expand(dims_of(p.at("shape")));
  };
  ops["permute"] = [](const json& p, const Inputs& x) {
    return x[0].permute(dims_of(p.at("dims")));
  };
  ops["flatten"] = [](const json& p, const Inputs& x) {
    return x[0].flatten(p.at("start_dim"), p.at("end_dim"));
  };
  ops["transpose"] = [](const json& p, const Inputs& x) {
    return x[0].transpose(p.at("dim0"), p.at("dim1"));
  };
  ops["unsqueeze"] = [](const json& p, const Inputs& x) { return x[0].unsqueeze(p.at("dim")); };
  ops["squeeze"] = [](const json& p, const Inputs& x) { return x[0].squeeze(p.at("dim")); };
  ops["select"] = [](const json& p, const Inputs& x) {
    return x[0].select(p.at("dim"), p.at("index"));
  };
  ops["slice"] = [](const json& p, const Inputs& x) {
    const auto number = [&](const char* key, std::int64_t otherwise) {
      return p.at(key).is_null() ? otherwise : p.at(key).get<std::int64_t>();
    };
    Slice range{.start = number("start", 0), .step = number("step", 1)};
    if (!p.at("stop").is_null()) range.stop = p.at("stop").get<std::int64_t>();
    return x[0].slice(p.at("dim"), range);
  };
  ops["cat"] = [](const json& p, const Inputs& x) { return cat(x, p.at("dim")); };
  ops["stack"] = [](const json& p, const Inputs& x) { return stack(x, p.at("dim")); };
  ops["index_select"] = [](const json& p, const Inputs& x) {
    return index_select(x[0], p.at("dim"), x[1]);
  };
  ops["gather"] = [](const json& p, const Inputs& x) { return gather(x[0], p.at("dim"), x[1]); };
  ops["scatter_add"] = [](const json& p, const Inputs& x) {
    return scatter_add(x[0], p.at("dim"), x[1], x[2]);
  };
  oracle::expect_family("index", ops);
}

Reduction reduction_of(const json& p) {
  const std::string name = p.at("reduction");
  return name == "none" ? Reduction::none : name == "sum" ? Reduction::sum : Reduction::mean;
}

TEST(OracleTest, Loss) {
  std::map<std::string, Op> ops;
  ops["mse"] = [](const json& p, const Inputs& x) { return mse_loss(x[0], x[1], reduction_of(p)); };
  ops["cross_entropy"] = [](const json& p, const Inputs& x) {
    const CrossEntropyOptions options{.ignore_index = p.at("ignore_index"),
                                      .class_weight = x.size() > 2 ? x[2] : Tensor()};
    return cross_entropy(x[0], x[1], reduction_of(p), options);
  };
  oracle::expect_family("loss", ops);
}

/// The denominators by which PyTorch's mean divides.
TEST(OracleTest, LossWeight) {
  int checked = 0;
  for (const oracle::Case& c : oracle::load("loss")) {
    const auto denominator = c.tensors.find("out.denominator");
    if (denominator == c.tensors.end() || !c.parameters.at("strided").empty()) continue;
    const auto weight = c.tensors.find("in.weight");
    const WeightedSum loss =
        cross_entropy_sum(c.tensors.at("in.logits"),
                          c.tensors.at("in.target"),
                          {.ignore_index = c.parameters.at("ignore_index"),
                           .class_weight = weight == c.tensors.end() ? Tensor() : weight->second});
    oracle::expect_close(loss.weight, denominator->second, 1e-12, c.name);
    ++checked;
  }
  EXPECT_GT(checked, 20);
}

}  // namespace
}  // namespace tandem
