// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Names that programs give to things of their own stay theirs under `using namespace tandem`.

#include <vector>

#include <tandem/tandem.hpp>

using namespace tandem;

struct Nest {
  int eggs = 0;
};
enum class Keep { all };

static std::vector<int> data;

static void train(nn::Linear& net) {
  data.push_back(static_cast<int>(net.weight.numel()));
}

int own_names() {
  nn::Linear net(2, 3);
  train(net);
  return data.front() == 6 && Nest{}.eggs == 0 && Keep::all == Keep{} ? 0 : 1;
}
