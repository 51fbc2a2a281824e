// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/optim/param_group.hpp"

namespace tandem::optim {

/// How a step applies the weight decay of `group`, which has the option "decoupled_weight_decay".
struct WeightDecay {
  double l2;      ///< this times the parameter is added to the gradient
  double factor;  ///< the parameter is multiplied by this
};

inline WeightDecay weight_decay_of(const ParamGroup& group) {
  const double decay = group.get("weight_decay");
  if (group.get("decoupled_weight_decay") != 0) return {0, 1 - group.lr() * decay};
  return {decay, 1};
}

}  // namespace tandem::optim
