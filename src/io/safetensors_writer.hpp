// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tandem/io/safetensors.hpp"

#include "io/safetensors_header.hpp"

namespace tandem::detail {

/// Writes `tensors` (in any order, offsets not yet set) to `path`, as write_safetensors says. A
/// checksum among the metadata, which is of another file, is left out.
///
/// @param bytes  gives the content of the tensor at an index of `tensors`; it is used up before the
/// next call.
void write_safetensors(const std::string& path,
                       std::vector<HeaderTensor> tensors,
                       const SafetensorsMetadata& metadata,
                       const std::function<std::span<const std::byte>(std::size_t)>& bytes,
                       Checksum checksum = Checksum::no);

}  // namespace tandem::detail
