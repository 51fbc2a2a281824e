// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/core/shape.hpp"
#include "tandem/data/text_dataset.hpp"

namespace tandem::cli {

/// What the samples of a data set are like; a model is built for it.
struct DataForm {
  Shape sample;                     ///< of an image
  std::int64_t classes = 0;         ///< of images
  datasets::Vocabulary vocabulary;  ///< of a text; empty: the samples are images

  bool is_text() const noexcept { return vocabulary.size() > 0; }
};

}  // namespace tandem::cli
