// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/core/error.hpp"

namespace tandem::python {

/// Makes an error of tandem the interpreter's current exception, of the class in tandem.errors that
/// has its name. With the interpreter's lock.
void set_current_error(const Error& error);

/// Lets Python see the errors of an extension module's functions so.
void register_error_classes();

}  // namespace tandem::python
