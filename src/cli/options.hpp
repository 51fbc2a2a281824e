// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tandem/core/dtype.hpp"

namespace tandem::cli {

/// What train and verify have in common, as the command line gave it.
struct RunOptions {
  std::string model = "cnn-small";
  std::string data = "fashion-mnist";
  std::string data_dir;
  std::string devices;  // empty: the default list
  std::int64_t batch = 256;
  std::optional<std::int64_t> gpu0_bsz;
  std::vector<std::int64_t> chunk_sizes;
  std::int64_t epochs = 2;
  std::optional<std::int64_t> steps;
  std::string optimizer = "adamw";
  std::optional<double> lr;
  std::string dtype = "f32";
  std::optional<std::uint64_t> seed;  // none: 0, or the checkpoint's
  std::string checkpoint;
  bool resume = false;
  std::string json;
  bool quiet = false;
};

/// A wrong command line: one sentence, exit 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tandem::cli
