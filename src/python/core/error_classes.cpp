// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/core/error_classes.hpp"

#include <exception>

#include <nanobind/nanobind.h>

#include "core/shortened_text.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

const char* class_of(const Error& error) {
  if (dynamic_cast<const InvalidArgument*>(&error) != nullptr) return "InvalidArgument";
  if (dynamic_cast<const OutOfMemory*>(&error) != nullptr) return "OutOfMemory";
  if (dynamic_cast<const FileError*>(&error) != nullptr) return "FileError";
  if (dynamic_cast<const DeviceError*>(&error) != nullptr) return "DeviceError";
  if (dynamic_cast<const NoData*>(&error) != nullptr) return "NoData";
  if (dynamic_cast<const Timeout*>(&error) != nullptr) return "Timeout";
  if (dynamic_cast<const Desync*>(&error) != nullptr) return "Desync";
  if (dynamic_cast<const CommError*>(&error) != nullptr) return "CommError";
  return "Error";
}

void translate_own(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    set_current_error(e);
  }
}

}  // namespace

void set_current_error(const Error& error) {
  const nb::object type = nb::module_::import_("tandem.errors").attr(class_of(error));
  PyErr_SetString(type.ptr(), shortened_text(error.what()).c_str());
}

void register_error_classes() {
  nb::register_exception_translator(translate_own);
}

}  // namespace tandem::python
