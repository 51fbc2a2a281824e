// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/machine/machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include <unistd.h>

namespace tandem::stand_in {
namespace {

constexpr int kIllegalAddress = 700;  // CUDA's number

Machine* made() {
  try {
    return new Machine(read_settings());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tandem.stand_in: %s\n", e.what());
    std::fflush(stderr);
    _exit(2);
  }
}

std::size_t told(std::size_t nbytes) {
  return nbytes == kUntold ? 0 : nbytes;
}

std::string place(const CUstream_st& s) {
  return "stream " + std::to_string(s.number) + " of GPU " + std::to_string(s.gpu);
}

/// What the stream is given from now on is after what the calling thread knows to be done.
void follow_host(CUstream_st* s) {
  const auto host = HostKnowledge::own();
  if (host == nullptr || host == s->host) return;
  s->clock.join(*host);
  s->host = host;
}

}  // namespace

Machine& Machine::get() {
  static Machine& one = *made();
  return one;
}

Machine::Machine(const Settings& s)
    : settings(s), reports(s.reports), failures(s.failures), streams(s.seed) {
  for (int gpu = 0; gpu < s.gpus; ++gpu)
    make_stream(gpu, 0);  // default streams are the first ones
}

void Machine::fatal(const std::string& kind, const std::string& name, const std::string& why) {
  reports.add(kind, name, why);
  std::fflush(nullptr);
  std::abort();
}

CUstream_st* Machine::stream(CUstream_st* handle, int gpu) {
  if (reinterpret_cast<std::uintptr_t>(handle) > 2) return handle;
  return has_default_streams ? &streams[static_cast<std::size_t>(gpu)] : nullptr;
}

void Machine::next_task(CUstream_st* s) {
  follow_host(s);
  s->clock.note(s->number, ++s->given);
}

void Machine::wait(CUstream_st* s, const std::shared_ptr<Mark>& mark) {
  if (!mark->done || mark->error != 0 || !s->tasks.empty()) push(s, {.after = mark});
  s->clock.join(mark->clock);
}

void Machine::record(CUstream_st* s, CUevent_st* event) {
  next_task(s);
  event->mark = std::make_shared<Mark>(Mark{.clock = s->clock});
  push(s, {.sets = event->mark});
}

bool Machine::run(const std::function<bool()>& done) {
  return memory.open_while([&] {
    while (!done())
      if (!streams.step()) return false;
    return true;
  });
}

void Machine::finish(const std::function<bool()>& done, const std::string& what) {
  const auto deadline = std::chrono::steady_clock::now() + settings.deadline;
  while (!run(done)) {
    if (std::chrono::steady_clock::now() > deadline)
      fatal("deadlock", what, "the host waits for ever for " + what);
    mutex.rest();  // another thread has a kernel on the stream, or is to come to a collective
  }
}

void Machine::drain(CUstream_st* s) {
  if (!Streams::is_idle(*s)) finish([s] { return Streams::is_idle(*s); }, place(*s));
  HostKnowledge::learn(s->clock);
}

void Machine::drain_gpu(int gpu) {
  for (CUstream_st& s : streams)
    if (s.gpu == gpu && s.given > 0) drain(&s);
}

bool Machine::query(const std::function<bool()>& done) {
  return done() || memory.open_while([&] {
    streams.pass(done);
    return done();
  });
}

void Machine::begin_kernel(CUstream_st* s) {
  if (!s->tasks.empty() || s->kernel != std::thread::id())
    finish([s] { return Streams::is_idle(*s); }, place(*s));
  next_task(s);
  s->kernel = std::this_thread::get_id();
}

std::size_t Machine::free_bytes(int gpu) const {
  std::size_t taken = used(gpu);
  for (const auto& [process, nbytes] : others(gpu))
    taken += told(nbytes);
  return settings.gpu_bytes - std::min(taken, settings.gpu_bytes);  // a block's end is rounded up
}

bool Machine::occupy(int gpu, unsigned process, std::size_t nbytes) {
  auto& all = others_[static_cast<std::size_t>(gpu)];
  const auto had = all.find(process);
  if (told(nbytes) > free_bytes(gpu) + (had != all.end() ? told(had->second) : 0)) return false;
  if (nbytes == 0)
    all.erase(process);
  else
    all[process] = nbytes;
  return true;
}

bool Machine::claim(int gpu, std::size_t nbytes) {
  if (nbytes > free_bytes(gpu)) return false;
  used_[static_cast<std::size_t>(gpu)] += nbytes;
  return true;
}

void Machine::put(const Memory::Block& block) {
  memory.put(block);
  uses_.add(block.data, block.size);
}

Memory::Block Machine::take(const void* p) {
  const Memory::Block block = memory.forget(p);
  uses_.remove(block.data, block.size);
  return block;
}

void Machine::map(const Memory::Block& block) {
  put(block);
  memory.fill(block);
}

// Unlike cudaFree it is no wait of the host: it learns nothing of what is done.
void Machine::unmap(const void* p) {
  const Memory::Block* const block = memory.find(p);
  for (CUstream_st& s : streams)
    if (s.gpu == block->gpu && !Streams::is_idle(s))
      finish([&s] { return Streams::is_idle(s); }, place(s));
  memory.clear(take(p));
}

void* Machine::allocate(int gpu, std::size_t nbytes) {
  if (nbytes > free_bytes(gpu)) return nullptr;
  const Memory::Block* const block = memory.allocate(gpu, nbytes);
  if (block == nullptr) return nullptr;
  used_[static_cast<std::size_t>(gpu)] += block->size;
  map(*block);
  return block->data;
}

const Memory::Block* Machine::block_at(const void* p) const {
  const Memory::Block* const block = memory.find(p);
  return block != nullptr && block->data == p ? block : nullptr;
}

Memory::Block Machine::give_up(const Memory::Block& block) {
  unclaim(block.gpu, block.size);
  return take(block.data);
}

bool Machine::free(void* p) {
  const Memory::Block* const block = block_at(p);
  if (block == nullptr) return false;
  drain_gpu(block->gpu);
  memory.give_back(give_up(*block));
  return true;
}

void* Machine::allocate(CUstream_st* s, std::size_t nbytes, const char* what) {
  void* const p = allocate(s->gpu, nbytes);
  next_task(s);
  if (p != nullptr) use(s, p, nbytes, true, what);
  return p;
}

bool Machine::free(CUstream_st* s, void* p, const char* what) {
  const Memory::Block* const block = block_at(p);
  if (block == nullptr) return false;
  next_task(s);
  use(s, p, block->size, true, what);
  push(s, {.run = [this, taken = give_up(*block)] { memory.give_back(taken); }});
  return true;
}

bool Machine::use(
    CUstream_st* s, const void* p, std::size_t nbytes, bool writes, const char* what) {
  if (nbytes == 0 || !memory.holds(p)) return true;
  const Memory::Block* const block = memory.find(p);
  if (!memory.has(p, nbytes)) {
    error(s->gpu) = kIllegalAddress;
    reports.add("memory",
                what,
                std::string("'") + what + "' on " + place(*s) +
                    (block == nullptr ? " uses memory that is not allocated, or has been freed"
                                      : " uses memory past the end of its block"));
    return false;
  }
  // An op's outputs are allocated once it has begun here. On a GPU its kernel begins after that.
  follow_host(s);
  const Use use{what, s->number, s->given};
  const auto conflicts =
      writes ? uses_.write(p, nbytes, use, s->clock) : uses_.read(p, nbytes, use, s->clock);
  for (const Conflict& c : conflicts)
    report_race(s, writes, what, c);
  if (races_are_faults && !conflicts.empty())
    push(s, {.run = [this, gpu = s->gpu] { error(gpu) = kIllegalAddress; }});
  return true;
}

std::string Machine::owner(const void* p) const {
  const Memory::Block* const block = memory.find(p);
  if (block == nullptr) return "a GPU's memory that is not allocated";
  const Use writer = uses_.writer(p);
  return "memory of GPU " + std::to_string(block->gpu) +
         (writer.what == nullptr ? ", which nobody has written"
                                 : std::string(", written last by '") + writer.what + "'");
}

void Machine::report_race(const CUstream_st* s,
                          bool writes,
                          const char* what,
                          const Conflict& conflict) {
  const auto& [earlier, earlier_writes] = conflict;
  reports.add("race",
              what,
              std::string(writes ? "write by '" : "read by '") + what + "' on " + place(*s) +
                  " without a wait for the " + (earlier_writes ? "write by '" : "read by '") +
                  earlier.what + "' on " + place(streams[earlier.stream]));
}

}  // namespace tandem::stand_in
