// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "steps/check.hpp"

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tandem::steps {
namespace {

double tolerance_of(const Setup& setup) {
  if (setup.dtype == "bf16") return 0.1;
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
  } catch (const Changed& e) {
    throw Changed(name_of(side) + ": " + e.what());
  } catch (const std::exception& e) {
    return e.what();
  }
}

/// Whether these statements lead two trainings of one device apart.
bool part(Side& one, Side& other, std::span<const std::string> statements, double tolerance) {
  for (const std::string& statement : statements) {
    run(one, statement);
    run(other, statement);
    if (!difference(other.told(), one.told(), tolerance).empty()) return true;
  }
  return !difference(other.observe(), one.observe(), tolerance).empty();
}

/// Whether one device alone is as far off after these statements if its first parameters differ by
/// rounding, or if it computes in f64: then a difference says nothing.
bool is_rounding(const Setup& setup, std::span<const std::string> statements) {
  const double tolerance = tolerance_of(setup) / 8;
  Side one(setup, {}), jittered(setup, {});
  jittered.jitter(setup.dtype == "f64" ? 1e-14 : 1e-6);
  if (part(one, jittered, statements, tolerance)) return true;
  if (setup.dtype != "f32" || setup.net.find("dropout") != std::string::npos) return false;
  Setup exact = setup;
  exact.dtype = "f64";
  Side again(setup, {}), twin(exact, {});
  twin.take_parameters(again);
  return part(again, twin, statements, tolerance);
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
      if (auto finding = compare(looks, i + 1)) return "'" + statement + "': " + *finding;
      if (has_stopped_) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  /// A statement on all sides. What one device refuses, all others do, and the case ends.
  std::optional<std::string> run_one(const std::string& statement) {
    std::string refusal = run(one_, statement);
    bool is_right = is_as_one_device(case_.setup);  // else the first mode is
    has_clipped_ = has_clipped_ || statement.starts_with("clip");
    for (const auto& side : sides_) {
      const std::string own = run(*side, statement);
      // Modes that give a gradient storage while its parameter trains refuse one that is set.
      if (own.find("did not train when its wrapper was called last") != std::string::npos) {
        has_stopped_ = true;
        return std::nullopt;
      }
      if (side->has_ended()) continue;
      if (!std::exchange(is_right, true)) refusal = own;
      if (own.empty() == refusal.empty()) continue;
      return name_of(*side) +
             (own.empty() ? " takes what others refuse: " + refusal : " refuses: " + own);
    }
    std::erase_if(sides_, [](const auto& side) { return side->has_ended(); });
    has_stopped_ = !refusal.empty();
    return std::nullopt;
  }
  std::optional<std::string> compare(bool looks, std::size_t done) {
    const Values right = looks ? one_.observe() : one_.told();
    Values first;
    for (const auto& side : sides_) {
      const Values own = looks ? side->observe() : side->told();
      const bool as_one = is_as_one_device(case_.setup);
      if (const std::string d = difference(own, right, tolerance_of(case_.setup));
          as_one && !d.empty()) {
        has_stopped_ = is_rounding(case_.setup, std::span(case_.statements).first(done));
        if (has_stopped_) return std::nullopt;
        return name_of(*side) + " differs from one device in " + d;
      }
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

/// A training in one mode and its twin on one device, after all statements of a case but the last.
class Pair {
 public:
  Pair(const Case& c, parallel::Mode mode) : one_(c.setup, {}), many_(c.setup, mode) {
    done_.setup = c.setup;
    for (std::size_t i = 0; i + 1 < c.statements.size(); ++i)
      run_both(c.statements[i]);
  }
  /// Lets piece `k` of the last statement fail, and runs it then. @return  false: it has fewer
  bool fail(int k, const std::string& last) {
    run_both("fail " + std::to_string(k) + " " + last);
    return many_.has_failed();
  }
  /// It has had all that a test wants of it.
  bool is_over() const { return many_.has_ended() || done_.statements.size() > 12; }
  std::string difference_of_both() {
    if (many_.has_ended() || !is_as_one_device(done_.setup)) return "";
    const std::string d = difference(many_.observe(), one_.observe(), tolerance_of(done_.setup));
    return d.empty() || is_rounding(done_.setup, done_.statements) ? "" : d;
  }
  const Case& done() const { return done_; }

 private:
  void run_both(const std::string& statement) {
    done_.statements.push_back(statement);
    const std::string own = run(many_, statement);
    const std::string refusal = is_as_one_device(done_.setup) ? run(one_, statement) : own;
    if (many_.has_ended() || refusal.empty() == own.empty()) {
      if (!refusal.empty()) throw std::invalid_argument(refusal);
      return;
    }
    throw Changed(name_of(many_) +
                  (own.empty() ? " takes what one device refuses" : " refuses: " + own));
  }

  Side one_, many_;
  Case done_;
};

}  // namespace

FailedPieces fail_each(const Case& c) {
  constexpr int kMostPieces = 3000;
  FailedPieces result;
  for (const parallel::Mode mode : parallel::kModes) {
    std::unique_ptr<Pair> pair;
    try {
      for (int k = 1; k < kMostPieces; ++k) {
        if (pair == nullptr || pair->is_over()) pair = std::make_unique<Pair>(c, mode);
        if (!pair->fail(k, c.statements.back())) break;
        ++result.count;
        const std::string d = pair->difference_of_both();
        if (!d.empty())
          throw Changed("after a failure " + std::string(parallel::name(mode)) +
                        " differs from one device in " + d);
      }
    } catch (const std::invalid_argument&) {
      return result;  // one device refuses it as well
    } catch (const std::exception& e) {
      result.finding = e.what();
      result.done = pair == nullptr ? c : pair->done();
      return result;
    }
  }
  return result;
}

std::optional<std::string> check(const Case& c) {
  try {
    return Comparison(c).run_all();
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace tandem::steps
