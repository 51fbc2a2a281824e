// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/runtime.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tandem::stand_in {
namespace {

constexpr std::size_t kUnit = 512;  // a pool's sizes are multiples of it
constexpr std::size_t kPage = 4096;
constexpr std::size_t kLinkBytes = std::size_t{1} << 20;  // of a communicator of NCCL's

constexpr std::size_t round_up(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// Whether a call makes no context on the GPU that is the thread's before it.
bool is_bare(const std::string& call) {
  // An array of literals: a thread may call while the program ends.
  constexpr auto kBare = std::to_array<std::string_view>({"cudaDeviceCanAccessPeer",
                                                          "cudaDeviceGetAttribute",
                                                          "cudaDeviceGetPCIBusId",
                                                          "cudaGetDevice",
                                                          "cudaGetDeviceCount",
                                                          "cudaGetLastError",
                                                          "cudaPeekAtLastError",
                                                          "cudaSetDevice"});
  return std::ranges::find(kBare, call) != kBare.end();
}

std::string failure(const std::string& call, int nth, int code) {
  return call + ":" + std::to_string(nth) + "=" + std::to_string(code);
}

template <class F>
auto locked(F f) {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.machine.mutex);
  return f(r);
}

}  // namespace

std::string bus_id(int gpu) {
  char text[24];
  std::snprintf(text, sizeof text, "0000:%02X:00.0", gpu + 1);
  return text;
}

Runtime& Runtime::get() {
  static Runtime& runtime = *new Runtime;
  return runtime;
}

Runtime::Runtime() {
  machine.memory.map_once();
  const bool told = std::getenv("TANDEM_STAND_IN_GPUS") != nullptr;
  machine.settings.install(told ? machine.settings.installed : 0);
  machine.lists_itself = false;  // a test says what it has
  machine.has_default_streams = false;
  machine.races_are_faults = true;
  machine.settings.communicator_bytes = kLinkBytes;
  HostKnowledge::share();  // nobody sees the locks by which threads tell each other
  reset();
}

void Runtime::reset() {
  machine.settings.gpu_bytes = Settings{}.gpu_bytes;
  machine.settings.peers = Peers::all;
  unloaded = false;
  has_pools = true;
  shares_page_tables = false;
  driver = CUDART_VERSION;
  refused_peers.clear();
  machine.streams.seed(machine.settings.seed);
  machine.never->done = true;
  machine.never = std::make_shared<Mark>();
  for (int gpu = 0; gpu < kMostGpus; ++gpu) {
    machine.error(gpu) = cudaSuccess;
    machine.forget_others(gpu);
  }
  for (CUstream_st& s : machine.streams)
    for (Task& task : s.tasks)
      if (task.after != nullptr) task.after->error = cudaSuccess;
  machine.failures = kernel_failures = Failures("");
}

void Runtime::enter(const std::string& name, int caller_gpu) {
  const auto failure = static_cast<cudaError_t>(machine.failures.count(name));
  need(!unloaded, cudaErrorCudartUnloading);
  need(driver >= CUDART_VERSION, cudaErrorInsufficientDriver);
  if (ends_gpu(failure)) machine.error(caller_gpu) = failure;
  need(failure == cudaSuccess, failure);
  need(machine.settings.gpus > 0, cudaErrorNoDevice);
  if (!is_bare(name)) machine.contexts.insert(caller_gpu);
}

void Runtime::fault(int gpu, const char* why) {
  std::fprintf(stderr, "CUDA stand-in: GPU %d: %s\n", gpu, why);
  machine.error(gpu) = cudaErrorIllegalAddress;
}

void Block::begin(Memory& memory) {
  if (state == State::freed) return;
  memory.fill(*this);
  state = State::ready;
}

void Block::end(Memory& memory) {
  if (state == State::ready) memory.clear(*this);
  state = State::freed;
}

void Runtime::finish(const std::function<bool()>& done) {
  need(machine.run(done), cudaErrorTimeout);
}

void Runtime::query(const std::function<bool()>& done) {
  need(machine.query(done), cudaErrorNotReady);
}

std::shared_ptr<Block> Runtime::allocate(CUmemPoolHandle_st* pool,
                                         std::size_t n,
                                         CUstream_st* stream) {
  need(n <= machine.settings.gpu_bytes, cudaErrorMemoryAllocation);
  Block block{{nullptr, n, pool->gpu}, round_up(n, kUnit), pool};
  const auto kept = std::ranges::find_if(pool->free, [&](const auto& b) {
    return (b->state == Block::State::freed || b->freed_on == stream) &&
           b->capacity >= block.capacity && b->capacity <= 2 * block.capacity;
  });
  if (kept != pool->free.end()) {
    block.data = (*kept)->data;
    block.capacity = (*kept)->capacity;
    pool->free.erase(kept);
  } else {
    need(machine.claim(pool->gpu, block.capacity), cudaErrorMemoryAllocation);
    block.data = machine.memory.reserve(round_up(n, kPage));
    need(block.data != nullptr, cudaErrorMemoryAllocation);
    pool->reserved += block.capacity;
  }
  pool->used += block.capacity;
  machine.put(block);
  machine.next_task(stream);
  machine.use(stream, block.data, n, true, "cudaMallocFromPoolAsync");
  return blocks[block.data] = std::make_shared<Block>(block);
}

std::shared_ptr<Block> Runtime::free(void* p, CUstream_st* stream) {
  const auto found = blocks.find(static_cast<std::byte*>(p));
  need(found != blocks.end());
  std::shared_ptr<Block> block = std::move(found->second);
  blocks.erase(found);
  machine.next_task(stream);
  machine.use(stream, p, block->size, true, "cudaFreeAsync");
  machine.take(p);
  block->freed_on = stream;
  block->pool->used -= block->capacity;
  block->pool->free.push_back(block);
  return block;
}

void Runtime::trim(CUmemPoolHandle_st* pool, std::size_t keep) {
  std::erase_if(pool->free, [&](const std::shared_ptr<Block>& block) {
    if (pool->reserved <= keep || block->state != Block::State::freed) return false;
    pool->reserved -= block->capacity;
    machine.unclaim(pool->gpu, block->capacity);
    machine.memory.give_back_addresses(block->data, round_up(block->capacity, kPage));
    return true;
  });
}

void Runtime::pin(void* p, std::size_t n) {
  need(p != nullptr && n > 0);
  const Place place = locate(p, n);
  need(place.block == nullptr && !place.pinned, cudaErrorHostMemoryAlreadyRegistered);
  machine.memory.pin(p, n);
}

Place Runtime::locate(const void* p, std::size_t n) const {
  Place place{static_cast<std::byte*>(const_cast<void*>(p)), n};
  const Memory& memory = machine.memory;
  if (memory.holds(p)) {
    const Memory::Block* const block = memory.find(p);
    need(block != nullptr && place.data + n <= block->data + block->size);
    place.block = blocks.at(block->data);
    return place;
  }
  const Memory::Pinned pinned = memory.pinned(p, n);
  need(pinned != Memory::Pinned::partly);
  place.pinned = pinned == Memory::Pinned::yes;
  return place;
}

bool Runtime::usable(const Place& place) const {
  if (place.block != nullptr) return place.block->state == Block::State::ready;
  return !place.pinned || machine.memory.pinned(place.data, place.nbytes) == Memory::Pinned::yes;
}

void set_gpus(int n) {
  locked([=](Runtime& r) { r.machine.settings.install(n); });
}

void set_memory(std::size_t nbytes) {
  locked([=](Runtime& r) { r.machine.settings.gpu_bytes = nbytes; });
}

void set_peers(Peers peers) {
  locked([=](Runtime& r) { r.machine.settings.peers = peers; });
}

void refuse_peer(int gpu, int peer) {
  locked([=](Runtime& r) { r.refused_peers.emplace(gpu, peer); });
}

void set_pools(bool there_are) {
  locked([=](Runtime& r) { r.has_pools = there_are; });
}

void set_host_page_tables(bool shared) {
  locked([=](Runtime& r) { r.shares_page_tables = shared; });
}

void set_driver(int version) {
  locked([=](Runtime& r) { r.driver = version; });
}

std::vector<int> contexts() {
  return locked(
      [](Runtime& r) { return std::vector(r.machine.contexts.begin(), r.machine.contexts.end()); });
}

void set_processes(int gpu, std::vector<GpuProcess> processes) {
  locked([&](Runtime& r) {
    r.machine.forget_others(gpu);
    for (const GpuProcess& p : processes)
      r.machine.occupy(gpu, p.pid, p.nbytes);
  });
}

void pass(std::chrono::milliseconds time) {
  locked([=](Runtime& r) { r.machine.streams.move_on(time); });
}

void seed(std::uint64_t n) {
  locked([=](Runtime& r) { r.machine.streams.seed(n); });
}

void fail_call(const std::string& name, int nth, int code) {
  locked([&](Runtime& r) { r.machine.failures.add(failure(name, nth, code)); });
}

void fail_kernel(int nth, int code) {
  locked([=](Runtime& r) { r.kernel_failures.add(failure(kKernel, nth, code)); });
}

std::map<std::string, int> call_counts() {
  return locked([](Runtime& r) {
    return std::map<std::string, int>(r.machine.failures.calls().begin(),
                                      r.machine.failures.calls().end());
  });
}

void unload() {
  locked([](Runtime& r) { r.unloaded = true; });
}

void reset() {
  locked([](Runtime& r) { r.reset(); });
}

std::size_t live_objects() {
  return locked([](Runtime& r) {
    return r.handles.size() + r.blocks.size() + r.machine.memory.pins() +
           static_cast<std::size_t>(r.machine.communicators);
  });
}

std::size_t live_bytes(int gpu) {
  return locked([=](Runtime& r) {
    std::size_t n = 0;
    for (const auto& [data, block] : r.blocks)
      if (block->pool->gpu == gpu) n += block->size;
    return n;
  });
}

}  // namespace tandem::stand_in
