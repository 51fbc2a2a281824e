// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tandem/nn/models/gpt.hpp"

namespace tandem::training {

/// Compares the sizes of a model with the tensors of a checkpoint, before the model is built: a
/// file that says a hundred thousand layers and has two must not cost their memory.
///
/// @throws FileError  the file is none, or the text names the first tensor that is missing or of
///                    another shape, and the shape that the sizes ask for.
void check_gpt(const std::string& path, const nn::models::GptOptions& options);

}  // namespace tandem::training
