// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/backend.hpp"

namespace tandem::comm {

const char* name(Backend backend) noexcept {
  switch (backend) {
    case Backend::nccl:
      return "nccl";
    case Backend::gloo:
      return "gloo";
    case Backend::mpi:
      return "mpi";
    case Backend::local:
      break;
  }
  return "local";
}

std::optional<Backend> parse_backend(std::string_view name) noexcept {
  for (const Backend backend : {Backend::local, Backend::nccl, Backend::gloo, Backend::mpi}) {
    if (name == comm::name(backend)) return backend;
  }
  return std::nullopt;
}

}  // namespace tandem::comm
