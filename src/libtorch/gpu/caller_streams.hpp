// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <c10/core/Stream.h>

#include "tandem/runtime/device.hpp"

namespace tandem::libtorch {

/// The calling thread's current streams of PyTorch's GPUs, if tandem uses them; else none.
std::vector<c10::Stream> current_gpu_streams();

/// A call begins: work of GPUs among `devices` goes to the calling thread's current streams.
///
/// @throws InvalidArgument  one of them is captured for a CUDA graph.
void follow_caller_streams(const std::vector<Device>& devices);

}  // namespace tandem::libtorch
