// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/machine/host_knowledge.hpp"

#include <cstdint>
#include <new>
#include <utility>

#include <pthread.h>

namespace tandem::stand_in {
namespace {

// A plain pointer, for which nothing runs at a thread's end: locks are taken after all destructors.
constinit thread_local std::shared_ptr<const Clock>* known_here = nullptr;
constinit std::shared_ptr<const Clock>* known_to_all = nullptr;

std::shared_ptr<const Clock>& known() {
  if (known_to_all != nullptr) return *known_to_all;
  if (known_here == nullptr) known_here = new std::shared_ptr<const Clock>;
  return *known_here;
}

}  // namespace

// A process is forked while other threads are anywhere, and has none of them: what they were at is
// left as it is, and all places are new.
HostKnowledge::HostKnowledge() {
  pthread_atfork(nullptr, nullptr, [] { new (&get().places_) std::array<Place, 4096>; });
}

HostKnowledge& HostKnowledge::get() {
  static HostKnowledge& one = *new HostKnowledge;
  return one;
}

void HostKnowledge::share() {
  known_to_all = new std::shared_ptr<const Clock>;
}

std::shared_ptr<const Clock> HostKnowledge::own() {
  return known_here == nullptr && known_to_all == nullptr ? nullptr : known();
}

void HostKnowledge::learn(const Clock& done) {
  std::shared_ptr<const Clock>& own = known();
  if (own != nullptr && own->covers(done)) return;
  const auto more = std::make_shared<Clock>(done);
  if (own != nullptr) more->join(*own);
  own = more;
}

void HostKnowledge::learn(const std::shared_ptr<const Clock>& done) {
  std::shared_ptr<const Clock>& own = known();
  if (done == nullptr || own == done) return;
  if (own == nullptr || done->covers(*own))
    own = done;  // the same object, so that the next comparison is one of pointers
  else
    learn(*done);
}

HostKnowledge::Place& HostKnowledge::place(const void* lock) {
  const auto bits = reinterpret_cast<std::uintptr_t>(lock) >> 3;
  return places_[(bits ^ (bits >> 12)) % places_.size()];
}

void HostKnowledge::leave(const void* lock) {
  if (known_here == nullptr || *known_here == nullptr) return;
  Place& p = place(lock);
  if (p.quick.load(std::memory_order_relaxed) == known_here->get()) return;
  while (p.busy.test_and_set(std::memory_order_acquire)) {
  }
  const auto before = std::exchange(p.left, *known_here);
  p.quick.store(p.left.get(), std::memory_order_relaxed);
  p.busy.clear(std::memory_order_release);
}

void HostKnowledge::enter(const void* lock) {
  Place& p = place(lock);
  const Clock* const quick = p.quick.load(std::memory_order_relaxed);
  if (quick == nullptr || (known_here != nullptr && quick == known_here->get())) return;
  while (p.busy.test_and_set(std::memory_order_acquire)) {
  }
  const auto left = p.left;
  p.busy.clear(std::memory_order_release);
  learn(left);
}

}  // namespace tandem::stand_in
