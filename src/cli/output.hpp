// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "tandem/train/loop.hpp"

#include "cli/run_options.hpp"

namespace tandem::cli {

/// What an epoch is measured by.
enum class Measured { images, text };

/// "test accuracy 0.9113", or "test loss 1.3021, 1.879 bits per character".
std::string describe_test(const training::EpochInfo& epoch, Measured measured);

nlohmann::json to_json(const RunOptions& options,
                       const training::RunReport& report,
                       Measured measured);
void print_report(const training::RunReport& report, Measured measured);

}  // namespace tandem::cli
