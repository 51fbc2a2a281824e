// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch/errors.hpp"

#include <exception>
#include <string>
#include <typeinfo>

#include <c10/util/Exception.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_hook.h>

#include "tandem/core/error.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "libtorch/device/interpreter.hpp"
#include "python/core/error_classes.hpp"
#include "python/torch/call_python.hpp"
#include "python/torch/interpreter_lock.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

nb::handle out_of_memory_class() {
  // Guarded by the interpreter's lock, as Names of structure.cpp.
  static const nb::object* type = nullptr;
  if (type == nullptr)
    type = new nb::object(nb::module_::import_("torch").attr("OutOfMemoryError"));
  return *type;
}

/// Makes `error` the interpreter's current exception.
void set_current(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const nb::python_error& e) {
    nb::python_error(e).restore();
  } catch (const OutOfMemory& e) {
    PyErr_SetString(out_of_memory_class().ptr(), e.what());
  } catch (const Error& e) {
    set_current_error(e);
  } catch (const std::exception& e) {
    torch::translate_exception_to_python(error);
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

/// Adds what is known of the replica to the current exception.
void add_note(const parallel::ReplicaError& e) {
  const nb::python_error current;
  const nb::object annotate = nb::module_::import_("tandem.errors").attr("annotate");
  annotate(current.value(),
           e.replica,
           to_string(e.device),
           nb::make_tuple(e.rows.begin, e.rows.end),
           name(e.phase),
           e.others);
  nb::python_error(current).restore();
}

void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const parallel::ReplicaError& e) {
    set_current(e.nested_ptr());
    add_note(e);
  } catch (const c10::Error&) {
    torch::translate_exception_to_python(error);
  } catch (const python_error&) {  // PyTorch's own
    torch::translate_exception_to_python(error);
  }
}

/// Takes what a hook of Python has thrown off this thread, so that another one can throw it.
void keep_python_error(std::exception& error) {
  if (auto* const thrown = dynamic_cast<python_error*>(&error)) thrown->persist();
}

void forget_python_error() {
  const InterpreterLock lock;
  PyErr_Clear();
}

bool are_removed(const torch::autograd::PostAccumulateGradHook& hook) {
  using Hooks = torch::autograd::PyFunctionTensorPostAccGradHooks;
  // By name: PyTorch does not export what a dynamic_cast needs.
  const std::string of_python = "N5torch8autograd32PyFunctionTensorPostAccGradHooksE";
  if (of_python != typeid(hook).name()) return false;
  const nb::gil_scoped_acquire lock;
  return PyDict_Size(static_cast<const Hooks&>(hook).dict) == 0;
}

}  // namespace

void rethrow_out_of_memory(const nb::python_error& error) {
  if (!error.matches(out_of_memory_class())) return;
  TORCH_CHECK_WITH(OutOfMemoryError, false, error.what());
}

void register_errors() {
  static constexpr libtorch::Interpreter python{.keep_exception = keep_python_error,
                                                .forget_exception = forget_python_error,
                                                .are_removed = are_removed};
  libtorch::Interpreter::set(python);
  nb::register_exception_translator(translate);
}

}  // namespace tandem::python
