// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/drift_check.hpp"

#include <span>
#include <string>

#include <xxhash.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/parallel/replica_drift.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "parallel/replicas/call/processes.hpp"

namespace tandem::parallel {
namespace {

/// The hashes of an arena's tensors, by place.
std::vector<std::uint64_t> hashes_of(const optim::Arena& arena) {
  const auto& places = arena.layout().places();
  std::vector<std::uint64_t> hashes(places.size());
  for (const int b : arena.layout().block_indices()) {
    const Tensor& block = arena.params(b);
    const std::size_t size = itemsize(block.dtype());
    const auto hash = [&](const std::byte* base) {
      for (std::size_t p = 0; p < places.size(); ++p) {
        if (places[p].block != b) continue;
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

void DriftCheck::begin(Call& call) const {
  call.compares = every_ > 0 && (steps_ + 1) % every_ == 0;
}

void DriftCheck::hash_buffers(const Call& call, Call::Part& part) {
  if (call.compares) part.hashes.buffers = hashes_of(*part.replica->buffers);
}

void DriftCheck::check(const Call& call, Call::Part& part) const {
  if (!call.compares || (part.is_alone() && !call.processes->are_several())) return;
  DeviceReplica& replica = *part.replica;
  part.hashes.parameters = hashes_of(*replica.parameters());
  vote(part);  // all have theirs
  const Call::Part& first = part.is_alone() ? part : call.part(0);
  const ReplicaHashes &own = part.hashes, &owner = first.hashes;
  const std::size_t p = first_difference(own.parameters, owner.parameters);
  const std::size_t b = first_difference(own.buffers, owner.buffers);
  if (p == own.parameters.size() && b == own.buffers.size()) return check_processes(call, part);
  replica.received.parameters.clear();
  const bool is_parameter = p < own.parameters.size();
  const optim::Arena& arena = is_parameter ? *replica.parameters() : *replica.buffers;
  throw ReplicaDrift(arena.layout().places()[is_parameter ? p : b].name,
                     first.device(),
                     part.device(),
                     steps_ + 1);
}

// The device of the same index in each process has the same values, or the same share of them.
void DriftCheck::check_processes(const Call& call, const Call::Part& part) const {
  if (!call.processes->are_several()) return;
  std::vector<std::string> names{"the seed of random numbers", "the count of forwards"};
  std::vector<std::uint64_t> own{call.numbers.seed, call.numbers.forwards};
  const auto add = [&](const optim::Arena& arena, const std::vector<std::uint64_t>& hashes) {
    for (const auto& place : arena.layout().places())
      names.push_back(place.name);
    own.insert(own.end(), hashes.begin(), hashes.end());
  };
  add(*part.replica->parameters(), part.hashes.parameters);
  add(*part.replica->buffers, part.hashes.buffers);
  const std::vector<std::int64_t> values =
      call.processes->gather(part, std::vector<std::int64_t>(own.begin(), own.end()));
  for (std::size_t i = names.size(); i < values.size(); ++i)
    if (values[i] != values[i % names.size()])
      throw ReplicaDrift(
          names[i % names.size()], static_cast<int>(i / names.size()), part.device(), steps_ + 1);
}

}  // namespace tandem::parallel
