// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tandem/core/dtype.hpp"
#include "tandem/io/safetensors.hpp"
#include "tandem/ops/conv.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::oracles {

/// What PyTorch computed for the cases of one family (README.md has the format).
class OracleFile {
 public:
  explicit OracleFile(const std::string& family);

  std::vector<std::string> cases() const;
  nlohmann::json parameters(const std::string& name) const;
  bool has(const std::string& key) const { return file_.find(key) != nullptr; }
  /// On device cpu:0, in the type of the file.
  Tensor load(const std::string& key) const;
  /// What follows `prefix` in the keys that begin with it.
  std::vector<std::string> names_after(const std::string& prefix) const;

 private:
  SafetensorsFile file_;
};

/// The path of `name` in the folder of the oracle files.
std::string oracle_path(const std::string& name);

/// The arguments of one case.
struct Call {
  std::map<std::string, Tensor>
      inputs;  ///< as the op gets them: views of the stored ones where strided
  nlohmann::json parameters;

  /// Undefined where the case has no such input.
  Tensor operator[](const std::string& name) const;
  double number(const char* name) const { return parameters.at(name).get<double>(); }
  int integer(const char* name) const { return parameters.at(name).get<int>(); }
  bool flag(const char* name) const { return parameters.at(name).get<bool>(); }
  std::string text(const char* name) const { return parameters.at(name).get<std::string>(); }
  Pair pair(const char* name) const { return parameters.at(name).get<Pair>(); }
  /// Empty for null.
  Dims dims(const char* name) const;
};

/// Results by key: "out" first, then "out.indices" and the like.
using Results = std::vector<std::pair<std::string, Tensor>>;
using Op = std::function<Results(const Call&)>;
/// By the name that the metadata gives them.
using Ops = std::map<std::string, Op>;

/// One result, called "out".
inline Results out(Tensor y) {
  return {{"out", std::move(y)}};
}
/// One tensor, called "x", and no options.
inline Op unary(Tensor (*f)(const Tensor&)) {
  return [f](const Call& c) { return out(f(c["x"])); };
}

/// `stored` as the strided case wants it; `how` as README.md lists it.
Tensor derive(const Tensor& stored, const std::string& how);

/// EXPECTs that values, shape and dtype are those expected.
///
/// An element may differ by tolerance * (floor + |expected|).
struct Tolerance {
  double relative;
  double floor = 1.0;
};
void expect_close(const Tensor& actual,
                  const Tensor& expected,
                  Tolerance tolerance,
                  const std::string& what);
/// For a result in f64 or f32.
Tolerance tolerance_of(DType dtype);

/// Runs every case of `family`, forward and backward, and EXPECTs PyTorch's values: for gradients
/// from backward, whose kernels may be fused, and from the formulas that create_graph uses.
///
/// @param dtype  f64, or f32: then cases whose numbers f32 cannot hold are passed over.
void check_family(const std::string& family, const Ops& ops, DType dtype);

}  // namespace tandem::oracles
