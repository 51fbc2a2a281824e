// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/dtype.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

/// All values of --dtype.
std::vector<std::string> number_names();

/// Which numbers a run calculates with, and the seed of its random numbers.
struct NumberChoice {
  std::string dtype = "f32";
  std::optional<std::uint64_t> seed;  ///< none: 0, or the checkpoint's

  void add_flags(CLI::App& app);
  /// The type of parameters and data. It is f32 if only products are in bf16.
  DType storage() const;
  /// The type of products, if it is another one.
  std::optional<DType> products() const;
  /// The seed of a run that begins.
  std::uint64_t first_seed() const { return seed.value_or(0); }
};

}  // namespace tandem::cli
