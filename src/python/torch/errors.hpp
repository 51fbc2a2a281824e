// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::python {

/// Lets Python see the exception that a replica threw, with its own class and traceback, and with a
/// note of the device, the rows, the phase and the module.
void register_errors();

}  // namespace tandem::python
