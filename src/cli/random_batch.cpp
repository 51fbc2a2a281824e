// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/random_batch.hpp"

#include <cstdint>

#include "tandem/tensor/factories.hpp"

namespace tandem::cli {

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

}  // namespace tandem::cli
