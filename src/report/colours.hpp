// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/runtime/memory.hpp"

namespace tandem::report {

/// Something that has a colour of its own: its name, and the class of the page's style.
struct Kind {
  std::string_view name;
  std::string_view style;

  friend bool operator==(const Kind&, const Kind&) = default;
};

Kind kind_of(Category category);
Kind kind_of(Phase phase);
/// A device in collectives; in a timeline also while it waits there.
Kind collectives();
/// For the others to come to a collective.
Kind waiting();

/// Colours and names, in the order in which they come, each once.
class Legend {
 public:
  void add(const Kind& kind);
  const std::vector<Kind>& kinds() const noexcept { return kinds_; }
  std::string html() const;

 private:
  std::vector<Kind> kinds_;
};

/// The rules of all classes that kinds have. Any two of the ten colours stay apart for people who
/// see no red, no green or no blue: by at least 10 in OKLab times 100, simulated after Machado,
/// Oliveira and Fernandes (2009).
std::string colours_css();

}  // namespace tandem::report
