// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/machine/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace tandem::stand_in {
namespace {

const char* variable(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr && *text != '\0' ? text : nullptr;
}

std::uint64_t number(const char* name,
                     std::uint64_t otherwise,
                     std::uint64_t least,
                     std::uint64_t most) {
  const char* const text = variable(name);
  if (text == nullptr) return otherwise;
  const std::string all = text;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc() || end != all.data() + all.size() || value < least || value > most)
    throw std::invalid_argument(std::string(name) + " is '" + all + "'; set it to a number from " +
                                std::to_string(least) + " to " + std::to_string(most));
  return value;
}

// As CUDA does, it takes numbers up to the first of a GPU that is not there.
std::vector<int> visible(const std::string& text, int installed) {
  std::vector<int> places;
  std::istringstream all(text);
  for (std::string one; std::getline(all, one, ',');) {
    int place = -1;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), place);
    if (error != std::errc() || end != one.data() + one.size())
      throw std::invalid_argument("CUDA_VISIBLE_DEVICES is '" + text + "', with '" + one +
                                  "'; the stand-in takes numbers alone, such as 0,2");
    if (place < 0 || place >= installed || std::ranges::find(places, place) != places.end()) break;
    places.push_back(place);
  }
  return places;
}

}  // namespace

std::size_t read_bytes(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const int shift = unit.empty() || unit == "B" ? 0
                    : unit == "KiB"             ? 10
                    : unit == "MiB"             ? 20
                    : unit == "GiB"             ? 30
                                                : -1;
  if (error != std::errc() || shift < 0 || value == 0 || value > (UINT64_MAX >> 16 >> shift))
    throw std::invalid_argument("'" + text + "' is no size; write it as 16GiB, 512MiB or 4096");
  return value << shift;
}

Settings read_settings() {
  Settings s;
  s.installed = s.gpus = static_cast<int>(number("TANDEM_STAND_IN_GPUS", 4, 0, kMostGpus));
  if (const char* const text = std::getenv("CUDA_VISIBLE_DEVICES")) {
    s.visible = visible(text, s.installed);
    s.gpus = static_cast<int>(s.visible.size());
  }
  if (const char* const text = variable("TANDEM_STAND_IN_MEMORY")) {
    try {
      s.gpu_bytes = read_bytes(text);
    } catch (const std::invalid_argument& e) {
      throw std::invalid_argument(std::string("TANDEM_STAND_IN_MEMORY: ") + e.what());
    }
  }
  constexpr std::array kPeers{Peers::none, Peers::all, Peers::wrong_bytes, Peers::hanging};
  s.peers = kPeers[number("TANDEM_STAND_IN_PEERS", 1, 0, kPeers.size() - 1)];
  s.seed = number("TANDEM_STAND_IN_SEED", 1, 0, UINT64_MAX);
  s.strict = number("TANDEM_STAND_IN_STRICT", 0, 0, 1) != 0;
  s.deadline = std::chrono::seconds(number("TANDEM_STAND_IN_DEADLINE", 60, 1, 86400));
  if (const char* const text = variable("TANDEM_STAND_IN_FAIL")) s.failures = text;
  if (const char* const text = variable("TANDEM_STAND_IN_REPORTS")) s.reports = text;
  return s;
}

}  // namespace tandem::stand_in
