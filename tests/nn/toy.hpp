// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/nn/module.hpp"
#include "tandem/tensor/factories.hpp"

// Small modules that need no op: they show names, ties and copies.
namespace tandem::nn::toy {

/// One parameter, one buffer; forward notes the context that it sees.
struct Cell : Module {
  Parameter weight;
  BufferTensor steps = tensor<std::int64_t>({0});
  std::string seen_path;
  int calls = 0;

  explicit Cell(double value = 1) : weight(tensor<double>({value, value + 1})) {}
  Tensor forward(const Tensor& x) {
    seen_path = current_module_path();
    ++calls;
    return x;
  }
  TANDEM_MODULE(Cell, weight, steps)
};

struct Twin : Module {
  Cell first{10};
  std::optional<Cell> second = Cell(20);
  Tensor forward(const Tensor& x) { return second ? (*second)(first(x)) : first(x); }
  TANDEM_MODULE(Twin, first, second)
};

/// `head` is tied to `embed`; everything that a member can be is here.
struct Net : Module {
  Cell embed{1};
  std::vector<Twin> blocks = std::vector<Twin>(2);
  std::map<std::string, Parameter> scales{{"a", Parameter(tensor({5.f}))}};
  Parameter none;  // undefined: in no list
  Cell head{2};

  Net() { head.weight = embed.weight; }
  Tensor forward(const Tensor& x) {
    Tensor y = embed(x);
    for (Twin& block : blocks)
      y = block(y);
    return head(y);
  }
  TANDEM_MODULE(Net, embed, blocks, scales, none, head)
};

}  // namespace tandem::nn::toy
