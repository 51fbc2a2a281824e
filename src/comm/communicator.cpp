// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/communicator.hpp"

#include <utility>

#include "tandem/core/check.hpp"

#include "comm/collective_check.hpp"

namespace tandem::comm {

Handle Communicator::start_send(const Tensor& x, int to, int tag) {
  return start({.kind = Collective::Kind::send, .input = x, .root = to, .tag = tag});
}

Handle Communicator::start_recv(const Tensor& x, int from, int tag) {
  return start({.kind = Collective::Kind::recv, .output = x, .root = from, .tag = tag});
}

Handle Communicator::start(Collective collective) {
  std::vector<Collective> one;
  one.push_back(std::move(collective));
  return start_checked(std::move(one));
}

Handle Communicator::start_coalesced(std::vector<Collective> collectives) {
  for (const Collective& c : collectives) {
    if (c.kind == Collective::Kind::send || c.kind == Collective::Kind::recv) {
      refuse(InvalidArgument(detail::concat(
          "coalesced: ", name(c.kind), " takes place between two ranks; start it by itself")));
    }
  }
  if (collectives.empty()) collectives.emplace_back();  // a barrier
  return start_checked(std::move(collectives));
}

std::unique_ptr<Communicator> Communicator::split(int color, int key) {
  if (color < -1) {
    refuse(InvalidArgument(detail::concat(
        "split: color is ", color, "; expected 0 or more, or -1 for a rank that joins no group")));
  }
  return join(color, key);
}

Handle Communicator::start_checked(std::vector<Collective> collectives) {
  try {
    for (Collective& c : collectives) {
      complete_part(c, rank(), size());
      check_part(c, rank(), size(), device());
    }
  } catch (const InvalidArgument& e) {
    refuse(e);
  }
  return launch(std::move(collectives));
}

// The others would wait for a rank that never comes.
void Communicator::refuse(const InvalidArgument& error) {
  abort(describe() + " failed: " + error.what());
  throw error;
}

}  // namespace tandem::comm
