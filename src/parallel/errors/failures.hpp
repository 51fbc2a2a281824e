// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

namespace tandem::parallel {

/// Whether the error only reports that another device failed.
bool is_secondary(const std::exception_ptr& error);

/// The indices of the errors that are not null: of what has failed.
std::vector<std::size_t> failed_among(const std::vector<std::exception_ptr>& errors);

/// The index of the first error that is a cause, or else of the first error. Some of `errors` may
/// be null, but not all.
std::size_t cause_among(const std::vector<std::exception_ptr>& errors);

/// The indices of the causes besides `first`.
std::vector<std::size_t> other_causes(const std::vector<std::exception_ptr>& errors,
                                      std::size_t first);

/// Lines of a message that tell what others have thrown, equal texts once.
///
/// @param others  "cpu:2: ..." each.
/// @param cause   what the message has told already.
std::string also(const std::vector<std::string>& others, const std::string& cause);

}  // namespace tandem::parallel
