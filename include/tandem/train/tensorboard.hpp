// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tandem/train/metrics.hpp"

namespace tandem::training {

/// Writes a file of events for TensorBoard in `directory`, which is created if it is missing. Each
/// call makes a new file, named like TensorFlow's. Values are rounded to f32.
///
/// @throws FileError  if the file cannot be written.
std::unique_ptr<MetricsWriter> tensorboard_metrics(const std::string& directory);

}  // namespace tandem::training
