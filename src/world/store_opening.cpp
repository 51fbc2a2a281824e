// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/store_opening.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"

#include "world/socket.hpp"
#include "world/store_protocol.hpp"

namespace tandem::world {
namespace {

using Clock = std::chrono::steady_clock;
using tandem::detail::concat;

// At a port that is another program's: one that does not answer is passed over soon.
constexpr std::chrono::milliseconds kToConnect{500}, kToAnswer{1000};
constexpr std::chrono::milliseconds kBetweenRounds{50};

/// All places where the store may be, the likeliest first.
std::vector<Address> places_of(const Launch& launch) {
  std::vector<Address> places{*launch.store};
  for (const std::uint16_t port : launch.other_ports)
    places.push_back({launch.store->host, port});
  return places;
}

/// What tells the store of this run from those of others, which other jobs may serve.
std::string name_key(const Launch& launch) {
  return concat("tandem/run/", launch.run, '/', launch.restart);
}

std::unique_ptr<StoreServer> serve(const std::vector<Address>& places) {
  for (const Address& place : places) {
    try {
      return std::make_unique<StoreServer>(place);
    } catch (const PortTaken&) {
      if (place == places.back()) throw;
    }
  }
  return nullptr;
}

/// Whether a store answers there that has the key.
bool has_key(const Address& place, const std::string& key, Deadline deadline) try {
  const auto by = [&](auto patience) { return std::min(deadline, Clock::now() + patience); };
  const Socket socket = Socket::connect_once(place, by(kToConnect));
  MessageWriter question(Query::validate);
  question.u32(kMagic).byte(static_cast<std::uint8_t>(Query::check)).texts({'/' + key});
  std::string answer(1, '\0');
  socket.send(question.bytes(), by(kToAnswer));
  socket.receive(answer, by(kToAnswer));
  return answer[0] == static_cast<char>(Check::ready);
} catch (const CommError&) {  // nobody, or no store
  return false;
}

Address find(const std::vector<Address>& places, const std::string& key, Deadline deadline) {
  for (;;) {
    for (const Address& place : places)
      if (has_key(place, key, deadline)) return place;
    if (Clock::now() + kBetweenRounds >= deadline)
      throw Timeout(concat("the store of the run is not at ",
                           to_string(places.front()),
                           ", nor at the ",
                           places.size() - 1,
                           " other ports that this job may take; see what process 0 prints, or set "
                           "MASTER_ADDR and MASTER_PORT"));
    std::this_thread::sleep_for(kBetweenRounds);
  }
}

}  // namespace

OpenStore open_store(const Launch& launch,
                     std::unique_ptr<StoreServer> server,
                     Store::Milliseconds timeout) {
  const std::vector<Address> places = places_of(launch);
  const bool serves = launch.rank == 0 && !launch.launcher_serves;
  if (serves && server == nullptr) server = serve(places);
  Address place = places.front();
  if (serves)
    place.port = server->address().port;
  else if (places.size() > 1)
    place = find(places, name_key(launch), Clock::now() + timeout);
  OpenStore open{std::move(server), std::make_shared<TcpStore>(place, timeout)};
  if (serves && places.size() > 1) open.client->set(name_key(launch), "");
  return open;
}

}  // namespace tandem::world
