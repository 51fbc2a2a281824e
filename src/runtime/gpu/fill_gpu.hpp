// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tandem/runtime/upload.hpp"

namespace tandem {

/// See tandem::fill. @param device  a GPU's.
FillingBuffer fill_gpu(std::span<const BufferPart> parts, Device device);

}  // namespace tandem
