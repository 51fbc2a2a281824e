// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.hpp"

namespace tandem::cli {

/// Each returns the program's exit code; results go to stdout, the rest to stderr.
int run_devices(const DevicesRequest& request);
int run_train(const RunOptions& options);
int run_verify(const RunOptions& options);
/// The same run in several modes, one after the other.
int run_compare(const CompareRequest& request);
/// The same as a page of pictures and numbers.
int run_report(const ReportRequest& request);
/// One step on random data, as it was executed.
int run_explain(const RunOptions& options);
/// Some steps, with what each device held, and why.
int run_memory(const RunOptions& options);
/// The batch that fits, and one more row does not. Exits with 1 where no row fits.
int run_largest_batch(const RunOptions& options);
/// Some steps, with what each device did, and when.
int run_trace(const TraceRequest& request);
/// Exits with 1 where a result is wrong.
int run_collectives(const CollectivesRequest& request);
int run_generate(const GenerateRequest& request);

}  // namespace tandem::cli
