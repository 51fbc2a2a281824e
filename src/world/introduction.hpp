// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tandem/world/store.hpp"
#include "tandem/world/world.hpp"

namespace tandem::world {

/// What a process says of itself when it comes to the meeting, in lines of NAME=VALUE.
struct Introduction {
  Peer peer;
  std::string draw;        ///< a random number: two of one rank never say the same
  std::string store_host;  ///< by which address, as a number, it reaches the store; "": by none
  std::map<std::string, std::string> contract;  ///< what all processes are to have alike

  std::string text() const;
  static Introduction read(int rank, const std::string& text);
  /// The name of a run, from process 0's.
  std::string run() const;
};

/// The key of what a process of this rank does: "process/2".
std::string key_of(const std::string& what, int rank);

/// Waits until all have come, and compares what each says with what process 0 says as soon as both
/// are there, so that a process hears of a difference also where others are missing.
///
/// @return  by rank
/// @throws Desync   two differ in the contract; the text has both values.
/// @throws Timeout  not all have come in the store's time-out; the text has the missing ranks.
std::vector<Introduction> meet_all(Store& store, int processes);

/// Waits until all processes have set their key of `what`.
/// @throws Timeout  as meet_all()
void wait_for_all(Store& store, const std::string& what, int processes);

}  // namespace tandem::world
