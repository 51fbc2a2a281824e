// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tandem/runtime/buffer.hpp"

namespace tandem::kernels {

/// Elements of workspace with T's size, from the device's allocator. The work of a host kernel that
/// has one is made by with_workspace, and touches no memory where its stream does not compute.
template <class T>
struct Workspace {
  Buffer buffer;
  Workspace(Device device, std::int64_t elements)
      : buffer(device, static_cast<std::size_t>(elements) * sizeof(T), Category::workspace) {}
  T* data() const { return static_cast<T*>(buffer.data()); }
};

}  // namespace tandem::kernels
