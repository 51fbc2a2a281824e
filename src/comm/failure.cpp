// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/failure.hpp"

#include "tandem/core/error.hpp"

namespace tandem::comm {

void Failure::raise(const std::string& what) const {
  if (kind == Kind::desync) throw Desync(text);
  throw CommAborted(what + ": stopped because " + text);
}

}  // namespace tandem::comm
