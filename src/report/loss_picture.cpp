// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/loss_picture.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "report/html.hpp"

namespace tandem::report {
namespace {

constexpr double kHeight = 200;
constexpr std::size_t kPoints = 250;  // of a line
constexpr double kLeast = 1e-17;      // what stands for 0 on a scale of powers

/// Relative; 0 where both are the same, infinite where one is not finite.
double difference(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
  return a == b ? 0 : std::abs(a - b) / std::max(std::abs(a), std::abs(b));
}

std::vector<double> differences(const Mode& mode, const Mode& first) {
  std::vector<double> result;
  for (std::size_t i = 0; i < mode.losses.size(); ++i)
    result.push_back(difference(mode.losses[i], first.losses.at(i)));
  return result;
}

/// A line through the values, or, of many, through the largest of each stretch, and the last.
/// @param height  of a value, from 0 to 1.
std::string line(const std::vector<double>& values, const std::function<double(double)>& height) {
  std::string d;
  const std::size_t stride = (values.size() + kPoints - 1) / kPoints;
  const double last = static_cast<double>(std::max<std::size_t>(values.size() - 1, 1));
  const auto point = [&](std::size_t i) {
    if (!std::isfinite(values[i])) return;
    d += fmt::format("{}{} {}",
                     d.empty() ? "M" : "L",
                     number(1000 * static_cast<double>(i) / last),
                     number(kHeight * (1 - height(values[i]))));
  };
  for (std::size_t i = 0; i < values.size(); i += stride) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end =
        values.begin() + static_cast<std::ptrdiff_t>(std::min(i + stride, values.size()));
    point(static_cast<std::size_t>(std::max_element(begin, end) - values.begin()));
  }
  if (stride > 1) point(values.size() - 1);
  return d.empty() ? d : d + "h.1";  // that a line of one point is seen
}

/// Lines of the modes in one picture; a mode keeps its style in all.
std::string chart(const Comparison& comparison,
                  const std::string& title,
                  const Axis& axis,
                  const std::vector<std::string>& labels,
                  const std::function<std::string(const Mode&)>& line_of) {
  Picture picture(kHeight, title);
  for (std::size_t i = 1; i < axis.ticks.size(); ++i)
    picture.path(fmt::format("M0 {}H1000", number(kHeight * (1 - axis.ticks[i] / axis.end))),
                 "grid");
  for (std::size_t i = 0; i < comparison.modes.size(); ++i) {
    const Mode& mode = comparison.modes[i];
    const std::string d = line_of(mode);
    if (!d.empty()) picture.path(d, fmt::format("line line{}", i % 6), mode.mode);
  }
  return fmt::format("<div class=\"chart\"><h3>{}</h3>{}{}</div>\n",
                     escape(title),
                     ticks_beside(axis, labels),
                     picture.html());
}

std::string loss_chart(const Comparison& comparison) {
  double most = 1e-9;
  for (const Mode& mode : comparison.modes)
    for (const double loss : mode.losses)
      if (std::isfinite(loss)) most = std::max(most, loss);
  const Axis axis = axis_beyond(most, 5);
  std::vector<std::string> labels;
  for (const double t : axis.ticks)
    labels.push_back(fmt::format("{:g}", t));
  return chart(
      comparison,
      fmt::format("Loss over {} steps", comparison.steps),
      axis,
      labels,
      [&](const Mode& mode) { return line(mode.losses, [&](double x) { return x / axis.end; }); });
}

/// From 1e-17, which stands for none, to 1.
std::string difference_chart(const Comparison& comparison) {
  const double decades = -std::log10(kLeast);
  Axis axis{.end = decades, .ticks = {}};
  std::vector<std::string> labels;
  for (int power = -17; power <= 0; power += power == -17 ? 5 : 4) {
    axis.ticks.push_back(power + decades);
    labels.push_back(power == -17 ? "same" : fmt::format("1e{}", power));
  }
  const Mode& first = comparison.modes.front();
  return chart(comparison,
               "Relative difference from the loss of " + first.mode,
               axis,
               labels,
               [&](const Mode& mode) -> std::string {
                 if (&mode == &first) return "";
                 return line(differences(mode, first), [&](double x) {
                   return (std::log10(std::max(x, kLeast)) + decades) / decades;
                 });
               });
}

std::string legend(const Comparison& comparison) {
  std::string html = "<ul class=\"legend\">";
  for (std::size_t i = 0; i < comparison.modes.size(); ++i)
    html += fmt::format(
        R"(<li data-style="line{0}"><svg class="key" viewBox="0 0 30 10" aria-hidden="true"><path d="M0 5H30" class="line line{0}"/></svg>{1}</li>)",
        i % 6,
        comparison.modes[i].mode);
  return html + "</ul>\n";
}

/// Where a loss is first not finite; "" where all are.
std::string not_finite(const Comparison& comparison) {
  for (const Mode& mode : comparison.modes) {
    const auto at =
        std::ranges::find_if_not(mode.losses, [](double x) { return std::isfinite(x); });
    if (at != mode.losses.end())
      return fmt::format(" The loss of {} is not finite from step {} on.",
                         mode.mode,
                         at - mode.losses.begin() + 1);
  }
  return "";
}

std::string loss_sentence(const Comparison& comparison) {
  const Mode& first = comparison.modes.front();
  double worst = 0;
  for (const Mode& mode : comparison.modes)
    for (const double d : differences(mode, first))
      worst = std::max(worst, d);
  const std::string lost = not_finite(comparison);
  if (!lost.empty())
    return fmt::format(
        "The loss begins at {:.4f} in {}.{}", first.losses.front(), first.mode, lost);
  std::string text = fmt::format("The loss goes from {:.4f} to {:.4f} in {}.",
                                 first.losses.front(),
                                 first.losses.back(),
                                 first.mode);
  if (comparison.modes.size() < 2) return text;
  return text +
         fmt::format(
             " The losses of the other modes differ from it by at most {:.1e}: where the curves "
             "cannot be told apart, the modes do the same, and the lower picture shows the "
             "rounding.",
             worst);
}

std::string number_of_loss(double loss) {
  return std::isnan(loss) ? "nan" : fmt::format("{:.6g}", loss);
}

}  // namespace

std::string losses(const Comparison& comparison) {
  Table table({"mode",
               "first loss",
               "last loss",
               "difference of losses, at most",
               "of weights",
               "worst tensor"});
  const Mode& first = comparison.modes.front();
  for (const Mode& mode : comparison.modes) {
    const std::vector<double> all = differences(mode, first);
    const bool is_first = &mode == &first;
    table.row({mode.mode,
               number_of_loss(mode.losses.front()),
               number_of_loss(mode.losses.back()),
               is_first ? "-" : fmt::format("{:.1e}", *std::ranges::max_element(all)),
               is_first ? "-" : fmt::format("{:.1e}", mode.difference.value),
               is_first || mode.difference.tensor.empty() ? "-" : mode.difference.tensor});
  }
  std::string pictures = loss_chart(comparison);
  if (comparison.modes.size() > 1) pictures += difference_chart(comparison);
  return section("loss",
                 "Loss",
                 loss_sentence(comparison),
                 legend(comparison) + "<figure>" + pictures + "</figure>\n" + table.html());
}

}  // namespace tandem::report
