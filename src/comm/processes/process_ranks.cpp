// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/process_ranks.hpp"

#include <sstream>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/world/world.hpp"

#include "comm/algorithms/list.hpp"
#include "comm/make_ranks.hpp"
#include "comm/processes/process_engine.hpp"

namespace tandem::comm {
namespace {

using tandem::detail::concat;

std::string key(std::uint64_t group, int process) {
  return concat("group/", group, '/', process);
}

/// All processes have ranks in a group that is made, and groups are made in the same order.
std::shared_ptr<NativeOrder> native_order(const GroupOptions& options, ProcessMesh& mesh) {
  if (options.algorithm != native().name()) return nullptr;
  auto order = std::make_shared<NativeOrder>();
  order->order = mesh.open_order(options.timeout);
  return order;
}

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_process_ranks(std::span<const Device> devices,
                                                              GroupOptions options) {
  world::World& world = *options.world;
  std::string own;
  for (const Device device : devices) {
    TANDEM_CHECK(device.type == DeviceType::cpu,
                 "make_group: ",
                 device,
                 " is a GPU, but groups of several processes are of host devices; use one process "
                 "for all GPUs of a host");
    own += concat(device, ' ');
  }
  const Backend backend = options.backend == Backend::mpi ? Backend::mpi : Backend::gloo;
  const auto mesh = ProcessMesh::of(world, backend);
  const std::uint64_t group = mesh->next_group();
  world.store().set(key(group, world.rank()), own);

  std::vector<Device> all;
  std::vector<std::string> places;
  std::vector<int> processes;
  std::vector<std::string> hosts;
  for (const world::Peer& peer : world.peers()) {
    std::istringstream words(world.store().get(key(group, peer.rank)));
    for (std::string word; words >> word;) {
      all.push_back(parse_device(word));
      places.push_back(concat(word, " of ", peer.describe()));
      processes.push_back(peer.rank);
      hosts.push_back(peer.host);
    }
  }
  RankTable table(
      std::move(all), std::move(places), std::move(processes), world.rank(), std::move(hosts));
  Membership membership(table, group);
  membership.natives = native_order(options, *mesh);
  auto attendance = std::make_shared<ProcessAttendance>(
      mesh, backend, std::move(membership), RollCall::of(world));
  auto engine = std::make_shared<ProcessEngine>(mesh, std::move(attendance), options);
  return make_ranks(std::move(table), std::move(options), std::move(engine));
}

}  // namespace tandem::comm
