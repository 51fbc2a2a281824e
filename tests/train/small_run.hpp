// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tandem/nn/batch_norm.hpp"
#include "tandem/nn/dropout.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"
#include "tandem/train/loop.hpp"

#include "devices.hpp"

namespace tandem::training::test {

inline constexpr std::int64_t kRows = 40;
inline constexpr std::int64_t kBatch = 16;  // 16, 16 and 8: the last batch is short
inline constexpr std::int64_t kBatches = 3;
inline constexpr std::int64_t kClasses = 3;
inline constexpr const char* kModel = "small f64";

/// 6 -> 8 -> 3 with what a run keeps beside its parameters: buffers and random numbers.
struct Net : nn::Module {
  nn::Linear hidden{6, 8, {.bias = false, .dtype = DType::f64}};
  nn::BatchNorm1d norm{8, {.dtype = DType::f64}};
  nn::Dropout drop{0.3};
  nn::Linear head{8, kClasses, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) { return head(drop(tanh(norm(hidden(x))))); }
  TANDEM_MODULE(Net, hidden, norm, drop, head)
};

inline std::vector<Device> cpus(int n) {
  std::vector<Device> devices;
  for (int i = 0; i < n; ++i)
    devices.push_back(testing::device(i));
  return devices;
}

/// Rows whose label is among `classes`; the same for the same seed.
inline std::shared_ptr<const datasets::Dataset> rows(std::uint64_t seed,
                                                     std::int64_t classes = kClasses) {
  manual_seed(seed);
  const std::vector<Tensor> tensors{randn({kRows, 6}, {.dtype = DType::f64}),
                                    randint(0, classes, {kRows})};
  return std::make_shared<datasets::TensorDataset>(tensors);
}

/// All that a run is made of, fresh: as after the start of a program.
struct SmallRun {
  explicit SmallRun(int devices,
                    std::uint64_t seed = 1,
                    std::int64_t classes = kClasses,
                    parallel::Mode mode = parallel::Mode::sharded)
      : train(rows(100, classes),
              {.batch_size = kBatch, .sampler = datasets::random_sampler(kRows, 5)}),
        test(rows(200), {.batch_size = kBatch}) {
    manual_seed(seed);
    task = std::make_unique<Classifier<Net>>(
        Net(), parallel::DataParallelOptions{.devices = cpus(devices), .mode = mode});
    optimizer = std::make_unique<optim::AdamW>(task->module().named_parameters(),
                                               optim::AdamWOptions{.lr = 0.02});
    state.model = kModel;
    state.data = "rows";
  }

  RunReport go(const LoopOptions& options) {
    return run(*task, *optimizer, train, test, kBatch, state, options);
  }
  void save(const std::string& path) const {
    save_checkpoint(path, task->module(), *optimizer, state);
  }
  void load(const std::string& path) {
    state = load_checkpoint(path, task->module(), *optimizer, state);
  }

  datasets::DataLoader train, test;
  std::unique_ptr<Task> task;
  std::unique_ptr<optim::AdamW> optimizer;
  RunState state;
};

/// Every number of a run by name; f64 throughout, so that equality is bit for bit.
using Numbers = std::map<std::string, std::vector<double>>;

inline Numbers weights_of(const SmallRun& r) {
  Numbers all;
  for (const auto& [name, x] : r.task->module().state_dict())
    all[name] = x.to_doubles();
  return all;
}

inline Numbers numbers_of(const SmallRun& r) {
  Numbers all = weights_of(r);
  const optim::OptimizerState own = r.optimizer->state_dict();
  for (const auto& [name, x] : own.tensors)
    all["optimizer " + name] = x.to_doubles();
  for (const auto& [name, value] : own.numbers)
    all["optimizer " + name] = {value};
  return all;
}

/// Names of the numbers that two runs do not have in common.
inline std::vector<std::string> differing(const Numbers& a, const Numbers& b) {
  std::vector<std::string> names;
  for (const auto& [name, values] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second != values) names.push_back(name);
  }
  for (const auto& [name, values] : b) {
    if (!a.contains(name)) names.push_back(name);
  }
  return names;
}

/// Seed, position of dropout's numbers, position of rand's.
inline GeneratorState random_state() {
  return default_generator().get_state();
}

}  // namespace tandem::training::test
