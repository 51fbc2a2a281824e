// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <xxhash.h>

#include "tandem/core/check.hpp"
#include "tandem/parallel/replica_drift.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "parallel/replica_state.hpp"

namespace tandem::parallel {
namespace {

/// The hashes of an arena's tensors, by place.
std::vector<std::uint64_t> hashes_of(const optim::Arena& arena) {
  const auto& places = arena.layout().places();
  std::vector<std::uint64_t> hashes(places.size());
  for (std::size_t b = 0; b < arena.layout().blocks().size(); ++b) {
    const Tensor& block = arena.params(static_cast<int>(b));
    const std::size_t size = itemsize(block.dtype());
    const auto hash = [&](const std::byte* base) {
      for (std::size_t p = 0; p < places.size(); ++p) {
        if (static_cast<std::size_t>(places[p].block) != b) continue;
        hashes[p] = XXH64(base + static_cast<std::size_t>(places[p].offset) * size,
                          static_cast<std::size_t>(numel(places[p].shape)) * size,
                          0);
      }
    };
    if (block.device().type == DeviceType::cpu) {
      dispatch(block.stream(),
               make_work(Work::Kind::reduce, "hash", {block}, {}),
               [&](HostStream&) { hash(static_cast<const std::byte*>(block.data())); });
    } else {
      std::vector<std::byte> host(block.nbytes());
      read(block.buffer(),
           static_cast<std::size_t>(block.impl().offset) * size,
           host.data(),
           host.size(),
           "hash");
      hash(host.data());
    }
  }
  return hashes;
}

/// The first place that differs; the number of places where none does.
std::size_t first_difference(const std::vector<std::uint64_t>& a,
                             const std::vector<std::uint64_t>& b) {
  std::size_t p = 0;
  while (p < a.size() && a[p] == b[p])
    ++p;
  return p;
}

}  // namespace

ReplicaDrift::ReplicaDrift(const std::string& tensor,
                           Device owner,
                           Device device,
                           std::int64_t step)
    : Error(tandem::detail::concat("step ",
                                   step,
                                   ": '",
                                   tensor,
                                   "' on ",
                                   device,
                                   " differs from ",
                                   owner,
                                   "'s; something writes to replicas, or a device loses bits; the "
                                   "next call sends the values anew")),
      tensor_(tensor),
      device_(device),
      step_(step) {}

void ReplicaSet::State::watch_drift(Call& call) const {
  const std::int64_t every = options.check_drift_every;
  if (every > 0 && (steps + 1) % every == 0) call.hashes.resize(devices.size());
}

void ReplicaSet::State::hash_buffers(Call& call, int rank) const {
  if (call.hashes.empty() || master_buffers == nullptr) return;
  const auto r = static_cast<std::size_t>(rank);
  call.hashes[r].buffers = hashes_of(*buffers[r]);
}

void ReplicaSet::State::check_drift(Call& call, int rank) {
  comm::Communicator* world = call.group->comm_of(rank);
  if (call.hashes.empty() || world == nullptr) return;
  const auto r = static_cast<std::size_t>(rank);
  if (params[r] != nullptr) call.hashes[r].parameters = hashes_of(*params[r]);
  world->barrier();
  const ReplicaHashes &own = call.hashes[r], &owner = call.hashes[0];
  const std::size_t p = first_difference(own.parameters, owner.parameters);
  const std::size_t b = first_difference(own.buffers, owner.buffers);
  if (p == own.parameters.size() && b == own.buffers.size()) return;
  synced[r].clear();
  const auto& arena = p < own.parameters.size() ? params[0] : master_buffers;
  const std::size_t place = p < own.parameters.size() ? p : b;
  throw ReplicaDrift(arena->layout().places()[place].name, devices[0], devices[r], steps + 1);
}

}  // namespace tandem::parallel
