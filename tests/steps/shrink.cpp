// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "steps/shrink.hpp"

#include <cstddef>
#include <utility>

namespace tandem::steps {
namespace {

class Shrinking {
 public:
  Shrinking(Case c, const std::function<bool(const Case&)>& fails)
      : case_(std::move(c)), fails_(fails) {}

  Case run() {
    do {
      is_smaller_ = false;
      drop_statements();
      drop_layers();
      simplify_setup();
      simplify_statements();
    } while (is_smaller_);
    return case_;
  }

 private:
  bool take(Case smaller) {
    if (!fails_(smaller)) return false;
    case_ = std::move(smaller);
    return is_smaller_ = true;
  }
  void drop_statements() {
    for (std::size_t i = case_.statements.size(); i-- > 0;) {
      Case smaller = case_;
      smaller.statements.erase(smaller.statements.begin() + static_cast<std::ptrdiff_t>(i));
      if (!smaller.statements.empty()) take(std::move(smaller));
    }
  }
  void drop_layers() {
    for (std::size_t i = split(case_.setup.net, ' ').size(); i-- > 0;) {
      std::vector<std::string> layers = split(case_.setup.net, ' ');
      layers.erase(layers.begin() + static_cast<std::ptrdiff_t>(i));
      Case smaller = case_;
      smaller.setup.net.clear();
      for (const std::string& layer : layers)
        smaller.setup.net += (smaller.setup.net.empty() ? "" : " ") + layer;
      if (smaller.setup.net.find("linear") != std::string::npos) take(std::move(smaller));
    }
  }
  template <class T>
  void reset(T Setup::*field) {
    static const Setup plain;
    if (case_.setup.*field == plain.*field) return;
    Case smaller = case_;
    smaller.setup.*field = plain.*field;
    take(std::move(smaller));
  }
  void simplify_setup() {
    reset(&Setup::optimizer);
    reset(&Setup::loss);
    reset(&Setup::dtype);
    reset(&Setup::averages);
    reset(&Setup::scaler);
    reset(&Setup::chunks);
    reset(&Setup::devices);
    reset(&Setup::accumulate);
    reset(&Setup::bitwise);
    reset(&Setup::whole_tensors);
    reset(&Setup::units);
    reset(&Setup::reshard);
    reset(&Setup::prefetch);
    reset(&Setup::offload);
    reset(&Setup::bucket_nbytes);
    reset(&Setup::drift);
    reset(&Setup::non_finite);
    reset(&Setup::norms);
    reset(&Setup::buffers);
    reset(&Setup::output);
    reset(&Setup::seed);
  }
  /// Without the comparison at its end, and with smaller numbers.
  void simplify_statements() {
    for (std::size_t i = 0; i < case_.statements.size(); ++i) {
      const auto try_words = [&](const std::vector<std::string>& words) {
        Case smaller = case_;
        std::string& statement = smaller.statements[i];
        statement.clear();
        for (const std::string& word : words)
          statement += (statement.empty() ? "" : " ") + word;
        return statement != case_.statements[i] && take(std::move(smaller));
      };
      std::vector<std::string> words = split(case_.statements[i], ' ');
      if (words.back() == "look") try_words({words.begin(), words.end() - 1});
      words = split(case_.statements[i], ' ');
      if (words.front() == "fail") try_words({words.begin() + 2, words.end()});
      for (std::size_t w = 1; w < split(case_.statements[i], ' ').size(); ++w) {
        for (const char* number : {"0", "1", "2", "3", "5"}) {
          words = split(case_.statements[i], ' ');
          if (words[w] == "look" || words[w] == "step" || words[w] == "backward") break;
          if (words[w].size() < 2 && words[w] <= number) break;
          words[w] = number;
          if (try_words(words)) break;
        }
      }
    }
  }

  Case case_;
  const std::function<bool(const Case&)>& fails_;
  bool is_smaller_ = false;
};

}  // namespace

Case shrink(Case c, const std::function<bool(const Case&)>& fails) {
  return Shrinking(std::move(c), fails).run();
}

}  // namespace tandem::steps
