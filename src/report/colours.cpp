// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/colours.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "report/html.hpp"

namespace tandem::report {
namespace {

/// A colour and the class that paints with it.
struct Colour {
  const char* style;
  const char* rgb;
};

constexpr Colour kIndigo{"indigo", "#545ec2"}, kAmber{"amber", "#e19a0f"},
    kTerracotta{"terracotta", "#cd5e3b"}, kGrey{"grey", "#a8aba3"}, kSand{"sand", "#eecf8b"},
    kPale{"pale", "#9fdbfa"}, kPurple{"purple", "#61267c"}, kPlum{"plum", "#924c6f"},
    kGreen{"green", "#0f5311"}, kBlue{"blue", "#5a92dc"};

constexpr std::array kAll{
    kIndigo, kAmber, kTerracotta, kGrey, kSand, kPale, kPurple, kPlum, kGreen, kBlue};

/// In the order of Category.
constexpr std::array<Colour, kCategories> kByCategory{
    kIndigo, kAmber, kTerracotta, kGrey, kSand, kPale, kPurple, kPlum, kGreen, kBlue};
/// In the order of Phase.
constexpr std::array<Colour, kPhases> kByPhase{
    kGreen, kSand, kIndigo, kPale, kPurple, kPlum, kBlue, kAmber, kTerracotta};

}  // namespace

Kind kind_of(Category category) {
  return {name(category), kByCategory[static_cast<std::size_t>(category)].style};
}

Kind kind_of(Phase phase) {
  return {phase == Phase::none ? "other" : name(phase),
          kByPhase[static_cast<std::size_t>(phase)].style};
}

Kind collectives() {
  return {"collectives", kGrey.style};
}

Kind waiting() {
  return {"waiting", "waiting"};
}

void Legend::add(const Kind& kind) {
  if (std::ranges::find(kinds_, kind) == kinds_.end()) kinds_.push_back(kind);
}

std::string Legend::html() const {
  std::string text = "<ul class=\"legend\">";
  for (const Kind& k : kinds_)
    text += fmt::format(
        "<li data-style=\"{0}\"><i class=\"{0}\"></i>{1}</li>", k.style, escape(k.name));
  return text + "</ul>\n";
}

std::string colours_css() {
  std::string css;
  for (const Colour& c : kAll)
    css += fmt::format(".{0}{{fill:{1};background:{1}}}\n", c.style, c.rgb);
  return css;
}

}  // namespace tandem::report
