// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "train/run_state.hpp"

#include <cmath>
#include <limits>

#include "tandem/core/check.hpp"

#include "train/json_object.hpp"

namespace tandem::training {
namespace {

constexpr std::uint64_t kMostCount = 1'000'000'000'000'000;  // steps, rows: can be gone on from

std::int64_t count_of(const Json& j, const std::string& key, std::uint64_t most = kMostCount) {
  const Json& value = field_of(j, key);
  TANDEM_CHECK(value.is_number_unsigned() && value.get<std::uint64_t>() <= most,
               "'",
               key,
               "' is ",
               value.dump(),
               "; expected a whole number from 0 to ",
               most);
  return value.get<std::int64_t>();
}

/// A seed or a position of random numbers: any 64 bits.
std::uint64_t bits_of(const Json& j, const char* key) {
  const Json& value = field_of(j, key);
  TANDEM_CHECK(value.is_number_unsigned(),
               "'",
               key,
               "' is ",
               value.dump(),
               "; expected a whole number of 64 bits");
  return value.get<std::uint64_t>();
}

/// JSON has no NaN and no infinity, and writes null for them.
double number_of(const Json& value, const std::string& key) {
  TANDEM_CHECK(value.is_number() || value.is_null(),
               "'",
               key,
               "' is ",
               value.dump(),
               ", which is not a number");
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

}  // namespace

std::string format_run_state(const RunState& s) {
  const GeneratorState random = s.random.value_or(default_generator().get_state());
  return Json{{"model", s.model},
              {"data", s.data},
              {"step", s.step},
              {"epoch", s.position.epoch},
              {"batch", s.position.batch},
              {"batch_size", s.batch_size},
              {"seed", random.seed},
              {"forwards", random.forwards},
              {"draws", random.draws},
              {"epoch_loss", s.epoch_loss},
              {"epoch_weight", s.epoch_weight},
              {"sizes", s.sizes},
              {"vocabulary", s.vocabulary}}
      .dump();
}

RunState parse_run_state(const std::string& text) {
  const Json j = parse_object(text);
  RunState s;
  s.model = text_of(j, "model");
  s.data = text_of(j, "data");
  s.step = count_of(j, "step");
  s.position = {.epoch = count_of(j, "epoch"), .batch = count_of(j, "batch")};
  s.batch_size = count_of(j, "batch_size");
  s.random = {
      .seed = bits_of(j, "seed"), .forwards = bits_of(j, "forwards"), .draws = bits_of(j, "draws")};
  s.epoch_loss = number_of(field_of(j, "epoch_loss"), "epoch_loss");
  s.epoch_weight = number_of(field_of(j, "epoch_weight"), "epoch_weight");
  TANDEM_CHECK(s.epoch_weight >= 0 && std::isfinite(s.epoch_weight),
               "'epoch_weight' is ",
               s.epoch_weight,
               "; it must be finite and not negative");
  if (j.contains("sizes")) {  // younger than the schema, as is the vocabulary
    const Json& sizes = j.at("sizes");
    TANDEM_CHECK(sizes.is_object(), "'sizes' is ", sizes.dump(), ", which is not an object");
    for (const auto& [name, value] : sizes.items())
      s.sizes[name] = count_of(sizes, name, INT64_MAX);  // compared with the tensors: check_gpt
  }
  if (j.contains("vocabulary")) s.vocabulary = text_of(j, "vocabulary");
  return s;
}

std::string format_numbers(const std::map<std::string, double>& numbers) {
  return Json(numbers).dump();
}

std::map<std::string, double> parse_numbers(const std::string& text) {
  std::map<std::string, double> numbers;
  const Json j = parse_object(text);
  for (const auto& [name, value] : j.items())
    numbers[name] = number_of(value, name);
  return numbers;
}

}  // namespace tandem::training
