// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

// The options of the commands: each puts those of a request on its command.
void add_devices_options(CLI::App& app, DevicesRequest& o);
void add_train_options(CLI::App& app, RunOptions& o);
void add_verify_options(CLI::App& app, RunOptions& o);
void add_compare_options(CLI::App& app, CompareRequest& o);
void add_report_options(CLI::App& app, ReportRequest& o);
void add_explain_options(CLI::App& app, RunOptions& o);
void add_memory_options(CLI::App& app, RunOptions& o);
void add_largest_batch_options(CLI::App& app, RunOptions& o);
void add_trace_options(CLI::App& app, TraceRequest& o);
void add_collectives_options(CLI::App& app, CollectivesRequest& o);
void add_generate_options(CLI::App& app, GenerateRequest& o);

}  // namespace tandem::cli
