// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tandem/nn/models/gpt.hpp"

namespace tandem::training {

/// Compares the sizes of a model with the tensors of a checkpoint before the model is built. A file
/// that claims a hundred thousand layers and has two must not cost the memory of all of them.
///
/// @param path        a file, or the folder of a sharded checkpoint
/// @throws FileError  if the file is not a safetensors file, or a tensor is missing or has another
///                    shape. The message names the first such tensor and the shape that the sizes
///                    ask for.
void check_gpt(const std::string& path, const nn::models::GptOptions& options);

}  // namespace tandem::training
