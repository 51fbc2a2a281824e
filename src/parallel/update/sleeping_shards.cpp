// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/sleeping_shards.hpp"

namespace tandem::parallel {

void SleepingShards::share_gradients() {
  reduce_rest();
  first().sleep();  // what was changed there goes to the shares
}

void SleepingShards::discard() {
  for (const auto& blocks : sleeping())
    blocks->discard_failed();
}

}  // namespace tandem::parallel
