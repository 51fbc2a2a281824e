// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/autograd/tape_context.hpp"

namespace tandem::autograd {

// Never destroyed: static objects that end at exit still ask for their context.
const TapeContext& no_tape_context() noexcept {
  static const TapeContext& none = *new TapeContext;
  return none;
}

}  // namespace tandem::autograd
