// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::cli {

/// Makes threads wait for each other in the way that suits the machine: without spinning if other
/// processes use the cores, and otherwise by spinning for a moment only.
///
/// OpenMP reads its environment before main, so the program starts anew with it, once. Nothing
/// happens if the user has said how to wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT). To be called
/// before the first thread or file.
/// @param arguments  those of main.
void choose_waiting(char** arguments) noexcept;

}  // namespace tandem::cli
