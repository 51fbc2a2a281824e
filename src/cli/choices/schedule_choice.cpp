// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/schedule_choice.hpp"

#include <CLI/CLI.hpp>

#include "tandem/core/check.hpp"

#include "cli/subject.hpp"
#include "cli/usage_error.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {

void ScheduleChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::optimizer);
  app.add_option("--schedule", name, "how the learning rate changes after the warm-up")
      ->check(CLI::IsMember({"constant", "cosine"}))
      ->capture_default_str();
  app.add_option(
         "--warmup", warmup, "number of steps in which the learning rate rises to its value")
      ->check(at_least(0))
      ->capture_default_str();
}

std::unique_ptr<optim::LRScheduler> ScheduleChoice::make(optim::Optimizer& optimizer,
                                                         std::int64_t steps) const {
  if (name == "constant" && warmup == 0) return nullptr;
  if (warmup >= steps) {
    throw UsageError(tandem::detail::concat(
        "--warmup ", warmup, " takes all of the run's ", steps, " steps; give fewer"));
  }
  optim::LRSchedule rest = optim::LambdaLR{[](std::int64_t) { return 1.0; }};
  if (name == "cosine") rest = optim::CosineAnnealingLR{.t_max = steps - warmup};
  if (warmup == 0) return std::make_unique<optim::LRScheduler>(optimizer, rest);
  const optim::LinearLR first{
      .start_factor = 1 / static_cast<double>(warmup + 1), .end_factor = 1, .total_iters = warmup};
  return std::make_unique<optim::LRScheduler>(
      optimizer, optim::SequentialLR{.schedules = {first, rest}, .milestones = {warmup}});
}

}  // namespace tandem::cli
