// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

namespace tandem::stand_in {
namespace {

constexpr std::size_t kUnit = 512;  // a pool's sizes are multiples of it
constexpr std::size_t kPage = 4096;
/// Addresses of all GPUs together. Those of blocks that went back to the system are not used again.
constexpr std::size_t kAddresses = std::size_t{64} << 30;

#ifdef __SANITIZE_ADDRESS__
constexpr bool kSeesEachUse = true;
#else
constexpr bool kSeesEachUse = false;
#endif

constexpr std::size_t round_up(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

int from_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

/// Whether a call makes no context on the GPU that is the thread's before it.
bool is_bare(const std::string& call) {
  static const std::set<std::string> kBare{"cudaDeviceCanAccessPeer",
                                           "cudaDeviceGetAttribute",
                                           "cudaDeviceGetPCIBusId",
                                           "cudaGetDevice",
                                           "cudaGetDeviceCount",
                                           "cudaGetLastError",
                                           "cudaPeekAtLastError",
                                           "cudaSetDevice"};
  return kBare.contains(call) || call.starts_with("nccl") || call.starts_with("nvml");
}

std::string failure(const std::string& call, int nth, int code) {
  return call + ":" + std::to_string(nth) + "=" + std::to_string(code);
}

template <class F>
auto locked(F f) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  return f(m);
}

}  // namespace

std::string bus_id(int gpu) {
  char text[24];
  std::snprintf(text, sizeof text, "0000:%02X:00.0", gpu + 1);
  return text;
}

Machine& Machine::get() {
  static Machine& machine = *new Machine;
  return machine;
}

Machine::Machine() : gpus(from_environment("TANDEM_STAND_IN_GPUS", 0)) {
  void* const p =
      mmap(nullptr, kAddresses, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) std::abort();
  begin_ = fresh_ = static_cast<std::byte*>(p);
  reset();
}

void Machine::reset() {
  gpu_bytes = std::size_t{16} << 30;
  peers = Peers::all;
  unloaded = false;
  has_pools = true;
  shares_page_tables = false;
  driver = CUDART_VERSION;
  refused_peers.clear();
  std::ranges::fill(processes, std::vector<GpuProcess>{});
  streams.seed(static_cast<std::uint64_t>(from_environment("TANDEM_STAND_IN_SEED", 1)));
  never->done = true;
  never = std::make_shared<Mark>();
  for (int gpu = 0; gpu < kMostGpus; ++gpu)
    streams.error(gpu) = cudaSuccess;
  for (CUstream_st& s : streams)
    for (Task& task : s.tasks)
      if (task.after != nullptr) task.after->error = cudaSuccess;
  failures = kernel_failures = Failures("");
}

void Machine::enter(const std::string& name, int caller_gpu) {
  const auto failure = static_cast<cudaError_t>(failures.count(name));
  need(!unloaded, cudaErrorCudartUnloading);
  need(driver >= CUDART_VERSION, cudaErrorInsufficientDriver);
  if (ends_gpu(failure)) streams.error(caller_gpu) = failure;
  need(failure == cudaSuccess, failure);
  need(gpus > 0, cudaErrorNoDevice);
  if (!is_bare(name)) contexts.insert(caller_gpu);
}

void Machine::fault(int gpu, const char* why) {
  std::fprintf(stderr, "CUDA stand-in: GPU %d: %s\n", gpu, why);
  streams.error(gpu) = cudaErrorIllegalAddress;
}

void Machine::next_task(CUstream_st* stream) {
  stream->clock.join(known);
  stream->clock.note(stream->number, ++stream->given);
}

bool Machine::use(CUstream_st* stream, const Place& place) {
  next_task(stream);
  if (place.block == nullptr) return true;
  place.block->uses.note(stream->number, stream->given);
  return stream->clock.covers(place.block->allocation);
}

void Block::begin() {
  if (state == State::freed) return;
  ASAN_UNPOISON_MEMORY_REGION(data, size);
  std::memset(data, 0xCD, size);
  state = State::ready;
}

bool Block::end() {
  const bool was_ready = state == State::ready;
  // The address sanitizer sees who uses it, and a page with something in it makes each mprotect
  // slower.
  if (was_ready && kSeesEachUse) madvise(data, round_up(capacity, kPage), MADV_DONTNEED);
  if (was_ready && !kSeesEachUse) std::memset(data, 0xDD, size);
  ASAN_POISON_MEMORY_REGION(data, capacity);
  state = State::freed;
  return was_ready;
}

void Machine::run(const std::function<void()>& tasks) {
  mprotect(begin_, fresh_ - begin_, PROT_READ | PROT_WRITE);
  while (!launches.empty())
    launch_one();
  tasks();
  mprotect(begin_, fresh_ - begin_, PROT_NONE);
}

void Machine::finish(const std::function<bool()>& done) {
  if (done()) return;
  run([&] {
    while (!done() && streams.step()) {
    }
  });
  need(done(), cudaErrorTimeout);
}

void Machine::query(const std::function<bool()>& done) {
  if (!done()) run([&] { streams.pass(done); });
  need(done(), cudaErrorNotReady);
}

std::shared_ptr<Block> Machine::allocate(CUmemPoolHandle_st* pool,
                                         std::size_t n,
                                         CUstream_st* stream) {
  need(n <= gpu_bytes, cudaErrorMemoryAllocation);
  Block block{fresh_, n, round_up(n, kUnit), pool};
  const auto kept = std::ranges::find_if(pool->free, [&](const auto& b) {
    return (b->state == Block::State::freed || b->freed_on == stream) &&
           b->capacity >= block.capacity && b->capacity <= 2 * block.capacity;
  });
  if (kept != pool->free.end()) {
    block.data = (*kept)->data;
    block.capacity = (*kept)->capacity;
    pool->free.erase(kept);
  } else {
    const std::size_t step = round_up(n, kPage) + kPage;  // a poisoned page between blocks
    need(block.capacity + reserved[pool->gpu] <= gpu_bytes && fresh_ + step <= begin_ + kAddresses,
         cudaErrorMemoryAllocation);
    ASAN_POISON_MEMORY_REGION(fresh_, step);
    fresh_ += step;
    reserved[pool->gpu] += block.capacity;
    pool->reserved += block.capacity;
  }
  pool->used += block.capacity;
  next_task(stream);
  block.allocation.note(stream->number, stream->given);
  return blocks[block.data] = std::make_shared<Block>(block);
}

std::shared_ptr<Block> Machine::free(void* p, CUstream_st* stream) {
  const auto found = blocks.find(static_cast<std::byte*>(p));
  need(found != blocks.end());
  std::shared_ptr<Block> block = std::move(found->second);
  blocks.erase(found);
  next_task(stream);
  block->freed_on = stream;
  block->pool->used -= block->capacity;
  block->pool->free.push_back(block);
  return block;
}

void Machine::trim(CUmemPoolHandle_st* pool, std::size_t keep) {
  std::erase_if(pool->free, [&](const std::shared_ptr<Block>& block) {
    if (pool->reserved <= keep || block->state != Block::State::freed) return false;
    pool->reserved -= block->capacity;
    reserved[pool->gpu] -= block->capacity;
    madvise(block->data, round_up(block->capacity, kPage), MADV_DONTNEED);
    return true;
  });
}

void Machine::take(int gpu, std::size_t n) {
  need(reserved[gpu] + n <= gpu_bytes, cudaErrorMemoryAllocation);
  reserved[gpu] += n;
}

void Machine::launch_one() {
  if (launches.empty()) return;
  const auto any = launches.begin() + static_cast<std::ptrdiff_t>(streams.any(launches.size()));
  const void* const owner = any->tasks.front().owner;
  const auto first = std::ranges::find(
      launches, owner, [](const Launch& launch) { return launch.tasks.front().owner; });
  std::ranges::move(first->tasks, std::back_inserter(first->stream->tasks));
  launches.erase(first);
}

bool Machine::has_work(const void* owner) const {
  const auto is_of_owner = [=](const Task& task) { return task.owner == owner; };
  return std::ranges::any_of(launches,
                             [&](const Launch& l) { return is_of_owner(l.tasks.front()); }) ||
         std::ranges::any_of(streams, [&](const CUstream_st& s) {
           return std::ranges::any_of(s.tasks, is_of_owner);
         });
}

void Machine::drop_work(const void* owner) {
  const auto is_of_owner = [=](const Task& task) { return task.owner == owner; };
  std::erase_if(launches, [&](const Launch& l) { return is_of_owner(l.tasks.front()); });
  for (CUstream_st& s : streams)
    std::erase_if(s.tasks, is_of_owner);
}

void Machine::pin(void* p, std::size_t n) {
  need(p != nullptr && n > 0);
  const Place place = locate(p, n);
  need(place.block == nullptr && !place.pinned, cudaErrorHostMemoryAlreadyRegistered);
  pinned.emplace(place.data, n);
}

Place Machine::locate(const void* p, std::size_t n) const {
  Place place{static_cast<std::byte*>(const_cast<void*>(p)), n};
  const std::byte* const end = place.data + n;
  if (place.data >= begin_ && place.data < begin_ + kAddresses) {
    const auto next = blocks.upper_bound(place.data);
    need(next != blocks.begin());
    place.block = std::prev(next)->second;
    need(end <= place.block->data + place.block->size);
    return place;
  }
  const auto next = pinned.lower_bound(place.data + n);
  if (next == pinned.begin()) return place;
  const auto [first, size] = *std::prev(next);  // the last one that begins before the end
  place.pinned = first + size > place.data;
  need(!place.pinned || (first <= place.data && first + size >= end));
  return place;
}

bool Machine::usable(const Place& place) const {
  if (place.block != nullptr) return place.block->state == Block::State::ready;
  if (!place.pinned) return true;
  const auto next = pinned.upper_bound(place.data);
  return next != pinned.begin() &&
         std::prev(next)->first + std::prev(next)->second >= place.data + place.nbytes;
}

void set_gpus(int n) {
  locked([=](Machine& m) { m.gpus = n; });
}

void set_memory(std::size_t nbytes) {
  locked([=](Machine& m) { m.gpu_bytes = nbytes; });
}

void set_peers(Peers peers) {
  locked([=](Machine& m) { m.peers = peers; });
}

void refuse_peer(int gpu, int peer) {
  locked([=](Machine& m) { m.refused_peers.emplace(gpu, peer); });
}

void set_pools(bool there_are) {
  locked([=](Machine& m) { m.has_pools = there_are; });
}

void set_host_page_tables(bool shared) {
  locked([=](Machine& m) { m.shares_page_tables = shared; });
}

void set_driver(int version) {
  locked([=](Machine& m) { m.driver = version; });
}

std::vector<int> contexts() {
  return locked([](Machine& m) { return std::vector(m.contexts.begin(), m.contexts.end()); });
}

void set_processes(int gpu, std::vector<GpuProcess> processes) {
  locked([&](Machine& m) { m.processes[gpu] = std::move(processes); });
}

void pass(std::chrono::milliseconds time) {
  locked([=](Machine& m) { m.streams.move_on(time); });
}

void seed(std::uint64_t n) {
  locked([=](Machine& m) { m.streams.seed(n); });
}

void fail_call(const std::string& name, int nth, int code) {
  locked([&](Machine& m) { m.failures.add(failure(name, nth, code)); });
}

void fail_kernel(int nth, int code) {
  locked([=](Machine& m) { m.kernel_failures.add(failure(kKernel, nth, code)); });
}

std::map<std::string, int> call_counts() {
  return locked([](Machine& m) {
    return std::map<std::string, int>(m.failures.calls().begin(), m.failures.calls().end());
  });
}

void unload() {
  locked([](Machine& m) { m.unloaded = true; });
}

void reset() {
  locked([](Machine& m) { m.reset(); });
}

std::size_t live_objects() {
  return locked([](Machine& m) { return m.handles.size() + m.blocks.size() + m.pinned.size(); });
}

std::size_t live_bytes(int gpu) {
  return locked([=](Machine& m) {
    std::size_t n = 0;
    for (const auto& [data, block] : m.blocks)
      if (block->pool->gpu == gpu) n += block->size;
    return n;
  });
}

}  // namespace tandem::stand_in
