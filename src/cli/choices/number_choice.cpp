// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/number_choice.hpp"

#include <CLI/CLI.hpp>

#include "cli/subject.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {

std::vector<std::string> number_names() {
  return {"f32", "f64", "bf16"};
}

void NumberChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::precision);
  app.add_option(
         "--dtype",
         dtype,
         "type of parameters and arithmetic; with bf16, products are in bf16 and everything else "
         "is in f32")
      ->check(CLI::IsMember(number_names()))
      ->capture_default_str();
  app.add_option("--seed", seed, "seed of weights, shuffling and dropout (default 0)")
      ->check(seed_number());
}

DType NumberChoice::storage() const {
  return products() ? DType::f32 : parse_dtype(dtype);
}

std::optional<DType> NumberChoice::products() const {
  return dtype == "bf16" ? std::optional(DType::bf16) : std::nullopt;
}

}  // namespace tandem::cli
