// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/command.hpp"

namespace tandem::cli {

Command run_command() {
  return {.name = "run",
          .summary = "run a program of PyTorch on several devices, unchanged",
          .purpose = Purpose::start};
}

}  // namespace tandem::cli
