// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch/python_module.hpp"

#include <string>
#include <utility>

#include <nanobind/stl/string.h>

#include "tandem/runtime/context.hpp"

#include "libtorch/modules/sync_marks.hpp"
#include "python/torch/call_python.hpp"
#include "python/torch/caller_context.hpp"
#include "python/torch/tensor_caster.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

/// Where tandem.convert_sync_batchnorm leaves its mark on a module.
constexpr const char* kSyncMark = "_tandem_batch_norm";

std::string class_name(nb::handle module) {
  return nb::cast<std::string>(module.type().attr("__name__"));
}

bool is_batch_norm(nb::handle module) {
  // Guarded by the interpreter's lock, as Names of structure.cpp.
  static const nb::object* type = nullptr;
  if (type == nullptr)
    type = new nb::object(nb::module_::import_("torch.nn.modules.batchnorm").attr("_BatchNorm"));
  return nb::isinstance(module, *type);
}

at::Tensor tensor_or_none(const nb::object& x) {
  return x.is_none() ? at::Tensor() : nb::cast<at::Tensor>(x);
}

}  // namespace

PythonModule::PythonModule(nb::handle module)
    : torch::nn::Module(class_name(module)), object_(share(module)) {}

std::shared_ptr<PythonModule> PythonModule::make(nb::handle module) {
  Known known;
  return make(module, known);
}

std::shared_ptr<PythonModule> PythonModule::make(nb::handle module, Known& known) {
  std::shared_ptr<PythonModule>& made = known[module.ptr()];
  if (made != nullptr) return made;
  if (is_batch_norm(module))
    made = std::make_shared<PythonBatchNorm>(module);
  else
    made = std::make_shared<PythonModule>(module);
  const std::shared_ptr<PythonModule> result = made;  // read() adds to `known`
  result->read(known);
  return result;
}

void PythonModule::read(Known& known) {
  const nb::object parameters = object().attr("_parameters");
  for (nb::handle name : parameters) {
    const auto x = tensor_or_none(parameters[name]);
    if (x.defined()) register_parameter(nb::cast<std::string>(name), x, x.requires_grad());
  }
  const nb::object buffers = object().attr("_buffers");
  for (nb::handle name : buffers) {
    const auto x = tensor_or_none(buffers[name]);
    if (x.defined()) register_buffer(nb::cast<std::string>(name), x);
  }
  const nb::object parts = object().attr("_modules");
  for (nb::handle name : parts) {
    const nb::object part = parts[name];
    if (!part.is_none()) register_module(nb::cast<std::string>(name), make(part, known));
  }
  is_training_ = nb::cast<bool>(object().attr("training"));
  if (nb::hasattr(object(), kSyncMark)) {
    const bool syncs = nb::cast<bool>(object().attr(kSyncMark));
    libtorch::SyncMarks::get().set(
        shared_from_this(), syncs ? BatchNormSync::synchronised : BatchNormSync::per_replica);
  }
}

int PythonModule::traverse(visitproc visit, void* arg) const {
  for (const auto& part : modules())
    Py_VISIT(static_cast<const PythonModule&>(*part).object_.get());
  return 0;
}

void PythonModule::read_mode() {
  for (const auto& part : modules()) {
    auto& own = static_cast<PythonModule&>(*part);
    own.is_training_ = nb::cast<bool>(own.object().attr("training"));
  }
}

void PythonModule::train(bool on) {
  const InterpreterLock lock;
  nb::setattr(object(), "training", nb::bool_(on));
  is_training_ = on;
}

Outputs PythonModule::forward(const Arguments& arguments) {
  return call_python(arguments, [&](const nb::object& all) {
    return Structure::take_apart_output(call(object(), all[0], all[1]), arguments.dim);
  });
}

libtorch::RunningState PythonBatchNorm::running_state() const {
  const InterpreterLock lock;
  libtorch::RunningState state{tensor_or_none(object().attr("running_mean")),
                               tensor_or_none(object().attr("num_batches_tracked")),
                               {}};
  const nb::object momentum = object().attr("momentum");
  if (!momentum.is_none()) state.momentum = nb::cast<double>(momentum);
  if (!nb::cast<bool>(object().attr("track_running_stats"))) state.mean = at::Tensor();
  return state;
}

}  // namespace tandem::python
