// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/errors/failures.hpp"

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

namespace tandem::parallel {

bool is_secondary(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const CommAborted&) {
    return true;
  } catch (...) {
    return false;
  }
}

std::size_t cause_among(const std::vector<std::exception_ptr>& errors) {
  std::size_t first = errors.size();
  for (std::size_t r = 0; r < errors.size(); ++r) {
    if (errors[r] == nullptr) continue;
    if (first == errors.size() || (is_secondary(errors[first]) && !is_secondary(errors[r])))
      first = r;
  }
  TANDEM_ASSERT(first < errors.size(), "no device has failed");
  return first;
}

}  // namespace tandem::parallel
