// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/comm/communicator.hpp"

namespace tandem::parallel {

/// The calls of a Rank that begin alike: the ranks tell each other which one they are in.
enum class RankCall : std::int64_t { gather_for_metrics, gather_objects, broadcast_object };

const char* name(RankCall call) noexcept;

/// What a rank brings to a call.
struct Announcement {
  RankCall call;
  std::int64_t root = 0;    ///< of a broadcast
  std::int64_t nbytes = 0;  ///< of its object
};

/// The bytes that each rank brings, once all ranks are known to be in the same call. Collective.
///
/// @throws Desync  on all ranks, which then can go on: the calls or their roots differ.
std::vector<std::int64_t> announce(comm::Communicator& comm, const Announcement& own);

/// All ranks' texts, by rank. Collective.
std::vector<std::string> gather_texts(comm::Communicator& comm,
                                      RankCall call,
                                      std::string_view own);

/// The root's text on all ranks. Collective. @throws InvalidArgument  there is no such root.
std::string broadcast_text(comm::Communicator& comm, std::string_view own, int root);

/// What `f` returns. If it throws, the others do not wait for this rank.
template <class F>
auto freeing_others(comm::Communicator& comm, F f) {
  try {
    return f();
  } catch (const std::exception& e) {
    comm.abort(comm.describe() + " failed: " + e.what());
    throw;
  }
}

}  // namespace tandem::parallel
