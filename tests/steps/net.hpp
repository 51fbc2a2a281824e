// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <tandem/tandem.hpp>

// The nets and batches of the fuzzer of steps. This header needs tandem alone, since programs that
// the fuzzer prints begin with it.
namespace tandem::steps {

using Ints = std::vector<std::int64_t>;
/// Named numbers: all that a training can be compared by.
using Values = std::map<std::string, std::vector<double>>;

/// What a training begins with.
struct Setup {
  std::string net = "linear:4:3";  ///< layers, see Layer
  std::string optimizer = "sgd";   ///< sgd, momentum, adamw, nadam, rmsprop, adagrad, lamb
  std::string loss = "sum";        ///< mean, sum, weighted, labels
  std::string dtype = "f64";       ///< f64, f32; bf16: f32 with Autocast
  int averages = 0;                ///< 1: made before wrapping; 2: after it; 0: none
  int scaler = 0;
  int devices = 2;
  Ints chunks = {};  ///< empty: even; one number: of device 0; more: of each
  int accumulate = 1;
  int bitwise = 0;
  int whole_tensors = 0;
  std::int64_t units = 0;  ///< 0: the module's parts; otherwise by this many bytes
  int reshard = 1;
  int prefetch = 0;
  int offload = 0;
  int bucket_nbytes = 1 << 20;
  int drift = 0;       ///< drift_every
  int non_finite = 0;  ///< 1: an error
  int norms = 0;       ///< how batch norms see devices: 0 synchronised, 1 per_replica, 2 merged
  int buffers = 0;     ///< 1: means are merged by mean; 2: counts by sum; 0: none is
  int output = 0;      ///< the device of outputs
  std::int64_t seed = 1;
};

inline DType dtype_of(const Setup& setup) {
  return setup.dtype == "f64" ? DType::f64 : DType::f32;
}

/// Whether one device gives the same numbers, but for rounding. Otherwise modes are to be equal.
inline bool is_as_one_device(const Setup& setup) {
  return setup.norms == 0 && setup.buffers == 0 && setup.dtype != "bf16";
}

/// One part of a net. "linear:in:out", "plain:in:out" without bias, "again:k" with the tensors of
/// part k, "norm:n", "layernorm:n", "dropout:percent", "tanh", "relu", "conv", "extra:n" used in
/// training alone, "spare:n" never used, "count" with a buffer that counts forwards. A star at the
/// end: computed again in backward.
struct Layer : nn::Module {
  std::string kind;
  std::optional<nn::Linear> linear;
  std::optional<nn::BatchNorm1d> norm;
  std::optional<nn::LayerNorm> layer_norm;
  std::optional<nn::Dropout> drop;
  std::optional<nn::Conv1d> conv;
  nn::BufferTensor count;

  Tensor forward(const Tensor& x) {
    if (kind == "linear" || kind == "plain" || kind == "again") return (*linear)(x);
    if (kind == "norm") return (*norm)(x);
    if (kind == "layernorm") return (*layer_norm)(x);
    if (kind == "dropout") return (*drop)(x);
    if (kind == "tanh") return tanh(x);
    if (kind == "relu") return relu(x);
    if (kind == "conv")
      return (*conv)(x.reshape({x.size(0), 1, x.size(1)})).reshape({x.size(0), x.size(1)});
    if (kind == "extra") return is_training() ? x + (*linear)(x) : x;
    if (kind == "count" && is_training() && !context().recomputes) {
      const autograd::NoGrad off;
      count.add_(ones({1}, {.dtype = DType::f64, .device = count.device()}));
    }
    return x;
  }
  TANDEM_MODULE(Layer, linear, norm, layer_norm, drop, conv, count)
};

inline std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

/// The parts in their order.
struct Net : nn::Module {
  explicit Net(const Setup& setup) {
    const DType t = dtype_of(setup);
    is_mixed = setup.dtype == "bf16";
    for (std::string word : split(setup.net, ' ')) {
      recomputes.push_back(word.back() == '*');
      if (word.back() == '*') word.pop_back();
      add(split(word, ':'), t);
    }
    if (setup.norms == 1) nn::convert_sync_batchnorm(*this, BatchNormSync::per_replica);
    if (setup.norms == 2) nn::convert_sync_batchnorm(*this, BatchNormSync::merged);
  }
  Tensor forward(Tensor x) {
    const Autocast types(is_mixed ? DType::bf16 : DType::f32);
    for (std::size_t i = 0; i < layers.size(); ++i)
      x = recomputes[i] ? autograd::checkpoint(layers[i], x) : layers[i](x);
    return x;
  }
  bool has(const std::string& kind) const {
    for (const Layer& layer : layers)
      if (layer.kind == kind) return true;
    return false;
  }

  std::vector<Layer> layers;
  std::vector<bool> recomputes;
  bool is_mixed = false;
  TANDEM_MODULE(Net, layers)

 private:
  void add(const std::vector<std::string>& words, DType t) {
    const auto number = [&](std::size_t i) { return std::stoll(words.at(i)); };
    Layer layer;
    layer.kind = words[0];
    if (layer.kind == "linear")
      layer.linear.emplace(number(1), number(2), nn::LinearOptions{.dtype = t});
    if (layer.kind == "plain")
      layer.linear.emplace(number(1), number(2), nn::LinearOptions{.bias = false, .dtype = t});
    if (layer.kind == "extra" || layer.kind == "spare")
      layer.linear.emplace(number(1), number(1), nn::LinearOptions{.dtype = t});
    if (layer.kind == "again") layer.linear = layers.at(static_cast<std::size_t>(number(1))).linear;
    if (layer.kind == "norm") layer.norm.emplace(number(1), nn::BatchNormOptions{.dtype = t});
    if (layer.kind == "layernorm")
      layer.layer_norm.emplace(Shape{number(1)}, nn::LayerNormOptions{.dtype = t});
    if (layer.kind == "dropout") layer.drop.emplace(static_cast<double>(number(1)) / 100);
    if (layer.kind == "conv")
      layer.conv.emplace(1, 1, 3, nn::Conv1dOptions{.padding = 1, .dtype = t});
    if (layer.kind == "count") layer.count = zeros({1}, {.dtype = DType::f64});
    layers.push_back(std::move(layer));
  }
};

struct Batch {
  Tensor x, target, weight, labels;
  TANDEM_FIELDS(x, target, weight, labels)
};

/// The width of the first layer's input, or of the last one's output.
inline std::int64_t width(const std::string& net, bool first) {
  std::int64_t width = 0;
  for (const std::string& word : split(net, ' ')) {
    const auto parts = split(word, ':');
    if (parts[0] != "linear" && parts[0] != "plain") continue;
    if (first) return std::stoll(parts[1]);
    width = std::stoll(parts[2]);
  }
  return width;
}

/// The same values on all sides, made without tandem's random numbers.
inline Batch make_batch(const Setup& setup, std::int64_t rows, std::int64_t seed) {
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  const auto numbers = [&](std::int64_t n) {
    std::vector<double> v(static_cast<std::size_t>(n));
    for (double& x : v)
      x = static_cast<double>(random() >> 11) / static_cast<double>(std::uint64_t{1} << 53) * 2 - 1;
    return v;
  };
  const auto tensor_of = [&](const std::vector<double>& v, const Shape& shape) {
    return from_host(std::span<const double>(v), shape).to(dtype_of(setup));
  };
  const std::int64_t in = width(setup.net, true), out = width(setup.net, false);
  Batch batch;
  batch.x = tensor_of(numbers(rows * in), {rows, in});
  batch.target = tensor_of(numbers(rows * out), {rows, out});
  std::vector<double> weights = numbers(rows);
  for (double& w : weights)
    w = w < -0.5 ? 0.0 : w + 1;
  if (rows > 0) weights[0] = 1;
  batch.weight = tensor_of(weights, {rows});
  std::vector<std::int64_t> labels(static_cast<std::size_t>(rows));
  for (std::int64_t& label : labels)
    label = random() % 4 == 0
                ? -100
                : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(out));
  if (rows > 0) labels[0] = 0;
  batch.labels = from_host(std::span<const std::int64_t>(labels), {rows});
  return batch;
}

}  // namespace tandem::steps
