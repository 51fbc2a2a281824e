// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "tandem/libtorch/detail/shared_update.hpp"

#include "python/torch/optimizer_rule.hpp"

namespace tandem::python {

/// What a tandem.Optimizer holds of C++: the update that devices share. It is given the optimizer
/// with each call, since it may not own its owner.
class PythonUpdate : public libtorch::detail::SharedUpdate {
 public:
  explicit PythonUpdate(const OptimizerRule& rule) : rule_(rule) {}

  const OptimizerRule& rule() const noexcept { return rule_; }

 private:
  const OptimizerRule& rule_;
};

void bind_update(nanobind::module_& m);

}  // namespace tandem::python
