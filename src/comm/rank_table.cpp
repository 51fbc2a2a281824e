// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/rank_table.hpp"

#include <algorithm>
#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::comm {
namespace {

std::vector<std::string> names_of(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device d : devices)
    names.push_back(to_string(d));
  return names;
}

}  // namespace

RankTable::RankTable(std::vector<Device> devices)
    : RankTable(devices, names_of(devices), std::vector<int>(devices.size(), 0), 0) {}

RankTable::RankTable(std::vector<Device> devices,
                     std::vector<std::string> places,
                     std::vector<int> processes,
                     int own,
                     std::vector<std::string> hosts)
    : devices_(std::move(devices)),
      places_(std::move(places)),
      processes_(std::move(processes)),
      own_(own),
      hosts_(hosts.empty() ? std::vector<std::string>(devices_.size()) : std::move(hosts)) {
  TANDEM_CHECK(places_.size() == devices_.size() && processes_.size() == devices_.size() &&
                   hosts_.size() == devices_.size(),
               "group of ",
               devices_.size(),
               " ranks: got ",
               places_.size(),
               " places, ",
               processes_.size(),
               " processes and ",
               hosts_.size(),
               " hosts; name one for each rank");
  for (int r = 0; r < size(); ++r)
    if (is_here(r)) here_.push_back(r);
}

int RankTable::local_rank(int rank) const noexcept {
  const auto own = hosts_.begin() + rank;
  return static_cast<int>(std::count(hosts_.begin(), own, *own));
}

std::vector<Device> RankTable::devices_here() const {
  std::vector<Device> devices;
  for (const int r : here_)
    devices.push_back(device(r));
  return devices;
}

std::string RankTable::name(int rank) const {
  return tandem::detail::concat("rank ", rank, " (", places_[static_cast<std::size_t>(rank)], ")");
}

RankTable RankTable::split(const std::vector<int>& ranks) const {
  std::vector<Device> devices;
  std::vector<std::string> places;
  std::vector<int> processes;
  std::vector<std::string> hosts;
  for (const int rank : ranks) {
    devices.push_back(device(rank));
    places.push_back(places_[static_cast<std::size_t>(rank)]);
    processes.push_back(process(rank));
    hosts.push_back(hosts_[static_cast<std::size_t>(rank)]);
  }
  return {std::move(devices), std::move(places), std::move(processes), own_, std::move(hosts)};
}

}  // namespace tandem::comm
