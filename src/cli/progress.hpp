// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "tandem/train/loop.hpp"

#include "cli/output.hpp"

namespace tandem::cli {

/// Shows how far a run has come, on stderr: a bar that rewrites itself on a terminal, plain lines
/// every few seconds elsewhere (or with NO_COLOR), nothing when quiet.
class Progress {
 public:
  enum class Style { bar, lines, quiet };
  Progress(Style style, Measured measured) : style_(style), measured_(measured) {}
  /// Ends a bar's line, so that what comes after begins on its own.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// By --quiet, the terminal and NO_COLOR.
  static Style choose(bool quiet);

  void step(const training::StepInfo& info, std::int64_t epochs);
  void epoch(const training::EpochInfo& info, std::int64_t epochs);
  /// An error that the run outlives, on a line of its own; also when quiet.
  void error(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  void show(const training::StepInfo& info, std::int64_t epochs);

  Style style_;
  Measured measured_;
  bool open_ = false;  // a bar stands on the last line
  Clock::time_point shown_{};
  double rate_ = 0;  // rows per second, smoothed
};

}  // namespace tandem::cli
