// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/console.hpp"

namespace tandem::cli {
namespace {

constexpr int kBarWidth = 24;        // characters of the bar
constexpr double kSmoothing = 0.05;  // weight of the newest step in the rate
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kLine = std::chrono::seconds(5);

std::string clock_text(double seconds) {
  const std::int64_t s = std::llround(seconds);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace

Progress::Style Progress::choose(bool quiet) {
  if (quiet) return Style::quiet;
  const char* no_color = std::getenv("NO_COLOR");
  const bool plain = (no_color != nullptr && *no_color != '\0') || isatty(STDERR_FILENO) == 0;
  return plain ? Style::lines : Style::bar;
}

Progress::~Progress() {
  if (open_) console::tell_text("\n");
}

void Progress::error(const std::string& text) {
  if (open_) console::tell_text("\n");
  open_ = false;
  console::tell_error(text);
}

void Progress::step(const training::StepInfo& info, std::int64_t epochs) {
  if (style_ == Style::quiet) return;
  const double now = static_cast<double>(info.rows) / std::max(info.seconds.count(), 1e-9);
  rate_ = rate_ == 0 ? now : rate_ + kSmoothing * (now - rate_);
  const auto time = Clock::now();
  const bool last = info.batch == info.batches;
  if (!last &&
      time - shown_ < (style_ == Style::bar ? Clock::duration(kRedraw) : Clock::duration(kLine)))
    return;
  shown_ = time;
  show(info, epochs);
}

void Progress::show(const training::StepInfo& info, std::int64_t epochs) {
  const auto left =
      static_cast<double>((info.batches - info.batch) * info.rows) / std::max(rate_, 1e-9);
  const std::string text = fmt::format("epoch {}/{} {:>4}/{} {:.0f} rows/s loss {:.4f} ETA {}",
                                       info.epoch,
                                       epochs,
                                       info.batch,
                                       info.batches,
                                       rate_,
                                       info.loss,
                                       clock_text(left));
  if (style_ == Style::lines) {
    console::tell("{}\n", text);
    return;
  }
  const auto filled =
      static_cast<std::size_t>(kBarWidth * info.batch / std::max<std::int64_t>(info.batches, 1));
  console::tell(
      "\r\x1b[K[{}{}] {}", std::string(filled, '='), std::string(kBarWidth - filled, ' '), text);
  open_ = true;
}

void Progress::epoch(const training::EpochInfo& info, std::int64_t epochs) {
  if (style_ == Style::quiet) return;
  console::tell("{}epoch {}/{} done: loss {:.4f}, {}, {:.1f} s\n",
                style_ == Style::bar ? "\r\x1b[K" : "",
                info.epoch,
                epochs,
                info.loss,
                describe_test(info, measured_),
                info.seconds);
  open_ = false;
}

}  // namespace tandem::cli
