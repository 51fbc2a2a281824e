// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "steps/check.hpp"

#include <memory>
#include <vector>

namespace tandem::steps {
namespace {

double tolerance_of(const Setup& setup) {
  return setup.dtype == "f32" ? 2e-3 : 1e-7;
}

std::string name_of(const Side& side) {
  return side.mode() ? parallel::name(*side.mode()) : "one device";
}

/// A statement on one side; empty: it went well.
std::string run(Side& side, const std::string& statement) {
  try {
    side.run(statement);
    return "";
  } catch (const Changed&) {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  }
}

class Comparison {
 public:
  explicit Comparison(const Case& c) : case_(c), one_(c.setup, {}) {
    for (const parallel::Mode mode : parallel::kModes)
      sides_.push_back(std::make_unique<Side>(c.setup, mode));
  }

  std::optional<std::string> run_all() {
    for (std::size_t i = 0; i < case_.statements.size() && !sides_.empty(); ++i) {
      const std::string& statement = case_.statements[i];
      if (auto finding = run_one(statement)) return "'" + statement + "': " + *finding;
      if (has_stopped_) return std::nullopt;
      const bool looks = statement.ends_with(" look") || i + 1 == case_.statements.size();
      if (auto finding = compare(looks)) return "'" + statement + "': " + *finding;
    }
    return std::nullopt;
  }

 private:
  /// A statement on all sides. What one device refuses, all others do, and the case ends.
  std::optional<std::string> run_one(const std::string& statement) {
    const std::string refusal = run(one_, statement);
    has_clipped_ = has_clipped_ || statement.starts_with("clip");
    for (const auto& side : sides_) {
      const std::string own = run(*side, statement);
      if (side->has_ended() || own.empty() == refusal.empty()) continue;
      return name_of(*side) +
             (own.empty() ? " takes what one device refuses: " + refusal : " refuses: " + own);
    }
    std::erase_if(sides_, [](const auto& side) { return side->has_ended(); });
    has_stopped_ = !refusal.empty();
    return std::nullopt;
  }
  std::optional<std::string> compare(bool looks) {
    const Values right = looks ? one_.observe() : one_.told();
    Values first;
    for (const auto& side : sides_) {
      const Values own = looks ? side->observe() : side->told();
      if (const std::string d = difference(own, right, tolerance_of(case_.setup)); !d.empty())
        return name_of(*side) + " differs from one device in " + d;
      if (side == sides_.front()) first = own;
      // Clipping adds up the norm in the order in which gradients lie, which differs by mode.
      const double bits = has_clipped_ ? tolerance_of(case_.setup) : 0;
      if (const std::string d = difference(own, first, bits); !d.empty())
        return name_of(*side) + " differs from " + name_of(*sides_.front()) + " in " + d;
    }
    return std::nullopt;
  }

  const Case& case_;
  Side one_;
  std::vector<std::unique_ptr<Side>> sides_;
  bool has_stopped_ = false, has_clipped_ = false;
};

}  // namespace

std::optional<std::string> check(const Case& c) {
  try {
    return Comparison(c).run_all();
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace tandem::steps
