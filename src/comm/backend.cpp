// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/backend.hpp"

namespace tandem::comm {

const char* name(Backend backend) noexcept {
  return backend == Backend::nccl ? "nccl" : "local";
}

std::optional<Backend> parse_backend(std::string_view name) noexcept {
  for (const Backend backend : {Backend::local, Backend::nccl}) {
    if (name == comm::name(backend)) return backend;
  }
  return std::nullopt;
}

}  // namespace tandem::comm
