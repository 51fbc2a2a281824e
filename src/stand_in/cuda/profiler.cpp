// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// libcupti.so, of which torch.profiler asks the version before all else. NVIDIA's own would look
// for the driver's insides, and never come back.

#include <mutex>

#include "stand_in/machine/machine.hpp"

namespace {
constexpr int kNotSupported = 27;  // CUPTI's number
}

extern "C" int cuptiGetVersion(unsigned*) {
  tandem::stand_in::Machine& m = tandem::stand_in::Machine::get();
  const std::lock_guard lock(m.mutex);
  m.reports.add("refusal",
                __func__,
                "cuptiGetVersion: the stand-in has no activities of GPUs for torch.profiler, so "
                "the profile has the host's alone; ask for "
                "activities=[torch.profiler.ProfilerActivity.CPU]");
  return kNotSupported;
}
/// PyTorch 2.8 calls it, whatever is to be profiled.
extern "C" int cuptiSubscribe(void**, void*, void*) {
  return kNotSupported;
}
extern "C" int cuptiGetResultString(int, const char** text) {
  return *text = "CUPTI_ERROR_NOT_SUPPORTED", 0;
}
