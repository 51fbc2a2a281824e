// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include <nanobind/nanobind.h>
#include <torch/nn/module.h>

#include "libtorch/modules/batch_norm_module.hpp"
#include "python/torch/interpreter_lock.hpp"
#include "python/torch/structure.hpp"

namespace tandem::python {

/// A torch.nn.Module of Python as one of C++: it has the same parameters, buffers and parts, the
/// same tensors, and its mode. It does not follow when tensors or parts are replaced; then another
/// one is made.
class PythonModule : public torch::nn::Module {
 public:
  /// With the interpreter's lock.
  static std::shared_ptr<PythonModule> make(nanobind::handle module);

  explicit PythonModule(nanobind::handle module);

  /// Calls the module: its hooks and its forward.
  Outputs forward(const Arguments& arguments);
  nanobind::handle object() const noexcept { return object_.get(); }
  /// Shows the garbage collector the objects of all parts.
  int traverse(visitproc visit, void* argument) const;
  /// Reads whether each part trains. With the interpreter's lock.
  void read_mode();

  /// Sets the mode of this part alone, without its own parts.
  void train(bool on = true) override;
  bool is_training() const noexcept override { return is_training_; }

 private:
  using Known = std::unordered_map<PyObject*, std::shared_ptr<PythonModule>>;
  static std::shared_ptr<PythonModule> make(nanobind::handle module, Known& known);
  void read(Known& known);

  SharedObject object_;
  bool is_training_ = false;
};

/// A batch norm of Python.
class PythonBatchNorm final : public PythonModule, public libtorch::BatchNormModule {
 public:
  using PythonModule::PythonModule;

  libtorch::RunningState running_state() const override;
};

}  // namespace tandem::python
