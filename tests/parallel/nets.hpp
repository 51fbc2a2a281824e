// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <vector>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/batch_norm.hpp"
#include "tandem/nn/conv2d.hpp"
#include "tandem/nn/difference.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/ops/pool.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"

namespace tandem::parallel {

/// For messages.
inline void PrintTo(Mode mode, std::ostream* s) {
  *s << name(mode);
}

namespace test {

using testing::devices;

inline constexpr int kDevices = 3;  ///< where a test has no reason for another number
inline constexpr int kSteps = 20;   ///< of a training that is held against one on one device

/// Chunks of five rows that leave a device without rows, and differ.
inline const std::vector<std::vector<std::int64_t>> kChunks{
    {2, 2, 1}, {0, 4, 1}, {4, 0, 1}, {0, 0, 5}};
inline constexpr std::int64_t kTrainingRows = 29;      ///< of its batches
inline constexpr std::int64_t kLastTrainingRows = 11;  ///< of the last one, which is shorter

/// 12 -> 16 -> 5 with tanh, so that no kink hides a difference.
struct Mlp : nn::Module {
  explicit Mlp(DType t = DType::f64) : hidden(12, 16, {.dtype = t}), head(16, 5, {.dtype = t}) {}
  nn::Linear hidden, head;
  Tensor forward(const Tensor& x) { return head(tanh(hidden(x.flatten(1)))); }
  TANDEM_MODULE(Mlp, hidden, head)
};

/// The same with batch norm. A layer before it has no bias: its gradient is zero but for rounding,
/// which AdamW would turn into steps (docs/exactness.md).
struct NormMlp : nn::Module {
  explicit NormMlp(DType t = DType::f64, BatchNormSync sync = BatchNormSync::synchronised)
      : hidden(12, 16, {.bias = false, .dtype = t}),
        norm(16, {.sync = sync, .dtype = t}),
        head(16, 5, {.dtype = t}) {}
  nn::Linear hidden;
  nn::BatchNorm1d norm;
  nn::Linear head;
  Tensor forward(const Tensor& x) { return head(tanh(norm(hidden(x.flatten(1))))); }
  TANDEM_MODULE(NormMlp, hidden, norm, head)
};

/// Two convolutions with batch norm on (N, 3, 2, 2).
struct Cnn : nn::Module {
  explicit Cnn(DType t = DType::f64, BatchNormSync sync = BatchNormSync::synchronised)
      : first(3, 4, 3, {.padding = {1, 1}, .bias = false, .dtype = t}),
        norm1(4, {.sync = sync, .dtype = t}),
        second(4, 6, 3, {.padding = {1, 1}, .bias = false, .dtype = t}),
        norm2(6, {.sync = sync, .dtype = t}),
        head(6, 5, {.dtype = t}) {}
  nn::Conv2d first;
  nn::BatchNorm2d norm1;
  nn::Conv2d second;
  nn::BatchNorm2d norm2;
  nn::Linear head;
  Tensor forward(const Tensor& x) {
    const Tensor y = relu(norm1(first(x.contiguous(MemoryFormat::channels_last))));
    return head(adaptive_avg_pool2d(tanh(norm2(second(y))), {1, 1}).flatten(1));
  }
  TANDEM_MODULE(Cnn, first, norm1, second, norm2, head)
};

/// Convolutions and pooling, without batch norm.
struct PlainCnn : nn::Module {
  explicit PlainCnn(DType t = DType::f64)
      : conv(3, 6, 3, {.padding = {1, 1}, .dtype = t}), head(6, 5, {.dtype = t}) {}
  nn::Conv2d conv;
  nn::Linear head;
  Tensor forward(const Tensor& x) { return head(max_pool2d(tanh(conv(x)), {2, 2}).flatten(1)); }
  TANDEM_MODULE(PlainCnn, conv, head)
};

struct Batch {
  Tensor x, labels;
  TANDEM_FIELDS(x, labels)
};

/// A batch of (rows, 3, 2, 2) with labels below five, of which some may be ignored (-100).
inline Batch make_batch(std::int64_t rows, std::uint64_t seed, DType t, bool ignored) {
  manual_seed(seed);
  Batch batch{randn({rows, 3, 2, 2}, {.dtype = t}), randint(0, 5, {rows})};
  if (!ignored) return batch;
  std::vector<std::int64_t> labels = batch.labels.to_host<std::int64_t>();
  for (std::size_t i = 0; i < labels.size(); i += 3)
    labels[i] = -100;
  batch.labels = from_host(std::span<const std::int64_t>(labels), {rows});
  return batch;
}

/// Counts its calls, in evaluation too.
struct Counts : nn::Module {
  nn::Linear layer{3, 2, {.dtype = DType::f64}};
  nn::BufferTensor calls = zeros({2}, {.dtype = DType::f64});
  Tensor forward(const Tensor& x) {
    {
      const autograd::NoGrad off;
      calls.add_(full({2}, 1, {.dtype = DType::f64, .device = x.device()}));
    }
    return layer(x) + calls;
  }
  TANDEM_MODULE(Counts, layer, calls)
};

/// Rows that three devices share unevenly.
inline Batch small_batch(std::uint64_t seed = 1) {
  return make_batch(9, seed, DType::f64, false);
}

/// The loss in the replica, exact under any chunking.
inline constexpr auto kLoss = [](auto& net, const Batch& b) {
  return cross_entropy_sum(net(b.x), b.labels);
};

using Values = nn::NamedValues;

inline Values values_of(nn::Module& net) {
  Values values;
  for (const auto& [name, x] : net.named_parameters())
    values[name] = x.to_doubles();
  for (const auto& [name, x] : net.named_buffers())
    values[name] = x.to_doubles();
  return values;
}

inline Values gradients_of(nn::Module& net) {
  Values values;
  for (const auto& [name, x] : net.named_parameters())
    values[name] = x.grad().to_doubles();
  return values;
}

/// How far `a` is from what it should be.
inline double difference(const Values& a, const Values& b) {
  return nn::difference(a, b).value;
}

}  // namespace test
}  // namespace tandem::parallel
