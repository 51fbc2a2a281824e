// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <map>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem::optim {

/// A parameter and the name under which its state is saved.
struct NamedParameter {
  std::string name;
  Tensor tensor;
};

/// Parameters for an optimizer: `net.named_parameters()`, or `net.parameters()` for a program that
/// saves no optimizer state. The latter get the names "0", "1", ... by their position.
class ParamList {
 public:
  ParamList() = default;
  ParamList(std::vector<NamedParameter> params)
      : params_(std::move(params)) {}  // implicit, as below
  ParamList(const std::vector<Tensor>& params);
  /// Any range of structs with `name` and `tensor`.
  template <std::ranges::input_range R>
  requires requires(std::ranges::range_reference_t<const R> p) {
    { p.name } -> std::convertible_to<std::string>;
    { p.tensor } -> std::convertible_to<Tensor>;
  }
  ParamList(const R& params) {
    for (const auto& p : params)
      params_.push_back({p.name, p.tensor});
  }

  const std::vector<NamedParameter>& items() const noexcept { return params_; }

 private:
  std::vector<NamedParameter> params_;
};

/// Options by PyTorch's names, such as "lr", "weight_decay" and "momentum". "betas" become "beta1"
/// and "beta2"; a flag is 0 or 1.
using Options = std::map<std::string, double>;

/// Parameters whose options differ from the optimizer's:
///
///     optim::SGD opt({{net.body.named_parameters("body")},
///                     {net.head.named_parameters("head"), {{"lr", 0.01}}}}, {.lr = 0.1});
///
/// State is saved by name, so names must differ across all groups; the prefixes see to that.
struct GroupSpec {
  ParamList params;
  Options options = {};
};

/// The parameters of an optimizer that share options.
class ParamGroup {
 public:
  ParamGroup(std::vector<NamedParameter> params, Options options)
      : params_(std::move(params)), options_(std::move(options)) {}

  const std::vector<NamedParameter>& params() const noexcept { return params_; }
  const Options& options() const noexcept { return options_; }
  /// @throws InvalidArgument  if there is no such option; the message lists those there are.
  double get(std::string_view option) const;
  /// Sets an option, which the next step uses.
  ///
  /// @throws InvalidArgument  as get.
  void set(std::string_view option, double value);
  double lr() const { return get("lr"); }

 private:
  std::vector<NamedParameter> params_;
  Options options_;
};

}  // namespace tandem::optim
