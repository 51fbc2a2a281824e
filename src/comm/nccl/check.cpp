// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/nccl/check.hpp"

#include <string>

#include "tandem/core/error.hpp"

namespace tandem::comm {

void check_nccl(ncclResult_t result, const char* call) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const std::string name(call);
  const char* const more = ncclGetLastError(nullptr);
  std::string text = ncclGetErrorString(result);
  if (more != nullptr && *more != 0) text.append(" (").append(more).append(")");
  throw DeviceError("NCCL",
                    name.substr(0, name.find('(')),
                    static_cast<int>(result),
                    text + "; set NCCL_DEBUG=WARN to see more");
}

}  // namespace tandem::comm
