// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tandem/ops/batch_norm.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

/// Sizes of the model of a text.
struct GptSizes {
  std::int64_t layers = 4;
  std::int64_t width = 128;
  std::int64_t heads = 4;
  std::int64_t context = 128;   ///< the longest sample
  std::int64_t length = 128;    ///< of a sample
  std::int64_t vocabulary = 0;  ///< 0: the characters of the text
  double dropout = 0.1;
};

/// Which model a command uses.
struct ModelChoice {
  std::string name;  ///< empty: by the data
  GptSizes gpt;
  std::string gpt_option;   ///< the last option of `gpt` that was given; empty: none was
  std::string gpt_size;     ///< the last of these that is a size of the model
  bool has_length = false;  ///< whether it was given
  bool recompute = false;
  std::optional<BatchNormSync> batch_norm;  ///< none: synchronised

  void add_flags(CLI::App& app);
  /// Fills in the sizes of a model, which has a name, whose sizes follow from it.
  /// @throws UsageError  an option was given that the model does not have.
  void resolve();

 private:
  void check() const;
};

}  // namespace tandem::cli
