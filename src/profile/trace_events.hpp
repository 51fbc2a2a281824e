// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tandem/profile/step_record.hpp"

namespace tandem::profile {

/// Chrome's trace events, which ui.perfetto.dev and chrome://tracing show: processes with tracks of
/// spans, and counters.
class TraceEvents {
 public:
  /// The name of a process, or of a track.
  ///
  /// @param what  "process_name" or "thread_name"
  void name(const char* what, int process, int track, const std::string& text);
  void span(int process,
            int track,
            std::string_view name,
            std::string_view category,
            Duration begin,
            Duration end,
            nlohmann::json args = nlohmann::json::object());
  void counter(int process, const char* name, Duration at, nlohmann::json values);
  /// The file's text.
  std::string text() &&;

 private:
  nlohmann::json events_ = nlohmann::json::array();
};

}  // namespace tandem::profile
