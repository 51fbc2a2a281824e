// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/random_steps.hpp"

#include <cstdint>

#include "tandem/ops/autocast.hpp"
#include "tandem/tensor/factories.hpp"

#include "cli/data_form.hpp"
#include "cli/models.hpp"

namespace tandem::cli {
namespace {

datasets::Batch random_batch(const TaskOptions& options, const DataForm& form, Device device) {
  Shape shape{options.batch.rows};
  if (form.is_text()) {
    shape.push_back(options.model.gpt.length);
    const std::int64_t characters = form.vocabulary.size();
    return {randint(0, characters, shape).to(device), randint(0, characters, shape).to(device)};
  }
  for (const std::int64_t size : form.sample)
    shape.push_back(size);
  return {randn(shape, {.dtype = options.numbers.storage(), .device = device}),
          randint(0, form.classes, {options.batch.rows}).to(device)};
}

}  // namespace

RandomSteps::RandomSteps(const TaskOptions& options,
                         const OptimizerChoice& optimizer,
                         const parallel::DataParallelOptions& parallel,
                         Device batch_device)
    : products_(options.numbers.products()) {
  const Model& model = model_of(options.model.name);
  const DataForm form = random_form(model);
  task_ = make_task(options, form, parallel);
  optimizer_ = optimizer.make(task_->module(), model.adam_eps);
  batch_ = random_batch(options, form, batch_device);
}

void RandomSteps::step() {
  std::optional<Autocast> mixed;
  if (products_) mixed.emplace(*products_);
  task_->step(batch_, *optimizer_);
}

void RandomSteps::warm_up() {
  constexpr int kSteps = 2;
  for (int i = 0; i < kSteps; ++i)
    step();
}

}  // namespace tandem::cli
