// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/nccl/clique.hpp"

#include <cstring>
#include <string>

#include "stand_in/nccl/reduction.hpp"

namespace tandem::stand_in {
namespace {

/// Bytes that a part reads and writes.
struct Sizes {
  std::size_t from, to;
};

Sizes sizes(const Part& part, std::size_t ranks) {
  const std::size_t n = part.count * nccl_size(part.type);
  return {part.kind == Part::Kind::reduce_scatter ? n * ranks : n,
          part.kind == Part::Kind::all_gather ? n * ranks : n};
}

bool writes(const std::vector<Part>& parts, std::size_t rank) {
  return parts[rank].kind != Part::Kind::reduce || static_cast<int>(rank) == parts[rank].root;
}

bool reads(const std::vector<Part>& parts, std::size_t rank) {
  return parts[rank].kind != Part::Kind::broadcast || static_cast<int>(rank) == parts[rank].root;
}

}  // namespace

void Clique::give(Machine& m, std::size_t rank, const Part& part) {
  queued_[rank].push_back(part);
  for (const auto& own : queued_)
    if (own.empty()) return;
  std::vector<Part> parts;
  for (auto& own : queued_) {
    parts.push_back(own.front());
    own.pop_front();
  }
  check(m, parts);
  launch(m, parts);
}

void Clique::check(Machine& m, const std::vector<Part>& parts) {
  const Part& one = parts.front();
  for (const Part& part : parts)
    if (part.kind != one.kind || part.count != one.count || part.type != one.type ||
        part.root != one.root || part.op != one.op)
      m.fatal("deadlock",
              part.name,
              std::string("ranks meet with different collectives: ") + one.name + " of " +
                  std::to_string(one.count) + " elements, and " + part.name + " of " +
                  std::to_string(part.count));
}

void Clique::launch(Machine& m, const std::vector<Part>& parts) {
  std::vector<std::shared_ptr<Mark>> here;
  for (const Part& part : parts) {
    m.next_task(part.stream);
    here.push_back(std::make_shared<Mark>(Mark{.clock = part.stream->clock}));
    Machine::push(part.stream, {.sets = here.back()});
  }
  CUstream_st* const s = parts.front().stream;
  for (const auto& mark : here)
    Machine::wait(s, mark);
  m.next_task(s);
  for (std::size_t r = 0; r < parts.size(); ++r) {
    const auto [from, to] = sizes(parts[r], parts.size());
    if (reads(parts, r)) m.use(s, parts[r].from, from, false, parts[r].name);
    if (writes(parts, r)) m.use(s, parts[r].to, to, true, parts[r].name);
  }
  const auto end = std::make_shared<Mark>(Mark{.clock = s->clock});
  Machine::push(s, {.run = [&m, parts] { run(m, parts); }, .sets = end});
  for (const Part& part : parts)
    Machine::wait(part.stream, end);
}

void Clique::run(Machine& m, const std::vector<Part>& parts) {
  const Part& one = parts.front();
  const std::size_t ranks = parts.size(), n = one.count * nccl_size(one.type);
  std::vector<const void*> from;
  for (const Part& part : parts)
    from.push_back(m.memory.host(part.from));
  std::vector<std::byte> result;  // what a rank gets may be what another has yet to give
  if (one.kind == Part::Kind::broadcast) {
    const auto* const root =
        static_cast<const std::byte*>(from[static_cast<std::size_t>(one.root)]);
    result.assign(root, root + n);
  } else if (one.kind == Part::Kind::all_gather) {
    for (const void* p : from)
      result.insert(
          result.end(), static_cast<const std::byte*>(p), static_cast<const std::byte*>(p) + n);
  } else {
    const std::size_t count =
        one.kind == Part::Kind::reduce_scatter ? one.count * ranks : one.count;
    result.resize(count * nccl_size(one.type));
    if (!reduce_elements(one.type, one.op, from, result.data(), count))
      m.fatal("call",
              one.name,
              std::string(one.name) + " is called with type " + std::to_string(one.type) +
                  " and operation " + std::to_string(one.op) + ", which the stand-in has not got");
  }
  const bool scatters = one.kind == Part::Kind::reduce_scatter;
  for (std::size_t r = 0; r < ranks; ++r)
    if (writes(parts, r))
      std::memcpy(m.memory.host(parts[r].to),
                  result.data() + (scatters ? r * n : 0),
                  scatters ? n : result.size());
}

}  // namespace tandem::stand_in
