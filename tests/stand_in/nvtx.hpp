// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <thread>
#include <vector>

// A tool for NVTX, as Nsight Systems is one. Like that it is loaded by NVTX, where
// NVTX_INJECTION64_PATH names its file at the first call.
namespace tandem::stand_in {

/// What the tool was told.
struct NvtxEvent {
  enum class Kind { push, pop, name };
  Kind kind;  ///< name: it is from here on known to the domain
  std::thread::id thread;
  std::string domain;
  std::string text;  ///< of the range, or the name; empty for a pop
};

/// All since the last call, in the order of calls. Thread-safe.
std::vector<NvtxEvent> take_nvtx_events();
/// Domains that were made and not destroyed.
int live_nvtx_domains();

}  // namespace tandem::stand_in
