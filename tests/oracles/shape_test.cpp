// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/ops/cumsum.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/sort.hpp"
#include "tandem/ops/tril.hpp"

#include "oracles/oracle_file.hpp"

namespace tandem::oracles {
namespace {

class ShapeOracle : public ::testing::TestWithParam<DType> {};

KeepDims keep(const Call& c) {
  return c.flag("keepdim") ? KeepDims::yes : KeepDims::no;
}

Op reduction(Tensor (*f)(const Tensor&, const Dims&, KeepDims)) {
  return [f](const Call& c) { return out(f(c["x"], c.dims("dim"), keep(c))); };
}

Results arg_max(const Call& c) {
  if (c.parameters.at("dim").is_null()) return out(argmax(c["x"].flatten(), 0));
  return out(argmax(c["x"], c.integer("dim"), keep(c)));
}

Results results_of(const ValuesIndices& r) {
  return {{"out", r.values}, {"out.indices", r.indices}};
}

Order order(bool descending) {
  return descending ? Order::descending : Order::ascending;
}

Results cut(const Call& c) {
  const Slice range{c.integer("start"), c.integer("stop"), c.integer("step")};
  return out(c["x"].slice(c.integer("dim"), range));
}

/// x0, x1, ...
std::vector<Tensor> parts(const Call& c) {
  std::vector<Tensor> list;
  for (const auto& [name, part] : c.inputs)
    list.push_back(part);  // in the order of their names
  return list;
}

TEST_P(ShapeOracle, ReductionsAgreeWithPyTorch) {
  const Ops ops = {
      {"sum", reduction(sum)},
      {"mean", reduction(mean)},
      {"amax", reduction(amax)},
      {"amin", reduction(amin)},
      {"argmax", arg_max},
      {"argmin", [](const Call& c) { return out(argmin(c["x"], c.integer("dim"), keep(c))); }},
      {"max", [](const Call& c) { return results_of(max(c["x"], c.integer("dim"), keep(c))); }},
      {"min", [](const Call& c) { return results_of(min(c["x"], c.integer("dim"), keep(c))); }},
      {"topk",
       [](const Call& c) {
         return results_of(
             topk(c["x"], c.integer("k"), c.integer("dim"), order(c.flag("largest"))));
       }},
      {"sort",
       [](const Call& c) {
         return results_of(sort(c["x"], c.integer("dim"), order(c.flag("descending"))));
       }},
      {"cumsum", [](const Call& c) { return out(cumsum(c["x"], c.integer("dim"))); }},
      {"logsumexp", reduction(logsumexp)},
      {"std",
       [](const Call& c) {
         return out(std(c["x"], c.dims("dim"), c.integer("correction"), keep(c)));
       }},
      {"var",
       [](const Call& c) {
         return out(var(c["x"], c.dims("dim"), c.flag("unbiased") ? 1 : 0, keep(c)));
       }},
  };
  check_family("reduce", ops, GetParam());
}

TEST_P(ShapeOracle, ViewsJoinsAndIndexingAgreeWithPyTorch) {
  const Ops ops = {
      {"reshape", [](const Call& c) { return out(c["x"].reshape(c.dims("shape"))); }},
      {"flatten",
       [](const Call& c) {
         return out(c["x"].flatten(c.integer("start_dim"), c.integer("end_dim")));
       }},
      {"permute", [](const Call& c) { return out(c["x"].permute(c.dims("dims"))); }},
      {"transpose",
       [](const Call& c) { return out(c["x"].transpose(c.integer("dim0"), c.integer("dim1"))); }},
      {"unsqueeze", [](const Call& c) { return out(c["x"].unsqueeze(c.integer("dim"))); }},
      {"squeeze", [](const Call& c) { return out(c["x"].squeeze(c.integer("dim"))); }},
      {"expand", [](const Call& c) { return out(c["x"].expand(c.dims("shape"))); }},
      {"slice", cut},
      {"select",
       [](const Call& c) { return out(c["x"].select(c.integer("dim"), c.integer("index"))); }},
      {"cat", [](const Call& c) { return out(cat(parts(c), c.integer("dim"))); }},
      {"stack", [](const Call& c) { return out(stack(parts(c), c.integer("dim"))); }},
      {"index_select",
       [](const Call& c) { return out(index_select(c["x"], c.integer("dim"), c["index"])); }},
      {"gather", [](const Call& c) { return out(gather(c["x"], c.integer("dim"), c["index"])); }},
      {"tril", [](const Call& c) { return out(tril(c["x"], c.integer("diagonal"))); }},
      {"triu", [](const Call& c) { return out(triu(c["x"], c.integer("diagonal"))); }},
      {"one_hot", [](const Call& c) { return out(one_hot(c["index"], c.integer("num_classes"))); }},
      {"scatter_add",
       [](const Call& c) {
         return out(scatter_add(c["x"], c.integer("dim"), c["index"], c["source"]));
       }},
  };
  check_family("index", ops, GetParam());
}

INSTANTIATE_TEST_SUITE_P(DTypes,
                         ShapeOracle,
                         ::testing::Values(DType::f64, DType::f32),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

}  // namespace
}  // namespace tandem::oracles
