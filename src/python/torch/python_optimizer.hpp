// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <nanobind/nanobind.h>

#include "tandem/libtorch/detail/optimizer_view.hpp"

#include "python/torch/interpreter_lock.hpp"

namespace tandem::python {

struct OptimizerRule;

/// An optimizer of torch.optim in Python, as one whose update devices share. Its functions take the
/// interpreter's lock.
class PythonOptimizer final : public libtorch::detail::OptimizerView {
 public:
  explicit PythonOptimizer(nanobind::handle optimizer, const OptimizerRule& rule);

  std::vector<Group> groups() const override;
  std::unique_ptr<optim::Optimizer> make(
      const std::vector<optim::GroupSpec>& groups) const override;
  void read(const libtorch::detail::UpdatedParameter& parameter,
            optim::OptimizerState& to) const override;
  void write(const optim::OptimizerState& from,
             const libtorch::detail::UpdatedParameter& parameter) override;

 private:
  nanobind::handle user() const noexcept { return user_.get(); }

  SharedObject user_;
  const OptimizerRule& rule_;
};

}  // namespace tandem::python
