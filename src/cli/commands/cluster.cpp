// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/command.hpp"

namespace tandem::cli {

Command cluster_command() {
  return {.name = "cluster",
          .summary = "describe machines that need not be there, and simulate them",
          .purpose = Purpose::machines};
}

}  // namespace tandem::cli
