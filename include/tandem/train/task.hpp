// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tandem/data/data_loader.hpp"
#include "tandem/nn/module.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/optim/optimizer.hpp"
#include "tandem/parallel/data_parallel.hpp"

namespace tandem::train {

/// What measuring adds up, batch by batch.
struct Score {
  std::int64_t correct = 0;
  std::int64_t answers = 0;
  double loss = 0;  ///< sum
  double weight = 0;
};

/// A model on its devices with what is trained on it; what a training loop drives.
class Task {
 public:
  virtual ~Task() = default;
  virtual nn::Module& module() = 0;
  virtual const std::vector<Device>& devices() const = 0;
  /// Rows of each device for a batch.
  virtual std::vector<RowRange> plan(std::int64_t rows) const = 0;
  /// One update. See DataParallel::step.
  virtual parallel::StepResult step(const data::Batch& batch, optim::Optimizer& optimizer) = 0;
  /// How well a batch is answered; module in evaluation mode, off the tape.
  virtual Score score(const data::Batch& batch) = 0;
};

/// Scores logits (N, C) for labels (N), which may be on another device.
Score score_logits(const Tensor& logits, const Tensor& labels);

/// A task of one module under DataParallel.
template <std::derived_from<nn::Module> M>
class ModuleTask : public Task {
 public:
  ModuleTask(M module, const parallel::DataParallelOptions& options)
      : module_(std::move(module)), parallel_(module_, options) {}
  ModuleTask(const ModuleTask&) = delete;
  ModuleTask& operator=(const ModuleTask&) = delete;

  nn::Module& module() final { return module_; }
  const std::vector<Device>& devices() const final { return parallel_.devices(); }
  std::vector<RowRange> plan(std::int64_t rows) const final { return parallel_.plan(rows); }

 protected:
  parallel::DataParallel<M>& parallel() noexcept { return parallel_; }

 private:
  M module_;
  parallel::DataParallel<M> parallel_;
};

/// Classification of {inputs, labels} by a module, under DataParallel.
template <std::derived_from<nn::Module> M>
class Classifier final : public ModuleTask<M> {
 public:
  using ModuleTask<M>::ModuleTask;

  parallel::StepResult step(const data::Batch& batch, optim::Optimizer& optimizer) override {
    return this->parallel().step(
        batch,
        [](M& m, const data::Batch& part) { return cross_entropy_sum(m(part.at(0)), part.at(1)); },
        &optimizer);
  }
  Score score(const data::Batch& batch) override {
    return score_logits(this->parallel()(batch.at(0)), batch.at(1));
  }
};

/// The next token of {inputs (N, L), labels (N, L)} by a module that gives logits (N, L, C), under
/// DataParallel. Loss and accuracy are per token.
template <std::derived_from<nn::Module> M>
class LanguageModel final : public ModuleTask<M> {
 public:
  using ModuleTask<M>::ModuleTask;

  parallel::StepResult step(const data::Batch& batch, optim::Optimizer& optimizer) override {
    return this->parallel().step(
        batch,
        [](M& m, const data::Batch& part) {
          return cross_entropy_sum(m(part.at(0)).flatten(0, 1), part.at(1).flatten());
        },
        &optimizer);
  }
  Score score(const data::Batch& batch) override {
    return score_logits(this->parallel()(batch.at(0)).flatten(0, 1), batch.at(1).flatten());
  }
};

}  // namespace tandem::train
