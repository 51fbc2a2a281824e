// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::report {

/// Text, with what HTML would read as markup escaped.
std::string escape(std::string_view text);

/// With one digit behind the point, and none where it is 0: for coordinates.
std::string number(double x);

/// The height of a bar, in units of a picture.
constexpr double kBarHeight = 22;

/// An SVG without text, 1000 units wide, which the page stretches to the width that it has.
class Picture {
 public:
  /// @param height  in units, which are pixels of the page.
  /// @param label   what it shows, for those who do not see it.
  Picture(double height, std::string_view label);

  /// @param style  class of the page's style.
  /// @param tip    shown where somebody points at it; "": nothing.
  void rect(double x,
            double y,
            double width,
            double height,
            std::string_view style,
            std::string_view tip = "");
  /// @param d  of a path.
  void path(std::string_view d, std::string_view style, std::string_view tip = "");
  std::string html() const { return text_ + "</svg>"; }

 private:
  std::string text_;
};

/// Rows of text under a head; the first column is left-aligned, the others right.
class Table {
 public:
  explicit Table(const std::vector<std::string>& head);
  void row(const std::vector<std::string>& cells);
  std::string html() const { return text_ + "</tbody></table></div>\n"; }

 private:
  std::string text_;
};

/// A part of the page. @param sentence  plain text; @param body  HTML.
std::string section(std::string_view id,
                    std::string_view title,
                    std::string_view sentence,
                    std::string_view body);
/// A picture between a name and a figure.
std::string row(std::string_view label, const Picture& picture, std::string_view value);

/// Numbers of an axis from 0 on, with 1, 2 or 5 times a power of ten between ticks.
struct Axis {
  double end;
  std::vector<double> ticks;
};
/// Which ends where it has to. @param most  above 0.
Axis axis_to(double most, int ticks);
/// Which ends at a tick.
Axis axis_beyond(double most, int ticks);
/// The same in a unit of bytes: 1, KiB, MiB, ...
Axis axis_of_bytes(double most, int ticks);

/// A line of ticks below pictures. @param labels  one for each tick.
std::string ticks_below(const Axis& axis, const std::vector<std::string>& labels);
/// A column of ticks beside a picture.
std::string ticks_beside(const Axis& axis, const std::vector<std::string>& labels);

}  // namespace tandem::report
