// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/clock_offset.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>

#include "world/frame.hpp"
#include "world/socket.hpp"

namespace tandem::world {
namespace {

using std::chrono::microseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr auto kMostSilence = std::chrono::seconds(1);
constexpr auto kEnough = std::chrono::milliseconds(3);
constexpr int kMostTrips = 8;

microseconds since_start(SteadyClock::time_point moment) {
  return std::chrono::duration_cast<microseconds>(moment.time_since_epoch());
}

/// One question; none: the answer is nonsense.
std::optional<ClockOffset> ask(const Socket& server, Deadline deadline) {
  std::string answer(encode_clock({}).size(), '\0');
  const auto sent = SteadyClock::now();
  server.send(encode({Frame::Kind::ask}), deadline);
  server.receive(answer, deadline);
  const auto came = SteadyClock::now();
  const auto there = read_clock(answer);
  if (!there) return std::nullopt;
  // The answer was written at some moment between the two; the microsecond is for what is cut off.
  const auto half = std::chrono::duration_cast<microseconds>((came - sent) / 2);
  return ClockOffset{*there - since_start(sent + (came - sent) / 2), half + microseconds(1)};
}

}  // namespace

std::optional<ClockOffset> measure_clock_offset(const Address& server) noexcept {
  std::optional<ClockOffset> best;
  try {
    const auto begin = SteadyClock::now();
    const Deadline deadline = begin + kMostSilence;
    const Socket socket = Socket::connect(server, deadline);
    for (int trip = 0; trip < kMostTrips; ++trip) {
      if (best && SteadyClock::now() - begin > kEnough) break;
      const auto offset = ask(socket, deadline);
      if (!offset) break;
      if (!best || offset->error < best->error) best = offset;
    }
  } catch (const std::exception&) {  // what has been measured before stays
  }
  return best;
}

}  // namespace tandem::world
