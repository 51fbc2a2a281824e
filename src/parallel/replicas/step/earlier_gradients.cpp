// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/earlier_gradients.hpp"

namespace tandem::parallel {

void EarlierGradients::begin(bool aside) {
  if (aside && gradients_.reduces()) gradients_.sync();
  before_ = gradients_.begin_backward();
  if (aside) before_.clear();
  are_to_be_added_ = aside && before_.any();
}

void EarlierGradients::add(Call::Part& first, GradientPlace where) {
  in_phase(first, Phase::reduce, [&] {
    const GradientReads::AsTheyLie scope = gradients_.as_they_lie();
    if (!gradients_.reduces()) return before_.add();
    before_.add(where);
    first.replica->blocks().sleep();  // other devices get what has changed
  });
}

}  // namespace tandem::parallel
