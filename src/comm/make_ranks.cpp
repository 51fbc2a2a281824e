// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/make_ranks.hpp"

#include <cstdlib>
#include <utility>

#include "comm/meeting.hpp"

namespace tandem::comm {

std::vector<std::unique_ptr<Communicator>> make_ranks(RankTable table,
                                                      GroupOptions options,
                                                      std::shared_ptr<Engine> engine) {
  if (options.dump_folder.empty()) {
    if (const char* folder = std::getenv("TANDEM_COMM_DUMP")) options.dump_folder = folder;
  }
  if (std::getenv("TANDEM_COMM_DUMP_AT_END") != nullptr) options.dump_at_end = true;
  const auto meeting =
      std::make_shared<Meeting>(std::move(table), std::move(options), std::move(engine));
  meeting->attendance().attach(meeting);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (const int r : meeting->ranks().here())
    ranks.push_back(std::make_unique<Communicator>(meeting, r));
  return ranks;
}

}  // namespace tandem::comm
