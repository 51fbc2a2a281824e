// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/autograd/checkpoint.hpp"
#include "tandem/core/error.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/tensor/nest.hpp"

// Modules in f64 of PyTorch's cases for FSDP.
namespace tandem::parallel::test {

/// Four layers that are four units of different sizes. A forward may fail between the first two, or
/// leave the third one out.
struct Chain : nn::Module {
  nn::Linear first{12, 24, {.dtype = DType::f64}}, second{24, 30, {.dtype = DType::f64}};
  nn::Linear third{30, 30, {.dtype = DType::f64}}, head{30, 5, {.dtype = DType::f64}};
  bool fails = false, leaves_out_third = false;
  Tensor forward(const Tensor& x) {
    Tensor y = tanh(first(x.flatten(1)));
    if (fails) throw InvalidArgument("in the middle");
    y = tanh(second(y));
    return head(leaves_out_third ? y : tanh(third(y)));
  }
  TANDEM_MODULE(Chain, first, second, third, head)
};

/// Three layers, of which the last may have the first one's weight, and the others be recomputed.
struct Recomputed : nn::Module {
  explicit Recomputed(bool ties = false, bool again = false) : recomputes(again) {
    if (ties) last.weight = entry.weight;
  }
  nn::Linear entry{12, 12, {.dtype = DType::f64}}, middle{12, 12, {.dtype = DType::f64}};
  nn::Linear last{12, 12, {.dtype = DType::f64}};
  bool recomputes;
  Tensor forward(const Tensor& x) {
    const auto rest = [this](const Tensor& y) { return tanh(last(tanh(middle(y)))); };
    const Tensor y = tanh(entry(x.flatten(1)));
    return recomputes ? autograd::checkpoint(rest, y) : rest(y);
  }
  TANDEM_MODULE(Recomputed, entry, middle, last)
};

/// Two layers, of which a forward may use one.
struct Halves : nn::Module {
  enum class Uses : std::uint8_t { left, right, both };
  nn::Linear left{12, 6, {.dtype = DType::f64}}, right{12, 6, {.dtype = DType::f64}};
  Uses uses = Uses::both;
  Tensor forward(const Tensor& x) {
    if (uses == Uses::left) return left(x);
    return uses == Uses::right ? right(x) : left(x) + right(x);
  }
  TANDEM_MODULE(Halves, left, right)
};

struct HalvesAndHead : nn::Module {
  Halves block;
  nn::Linear head{6, 5, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) { return head(tanh(block(x.flatten(1)))); }
  TANDEM_MODULE(HalvesAndHead, block, head)
};

struct UsedAndOther {
  Tensor used, other;
  TANDEM_FIELDS(used, other)
};

struct BesideAHead : nn::Module {
  nn::Linear body{12, 6, {.dtype = DType::f64}};
  nn::Linear used{6, 5, {.dtype = DType::f64}}, other{6, 5, {.dtype = DType::f64}};
  UsedAndOther forward(const Tensor& x) {
    const Tensor y = tanh(body(x.flatten(1)));
    return {used(y), other(y)};
  }
  TANDEM_MODULE(BesideAHead, body, used, other)
};

/// Smaller than the ranks are many.
struct Narrow : nn::Module {
  nn::Linear wide{12, 3, {.dtype = DType::f64}}, one{3, 1, {.dtype = DType::f64}};
  nn::Linear head{1, 5, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) { return head(tanh(one(tanh(wide(x.flatten(1)))))); }
  TANDEM_MODULE(Narrow, wide, one, head)
};

}  // namespace tandem::parallel::test
