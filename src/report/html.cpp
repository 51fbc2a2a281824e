// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/html.hpp"

#include <cmath>

#include <fmt/format.h>

namespace tandem::report {
namespace {

/// 1, 2 or 5 times a power of ten, of which `most` has no more than so many.
double round_step(double most, int ticks) {
  const double least = most / ticks;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= least * 0.9999) return digit * power;
  return 10 * power;
}

Axis axis_by(double step, double end) {
  Axis result{.end = end, .ticks = {}};
  for (int i = 0; i * step <= end * 1.0001; ++i)
    result.ticks.push_back(i * step);
  return result;
}

std::string ticks(const char* css,
                  const char* side,
                  const Axis& axis,
                  const std::vector<std::string>& labels) {
  std::string text = fmt::format("<div class=\"{}\" aria-hidden=\"true\">", css);
  for (std::size_t i = 0; i < axis.ticks.size(); ++i) {
    text += fmt::format("<span style=\"{}:{}%\">{}</span>",
                        side,
                        number(100 * axis.ticks[i] / axis.end),
                        escape(labels.at(i)));
  }
  return text + "</div>";
}

/// The attribute of a tip.
std::string tip_of(std::string_view tip) {
  return tip.empty() ? "" : fmt::format(" data-tip=\"{}\"", escape(tip));
}

}  // namespace

std::string escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\n':
        result += "&#10;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string number(double x) {
  std::string text = fmt::format("{:.1f}", x);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

Picture::Picture(double height, std::string_view label)
    : text_(fmt::format("<svg viewBox=\"0 0 1000 {0}\" height=\"{0}\" preserveAspectRatio=\"none\" "
                        "role=\"img\" aria-label=\"{1}\">",
                        number(height),
                        escape(label))) {}

void Picture::rect(
    double x, double y, double width, double height, std::string_view style, std::string_view tip) {
  text_ += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" class="{}"{}/>)",
                       number(x),
                       number(y),
                       number(width),
                       number(height),
                       style,
                       tip_of(tip));
}

void Picture::path(std::string_view d, std::string_view style, std::string_view tip) {
  text_ += fmt::format(R"(<path d="{}" class="{}"{}/>)", d, style, tip_of(tip));
}

Table::Table(const std::vector<std::string>& head) : text_("<div class=\"wide\"><table><thead>") {
  text_ += "<tr>";
  for (const std::string& cell : head)
    text_ += "<th scope=\"col\">" + escape(cell) + "</th>";
  text_ += "</tr></thead><tbody>\n";
}

void Table::row(const std::vector<std::string>& cells) {
  text_ += "<tr>";
  for (const std::string& cell : cells)
    text_ += "<td>" + escape(cell) + "</td>";
  text_ += "</tr>\n";
}

std::string section(std::string_view id,
                    std::string_view title,
                    std::string_view sentence,
                    std::string_view body) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"says\">{}</p>\n{}</section>\n",
                     id,
                     escape(title),
                     escape(sentence),
                     body);
}

std::string row(std::string_view label, const Picture& picture, std::string_view value) {
  return fmt::format("<div class=\"row\"><span>{}</span>{}<b>{}</b></div>\n",
                     escape(label),
                     picture.html(),
                     escape(value));
}

Axis axis_to(double most, int ticks) {
  return axis_by(round_step(most, ticks), most);
}

Axis axis_beyond(double most, int ticks) {
  const double step = round_step(most, ticks);
  return axis_by(step, step * std::ceil(most / step * 0.9999));
}

Axis axis_of_bytes(double most, int ticks) {
  double unit = 1;
  while (most / unit >= 1024)
    unit *= 1024;
  Axis result = axis_beyond(most / unit, ticks);
  result.end *= unit;
  for (double& t : result.ticks)
    t *= unit;
  return result;
}

std::string ticks_below(const Axis& axis, const std::vector<std::string>& labels) {
  return ticks("below", "left", axis, labels);
}

std::string ticks_beside(const Axis& axis, const std::vector<std::string>& labels) {
  return ticks("beside", "bottom", axis, labels);
}

}  // namespace tandem::report
