// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/patience.hpp"

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::comm {

bool Patience::is_over() const {
  return context().deadline.passed() || deadline_.passed();
}

bool Patience::note_end() {
  if (end_) return false;
  end_ = std::chrono::steady_clock::now();
  return true;
}

std::string Patience::describe() const {
  const Deadline& of_step = context().deadline;
  if (of_step.passed()) return "before the step's deadline; " + of_step.describe();
  return detail::concat(
      "within ", static_cast<double>(timeout_.count()) / 1000, " s; ", deadline_.describe());
}

}  // namespace tandem::comm
