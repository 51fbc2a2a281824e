// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/comm/algorithms.hpp"
#include "tandem/runtime/dispatch.hpp"

// How a collective is carried out, as its record has it (Exchange::method).
namespace tandem::comm {

/// The numbers of a problem; it is direct until an algorithm's name is set.
Exchange::Method method_of(const Problem& problem);
/// What carried out an exchange. @throws InvalidArgument  there is no such algorithm.
const Algorithm& algorithm_of(const Exchange& exchange);
/// Whether it is carried out without steps of its own.
bool is_direct(const Exchange& exchange);
/// The problem that was solved. @param itemsize  of an element, in bytes.
Problem problem_of(const Exchange& exchange, Collective::Kind kind, std::size_t itemsize);

}  // namespace tandem::comm
