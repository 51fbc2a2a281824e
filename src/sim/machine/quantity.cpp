// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/machine/quantity.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace tandem::sim {
namespace {

struct UnitOfMeasure {
  const char* name;
  double value;
};

constexpr double kKi = 1024, kMi = kKi * kKi, kGi = kMi * kKi, kTi = kGi * kKi, kPi = kTi * kKi;

// Smallest first. Sizes of memory are written in the units of 1024, which are tried first.
constexpr std::array kBytes{UnitOfMeasure{"B", 1},
                            UnitOfMeasure{"KiB", kKi},
                            UnitOfMeasure{"MiB", kMi},
                            UnitOfMeasure{"GiB", kGi},
                            UnitOfMeasure{"TiB", kTi},
                            UnitOfMeasure{"PiB", kPi},
                            UnitOfMeasure{"EiB", kPi* kKi},
                            UnitOfMeasure{"kB", 1e3},
                            UnitOfMeasure{"KB", 1e3},
                            UnitOfMeasure{"MB", 1e6},
                            UnitOfMeasure{"GB", 1e9},
                            UnitOfMeasure{"TB", 1e12}};
constexpr std::array kBandwidths{UnitOfMeasure{"B/s", 1},
                                 UnitOfMeasure{"kB/s", 1e3},
                                 UnitOfMeasure{"MB/s", 1e6},
                                 UnitOfMeasure{"GB/s", 1e9},
                                 UnitOfMeasure{"TB/s", 1e12},
                                 UnitOfMeasure{"PB/s", 1e15},
                                 UnitOfMeasure{"EB/s", 1e18}};
constexpr std::array kFlops{UnitOfMeasure{"FLOP/s", 1},
                            UnitOfMeasure{"MFLOP/s", 1e6},
                            UnitOfMeasure{"GFLOP/s", 1e9},
                            UnitOfMeasure{"TFLOP/s", 1e12},
                            UnitOfMeasure{"PFLOP/s", 1e15},
                            UnitOfMeasure{"EFLOP/s", 1e18},
                            UnitOfMeasure{"ZFLOP/s", 1e21}};
constexpr std::array kTimes{UnitOfMeasure{"ns", 1e-9},
                            UnitOfMeasure{"us", 1e-6},
                            UnitOfMeasure{"ms", 1e-3},
                            UnitOfMeasure{"s", 1}};
constexpr std::array kRootTimes{UnitOfMeasure{"us/sqrt(KiB)", 1e-6 / 32}};

std::span<const UnitOfMeasure> units_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::bytes:
      return kBytes;
    case Dimension::bandwidth:
      return kBandwidths;
    case Dimension::flops:
      return kFlops;
    case Dimension::time:
      return kTimes;
    case Dimension::root_time:
      break;
  }
  return kRootTimes;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

std::string shortest(double value) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(
      buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general, 12);
  return error == std::errc() ? std::string(buffer.data(), end) : "?";
}

}  // namespace

std::optional<double> parse_quantity(Dimension dimension, std::string_view text) {
  text = trimmed(text);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const std::string_view unit = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  for (const UnitOfMeasure& u : units_of(dimension))
    if (unit == u.name) return number * u.value;
  return std::nullopt;
}

std::string format_quantity(Dimension dimension, double value) {
  std::string best;
  for (const UnitOfMeasure& u : units_of(dimension)) {
    const std::string number = shortest(value / u.value);
    const bool is_usual = std::string_view(u.name) == usual_unit(dimension);
    const bool is_handy = value == 0 || std::fabs(value / u.value) >= 0.1;
    if (is_usual && is_handy && dimension != Dimension::bytes) return number + " " + u.name;
    if (best.empty() || number.size() < best.find(' ')) best = number + " " + u.name;
  }
  return best;
}

std::string exact_number(double value) {
  std::array<char, 32> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

const char* usual_unit(Dimension dimension) noexcept {
  switch (dimension) {
    case Dimension::bytes:
      return "GiB";
    case Dimension::bandwidth:
      return "GB/s";
    case Dimension::flops:
      return "TFLOP/s";
    case Dimension::time:
      return "us";
    case Dimension::root_time:
      break;
  }
  return "us/sqrt(KiB)";
}

}  // namespace tandem::sim
