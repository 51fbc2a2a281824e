// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#include "oracles/oracle_file.hpp"

#include <cmath>
#include <cstddef>
#include <exception>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::oracles {

std::string oracle_path(const std::string& name) {
  return std::string(TANDEM_ORACLES) + "/" + name;
}

OracleFile::OracleFile(const std::string& family) : file_(oracle_path(family + ".safetensors")) {}

std::vector<std::string> OracleFile::cases() const {
  std::vector<std::string> names;
  for (const auto& [name, text] : file_.metadata())
    names.push_back(name);
  return names;
}

nlohmann::json OracleFile::parameters(const std::string& name) const {
  return nlohmann::json::parse(file_.metadata().at(name));
}

Tensor OracleFile::load(const std::string& key) const {
  const SafetensorsEntry* entry = file_.find(key);
  if (entry == nullptr) throw std::runtime_error("no oracle has the key " + key);
  return with_dtype(entry->dtype, [&]<class T>() {
    // bool has no contiguous std::vector
    const auto values = std::make_unique<T[]>(static_cast<std::size_t>(numel(entry->shape)));
    const std::span<const T> span(values.get(), static_cast<std::size_t>(numel(entry->shape)));
    file_.read(*entry, std::as_writable_bytes(std::span<T>(values.get(), span.size())));
    return from_host(span, entry->shape);
  });
}

std::vector<std::string> OracleFile::names_after(const std::string& prefix) const {
  std::vector<std::string> names;
  for (const SafetensorsEntry& entry : file_.entries()) {
    if (entry.name.starts_with(prefix)) names.push_back(entry.name.substr(prefix.size()));
  }
  return names;
}

Tensor Call::operator[](const std::string& name) const {
  const auto found = inputs.find(name);
  return found == inputs.end() ? Tensor{} : found->second;
}

Dims Call::dims(const char* name) const {
  Dims dims;
  const nlohmann::json& value = parameters.at(name);
  if (value.is_null()) return dims;
  for (const auto& n : value)
    dims.push_back(n.get<std::int64_t>());
  return dims;
}

Tensor derive(const Tensor& stored, const std::string& how) {
  if (how == "channels_last") return stored.contiguous(MemoryFormat::channels_last);
  std::istringstream words(how);
  std::string kind;
  std::string a;
  std::string b;
  std::getline(words, kind, ':');
  std::getline(words, a, ':');
  std::getline(words, b, ':');
  const int dim = std::stoi(a);
  const int n = std::stoi(b);
  if (kind == "transpose") return stored.transpose(dim, n);
  if (kind == "step") return stored.slice(dim, {.start = 0, .step = n});
  if (kind == "expand") {
    Shape shape = stored.shape();
    shape[dim] = n;
    return stored.expand(shape);
  }
  throw std::runtime_error("unknown derivation " + how);
}

Tolerance tolerance_of(DType dtype) {
  return {dtype == DType::f32 ? 2e-5 : 1e-12};
}

namespace {

bool close(double a, double b, Tolerance tolerance) {
  if (std::isnan(b)) return std::isnan(a);
  if (std::isinf(b)) return a == b;
  return std::abs(a - b) <= tolerance.relative * (tolerance.floor + std::abs(b));
}

bool exact_in_f32(const Tensor& x) {
  for (const double v : x.to_doubles()) {
    if (!std::isnan(v) && static_cast<double>(static_cast<float>(v)) != v) return false;
  }
  return true;
}

/// One case of a family, in one float type.
class CaseRun {
 public:
  CaseRun(const OracleFile& file, std::string name, DType dtype)
      : file_(file), name_(std::move(name)), dtype_(dtype), call_{{}, file.parameters(name_)} {}

  /// Fills the call; false where f32 cannot hold the case's numbers.
  bool prepare() {
    for (const auto& entry : call_.parameters.at("inputs")) {
      const std::string name = entry.get<std::string>();
      Tensor stored = file_.load(key("in." + name));
      if (!fits(stored)) return false;
      if (dtype_ == DType::f32 && stored.dtype() == DType::f64) stored = stored.to(DType::f32);
      if (file_.has(key("grad." + name))) stored.requires_grad_();
      leaves_[name] = stored;
      const auto& strided = call_.parameters.at("strided");
      call_.inputs[name] =
          strided.contains(name) ? derive(stored, strided[name].get<std::string>()) : stored;
    }
    return true;
  }

  void check(const Op& op) {
    const Results results = op(call_);
    for (const auto& [what, y] : results)
      compare(y, what);
    if (!file_.has(key("grad_out"))) return;
    const Tensor& y = results.front().second;
    const Tensor dy = file_.load(key("grad_out")).to(y.dtype());
    check_formulas(y, dy);
    y.backward(dy);
    for (const auto& [name, leaf] : leaves_) {
      if (leaf.requires_grad()) compare(leaf.grad(), "grad." + name);
    }
  }

 private:
  /// Gradients that are on the tape themselves come from other code: no fused kernels.
  void check_formulas(const Tensor& y, const Tensor& dy) {
    SCOPED_TRACE("with create_graph");
    std::vector<Tensor> leaves;
    std::vector<std::string> keys;
    for (const auto& [name, leaf] : leaves_) {
      if (!leaf.requires_grad()) continue;
      leaves.push_back(leaf);
      keys.push_back("grad." + name);
    }
    const auto gradients = autograd::grad({y}, leaves, {dy}, {.create_graph = true});
    for (std::size_t i = 0; i < keys.size(); ++i)
      compare(gradients[i], keys[i]);
  }
  std::string key(const std::string& what) const { return name_ + "." + what; }
  bool fits(const Tensor& x) const {
    return dtype_ == DType::f64 ||
           (x.dtype() != DType::f32 && (x.dtype() != DType::f64 || exact_in_f32(x)));
  }
  void compare(const Tensor& actual, const std::string& what) {
    Tensor expected = file_.load(key(what));
    if (dtype_ == DType::f32 && expected.dtype() == DType::f64) expected = expected.to(DType::f32);
    Tolerance tolerance = tolerance_of(expected.dtype());
    if (name_.ends_with("_unusual")) tolerance.floor = 1e-280;  // tiny results count too
    // A step of the mean, 7e-12, for each of the numbers that are added, and PyTorch's own.
    if (name_.ends_with("_far_from_zero")) tolerance.relative *= 100;
    expect_close(actual, expected, tolerance, key(what));
  }

  const OracleFile& file_;
  std::string name_;
  DType dtype_;
  Call call_;
  std::map<std::string, Tensor> leaves_;
};

}  // namespace

void expect_close(const Tensor& actual,
                  const Tensor& expected,
                  Tolerance tolerance,
                  const std::string& what) {
  ASSERT_TRUE(actual.defined()) << what << " is undefined";
  EXPECT_EQ(actual.dtype(), expected.dtype()) << what;
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  const std::vector<double> a = actual.to_doubles();
  const std::vector<double> b = expected.to_doubles();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (close(a[i], b[i], tolerance)) continue;
    ADD_FAILURE() << what << ' ' << expected.shape() << ": element " << i << " is " << a[i]
                  << ", PyTorch has " << b[i] << ", difference " << a[i] - b[i];
    return;
  }
}

void check_family(const std::string& family, const Ops& ops, DType dtype) {
  const OracleFile file(family);
  std::set<std::string> unused;
  for (const auto& [name, op] : ops)
    unused.insert(name);
  int compared = 0;
  for (const std::string& name : file.cases()) {
    SCOPED_TRACE(name + " in " + tandem::name(dtype));
    const std::string op = file.parameters(name).at("op");
    const auto found = ops.find(op);
    if (found == ops.end()) {
      ADD_FAILURE() << "no op for " << op;
      continue;
    }
    unused.erase(op);
    try {
      CaseRun run(file, name, dtype);
      if (!run.prepare()) continue;
      run.check(found->second);
      ++compared;
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
  EXPECT_TRUE(unused.empty()) << family << ".safetensors has no case of " << *unused.begin();
  EXPECT_GT(compared, static_cast<int>(ops.size())) << "most cases were passed over";
}

}  // namespace tandem::oracles
