// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/autograd/tape_context.hpp"

namespace tandem::autograd {

namespace {

/// Never destroyed: static objects that end at exit still ask for their context.
union Kept {
  Kept() noexcept : none() {}
  ~Kept() {}
  TapeContext none;
};

}  // namespace

const TapeContext& no_tape_context() noexcept {
  static const Kept kept;
  return kept.none;
}

}  // namespace tandem::autograd
