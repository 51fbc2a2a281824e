// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/explain/explain.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/setup.hpp"

namespace tandem::cli {
namespace {

constexpr std::int64_t kClasses = 10;
constexpr int kWarmup = 2;  // steps that fill the caches of allocators and libraries

/// What the model's data are like; there are none.
DataSets forms_of(const RunOptions& options) {
  DataSets forms;
  if (options.model == "gpt") {
    forms.vocabulary =
        datasets::Vocabulary(" ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.,;:!?'-\n");
    return forms;
  }
  const bool colour = options.model == "resnet18" || options.model == "cnn";
  forms.sample = colour ? Shape{3, 32, 32} : Shape{1, 28, 28};
  forms.classes = kClasses;
  return forms;
}

/// Random images and labels, or windows of a random text.
datasets::Batch random_batch(const RunOptions& options, const DataSets& forms, Device device) {
  Shape shape{options.batch};
  if (forms.is_text()) {
    shape.push_back(options.gpt.context);
    const std::int64_t characters = forms.vocabulary.size();
    return {randint(0, characters, shape).to(device), randint(0, characters, shape).to(device)};
  }
  for (const std::int64_t size : forms.sample)
    shape.push_back(size);
  return {randn(shape, {.dtype = storage_dtype(options), .device = device}),
          randint(0, forms.classes, {options.batch}).to(device)};
}

}  // namespace

int run_explain(const RunOptions& given) {
  const RunOptions options = resolve(given);
  const std::vector<Device> devices = working_devices(options);
  const DataSets forms = forms_of(options);
  const auto task = make_task(options, forms, parallel_options(options, devices));
  const auto optimizer = make_optimizer(options, task->module());
  const datasets::Batch batch = random_batch(options, forms, devices.front());
  for (int i = 0; i < kWarmup; ++i)
    task->step(batch, *optimizer);
  const parallel::Explanation explanation =
      parallel::explain([&] { task->step(batch, *optimizer); });
  if (options.json == "-") {
    console::print("{}\n", explanation.json());
  } else {
    console::print("{}, {}", options.model, explanation.text());
  }
  return 0;
}

}  // namespace tandem::cli
