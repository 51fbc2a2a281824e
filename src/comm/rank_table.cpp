// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/rank_table.hpp"

#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::comm {

RankTable::RankTable(std::vector<Device> devices) : devices_(std::move(devices)) {
  for (const Device d : devices_)
    places_.push_back(to_string(d));
}

RankTable::RankTable(std::vector<Device> devices, std::vector<std::string> places)
    : devices_(std::move(devices)), places_(std::move(places)) {
  TANDEM_CHECK(places_.size() == devices_.size(),
               "group of ",
               devices_.size(),
               " ranks: got ",
               places_.size(),
               " places; name one for each rank");
}

std::string RankTable::name(int rank) const {
  return tandem::detail::concat("rank ", rank, " (", places_[static_cast<std::size_t>(rank)], ")");
}

RankTable RankTable::split(const std::vector<int>& ranks) const {
  std::vector<Device> devices;
  std::vector<std::string> places;
  for (const int rank : ranks) {
    devices.push_back(device(rank));
    places.push_back(places_[static_cast<std::size_t>(rank)]);
  }
  return {std::move(devices), std::move(places)};
}

}  // namespace tandem::comm
