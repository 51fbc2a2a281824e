// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/fastest.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace tandem::report {
namespace {

std::string names(const std::vector<const Mode*>& modes) {
  std::string text = modes.front()->mode;
  for (std::size_t i = 1; i < modes.size(); ++i)
    text += (i + 1 == modes.size() ? " and " : ", ") + modes[i]->mode;
  return text;
}

}  // namespace

std::vector<const Mode*> fastest_modes(const Comparison& comparison) {
  std::vector<const Mode*> modes;
  for (const Mode& mode : comparison.modes)
    modes.push_back(&mode);
  std::ranges::stable_sort(modes, {}, &Mode::p50);
  const double noise = comparison.simulated.empty() ? modes.front()->p90 : modes.front()->p50;
  std::erase_if(modes, [noise](const Mode* mode) { return mode->p50 > noise; });
  if (modes.empty()) modes.push_back(&comparison.modes.front());
  return modes;
}

std::string fastest_sentence(const Comparison& comparison) {
  const std::vector<const Mode*> fastest = fastest_modes(comparison);
  const Mode& first = *fastest.front();
  if (fastest.size() == 1)
    return fmt::format(
        "The fastest mode is {} with {:.2f} ms a step (p50).", first.mode, first.p50);
  const std::string noise = fmt::format(
      "which are equal within the noise: a tenth of {}'s steps take more than {:.2f} ms (p90)",
      first.mode,
      first.p90);
  return fmt::format("The fastest modes are {} with {:.2f} to {:.2f} ms a step (p50){}.",
                     names(fastest),
                     first.p50,
                     fastest.back()->p50,
                     comparison.simulated.empty() ? ", " + noise : "");
}

}  // namespace tandem::report
