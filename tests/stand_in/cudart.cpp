// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The functions of CUDA's run-time: each checks what it is given, and queues a task or asks the
// machine. How they answer is CUDA's, but for what control.hpp says.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "stand_in/machine.hpp"

namespace tandem::stand_in {
namespace {

/// The greatest priority of streams; lower numbers go first.
constexpr int kGreatestPriority = -5;

thread_local int current_gpu = 0;
thread_local cudaError_t last_error = cudaSuccess;

/// A call that needs no GPU in order.
template <class F>
cudaError_t call(const char* name, F f) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  try {
    m.enter(name, current_gpu);
    f(m);
    return cudaSuccess;
  } catch (cudaError_t status) {
    return last_error = status;
  }
}

/// A call that concerns a stream, an event or a pool; an error of its GPU is the answer.
template <class Handle, class F>
cudaError_t call(const char* name, Handle* handle, F f) {
  return call(name, [&](Machine& m) {
    m.check_handle(handle);
    m.check_gpu(handle->gpu);
    f(m);
    m.check_gpu(handle->gpu);
  });
}

/// The thread's error, or the one that stays.
cudaError_t see_last_error(const char* name) {
  const cudaError_t seen = last_error;
  const cudaError_t status = call(name, [](Machine& m) { m.check_gpu(current_gpu); });
  last_error = seen;
  return status == cudaSuccess || status == cudaErrorNoDevice ? seen : status;
}

auto drained(CUstream_st* stream) {
  return [stream] { return stream->tasks.empty(); };
}

auto reached(CUevent_st* event) {
  return [event] { return event->mark == nullptr || event->mark->done; };
}

struct Copy {
  Place to, from;
  bool damages = false;
  bool is_in_order = true;            // after the allocations
  std::vector<std::byte> taken = {};  // instead of `from`, where that is pageable or no memory

  void run(Machine& m, int gpu) const {
    if (m.streams.error(gpu) != cudaSuccess) return;
    if (!is_in_order || !m.usable(to) || !m.usable(from))
      return m.fault(gpu,
                     "a copy of memory that nothing puts between its allocation and its free, or "
                     "that is not pinned now");
    std::memcpy(to.data, taken.empty() ? from.data : taken.data(), to.nbytes);
    if (damages) to.data[to.nbytes / 2] ^= std::byte{1};
  }
};

void push_copy(Machine& m, CUstream_st* stream, Copy copy) {
  const bool waits = copy.to.block == nullptr && !copy.to.pinned;
  if (copy.from.block == nullptr && !copy.from.pinned && !m.shares_page_tables)
    copy.taken.assign(copy.from.data, copy.from.data + copy.from.nbytes);
  for (const Place* place : {&copy.to, &copy.from})
    copy.is_in_order &= m.use(stream, *place);
  const auto end = std::make_shared<Mark>();
  stream->tasks.push_back(
      {.run = [&m, stream, c = std::move(copy)] { c.run(m, stream->gpu); }, .sets = end});
  if (!waits) return;
  m.finish([&] { return end->done; });
  m.reach(stream->clock);
}

}  // namespace

void launch(CUstream_st* stream, std::function<void()> kernel) {
  call("cudaLaunchKernel", stream, [&](Machine& m) {
    need(current_gpu == stream->gpu, cudaErrorInvalidResourceHandle);
    const int error = m.kernel_failures.count(kKernel);
    stream->tasks.push_back({.run = [&m, stream, error, run = std::move(kernel)] {
      if (m.streams.error(stream->gpu) != cudaSuccess) return;
      if (error == cudaSuccess) return run();
      m.streams.error(stream->gpu) = error;
    }});
  });
}

}  // namespace tandem::stand_in

using namespace tandem::stand_in;

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t error = see_last_error(__func__);
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  return see_last_error(__func__);
}

const char* cudaGetErrorName(cudaError_t error) {
  if (error == cudaErrorMemoryAllocation) return "cudaErrorMemoryAllocation";
  if (error == cudaErrorInsufficientDriver) return "cudaErrorInsufficientDriver";
  if (error == cudaErrorNoKernelImageForDevice) return "cudaErrorNoKernelImageForDevice";
  if (error == cudaErrorIllegalAddress) return "cudaErrorIllegalAddress";
  if (error == cudaErrorUnknown) return "cudaErrorUnknown";
  return "an error that the stand-in has no name for";
}

const char* cudaGetErrorString(cudaError_t) {
  return "the stand-in for CUDA says so";
}

cudaError_t cudaDriverGetVersion(int* version) {  // works without a driver
  const std::lock_guard lock(Machine::get().mutex);
  *version = Machine::get().driver;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int gpu) {
  return call(__func__, [=](Machine& m) {
    need(gpu >= 0 && gpu < m.gpus, cudaErrorInvalidDevice);
    if (attribute == cudaDevAttrMemoryPoolsSupported)
      *value = m.has_pools ? 1 : 0;
    else if (attribute == cudaDevAttrPageableMemoryAccessUsesHostPageTables)
      *value = m.shares_page_tables ? 1 : 0;
    else if (attribute == cudaDevAttrComputeCapabilityMajor)
      *value = 7;
    else if (attribute == cudaDevAttrComputeCapabilityMinor)
      *value = 5;
    else
      throw cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return call(__func__, [=](Machine& m) {
    m.check_gpu(current_gpu);
    *total = m.gpu_bytes;
    *free = m.gpu_bytes - m.reserved[current_gpu];
  });
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  return call(__func__, [=](Machine& m) { *count = m.gpus; });
}

cudaError_t cudaSetDevice(int gpu) {
  return call(__func__, [=](Machine& m) {
    need(gpu >= 0 && gpu < m.gpus, cudaErrorInvalidDevice);
    current_gpu = gpu;
    m.contexts.insert(gpu);
  });
}

cudaError_t cudaGetDevice(int* gpu) {
  return call(__func__, [=](Machine&) { *gpu = current_gpu; });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int gpu, int peer) {
  return call(__func__, [=](Machine& m) {
    need(gpu >= 0 && gpu < m.gpus && peer >= 0 && peer < m.gpus, cudaErrorInvalidDevice);
    *can = gpu != peer && m.peers != Peers::none ? 1 : 0;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int gpu) {
  return call(__func__, [=](Machine& m) {
    need(gpu >= 0 && gpu < m.gpus, cudaErrorInvalidDevice);
    const std::string id = bus_id(gpu);
    need(size > static_cast<int>(id.size()));
    std::strcpy(text, id.c_str());
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int) {
  return call(__func__,
              [=](Machine& m) { m.handles.insert(*stream = m.streams.make(current_gpu, 0)); });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call(__func__, [=](Machine&) {
    *least = 0;
    *greatest = kGreatestPriority;
  });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int, int priority) {
  return call(__func__, [=](Machine& m) {
    need(priority <= 0 && priority >= kGreatestPriority);  // CUDA takes the nearest that there is
    m.handles.insert(*stream = m.streams.make(current_gpu, priority));
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return call(__func__, stream, [=](Machine&) { *priority = stream->level; });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {  // its tasks still run
  return call(__func__, stream, [=](Machine& m) { m.handles.erase(stream); });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call(__func__, stream, [=](Machine& m) {
    m.query(drained(stream));
    m.reach(stream->clock);
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call(__func__, stream, [=](Machine& m) {
    m.finish(drained(stream));
    m.reach(stream->clock);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  return call(__func__, stream, [=](Machine& m) {
    m.check_handle(event);
    if (event->mark == nullptr) return;
    stream->tasks.push_back({.after = event->mark});
    stream->clock.join(event->mark->clock);
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return call(__func__, [=](Machine& m) {
    *event = m.make(m.events, CUevent_st{current_gpu, (flags & cudaEventDisableTiming) == 0});
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call(__func__, stream, [=](Machine& m) {
    m.check_handle(event);
    need(event->gpu == stream->gpu, cudaErrorInvalidResourceHandle);
    m.next_task(stream);
    event->mark = std::make_shared<Mark>(Mark{.clock = stream->clock});
    stream->tasks.push_back({.sets = event->mark});
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call(__func__, event, [=](Machine& m) {
    m.query(reached(event));
    if (event->mark != nullptr) m.reach(event->mark->clock);
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call(__func__, event, [=](Machine& m) {
    m.finish(reached(event));
    if (event->mark != nullptr) m.reach(event->mark->clock);
  });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  return call(__func__, end, [=](Machine& m) {
    m.check_handle(begin);
    need(begin->gpu == end->gpu, cudaErrorInvalidResourceHandle);
    need(begin->is_timed && end->is_timed && begin->mark != nullptr && end->mark != nullptr,
         cudaErrorInvalidResourceHandle);
    need(begin->mark->done && end->mark->done, cudaErrorNotReady);
    *ms = std::chrono::duration<float, std::milli>(end->mark->at - begin->mark->at).count();
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call(__func__, event, [=](Machine& m) { m.handles.erase(event); });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* props) {
  return call(__func__, [=](Machine& m) {
    const int gpu = props->location.id;
    need(props->location.type == cudaMemLocationTypeDevice && gpu >= 0 && gpu < m.gpus);
    need(m.has_pools, cudaErrorNotSupported);
    *pool = m.make(m.pools, CUmemPoolHandle_st{gpu});
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {  // its blocks stay until they are freed
  return call(__func__, pool, [=](Machine& m) {
    m.handles.erase(pool);
    m.trim(pool, 0);
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attr, void*) {
  return call(__func__, pool, [=](Machine&) {
    need(attr == cudaMemPoolAttrReleaseThreshold ||
         attr == cudaMemPoolReuseAllowInternalDependencies);
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attr, void* value) {
  return call(__func__, pool, [=](Machine&) {
    const bool used = attr == cudaMemPoolAttrUsedMemCurrent;
    need(used || attr == cudaMemPoolAttrReservedMemCurrent);
    *static_cast<std::uint64_t*>(value) = used ? pool->used : pool->reserved;
  });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list, size_t n) {
  return call(__func__, pool, [=](Machine& m) {
    for (const cudaMemAccessDesc* a = list; a != list + n; ++a) {
      need(a->location.id < m.gpus && a->flags == cudaMemAccessFlagsProtReadWrite);
      need(m.peers != Peers::none, cudaErrorPeerAccessUnsupported);
      need(!m.refused_peers.contains({pool->gpu, a->location.id}), cudaErrorTooManyPeers);
    }
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
  return call(__func__, pool, [=](Machine& m) { m.trim(pool, keep); });
}

cudaError_t cudaMallocFromPoolAsync(void** p, size_t n, cudaMemPool_t pool, cudaStream_t stream) {
  return call(__func__, stream, [=](Machine& m) {
    m.check_handle(pool);
    need(pool->gpu == stream->gpu && n > 0);
    const auto block = m.allocate(pool, n, stream);
    *p = block->data;
    stream->tasks.push_back({.run = [block] { block->begin(); }});
  });
}

cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
  return call(__func__, stream, [=](Machine& m) {
    const auto block = m.free(p, stream);
    const bool is_in_order =
        stream->clock.covers(block->allocation) && stream->clock.covers(block->uses);
    const auto end = [&m, stream, block, is_in_order] {
      if (!block->end() || !is_in_order)
        m.fault(stream->gpu, "a free of memory that nothing puts after its last use");
      if (!m.handles.contains(block->pool)) m.trim(block->pool, 0);
    };
    stream->tasks.push_back({.run = end});
  });
}

cudaError_t cudaMemcpyAsync(
    void* to, const void* from, size_t n, cudaMemcpyKind kind, cudaStream_t stream) {
  return call(__func__, stream, [=](Machine& m) {
    if (n == 0) return;
    const Place target = m.locate(to, n), source = m.locate(from, n);
    const bool up = kind == cudaMemcpyHostToDevice, down = kind == cudaMemcpyDeviceToHost;
    need(up || down || kind == cudaMemcpyDeviceToDevice);
    need(down ? target.block == nullptr : target.on(stream->gpu));
    need(up ? source.block == nullptr : source.on(stream->gpu));
    push_copy(m, stream, {target, source});
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t n, cudaStream_t stream) {
  return call(__func__, stream, [=](Machine& m) {
    if (n == 0) return;
    const Place target = m.locate(to, n);
    need(target.on(stream->gpu));
    push_copy(m, stream, {target, target, false, true, {n, static_cast<std::byte>(value)}});
  });
}

cudaError_t cudaMemcpyPeerAsync(
    void* to, int to_gpu, const void* from, int from_gpu, size_t n, cudaStream_t stream) {
  return call(__func__, stream, [=](Machine& m) {
    if (n == 0) return;
    const Place target = m.locate(to, n), source = m.locate(from, n);
    need(target.on(to_gpu) && source.on(from_gpu));
    if (m.peers == Peers::hanging) stream->tasks.push_back({.after = m.never});
    push_copy(m, stream, {target, source, m.peers == Peers::wrong_bytes});
  });
}

cudaError_t cudaMallocHost(void** p, size_t n) {
  return call(__func__, [=](Machine& m) {
    *p = std::malloc(n);
    m.pin(*p, n);
  });
}

cudaError_t cudaFreeHost(void* p) {
  return call(__func__, [=](Machine& m) {
    need(m.unpin(p));
    std::free(p);
  });
}

cudaError_t cudaHostRegister(void* p, size_t n, unsigned int) {
  return call(__func__, [=](Machine& m) { m.pin(p, n); });
}

cudaError_t cudaHostUnregister(void* p) {
  return call(__func__, [=](Machine& m) { need(m.unpin(p), cudaErrorHostMemoryNotRegistered); });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
  return call(__func__, [=](Machine& m) {
    const Place place = m.locate(p, 1);
    *attributes = {};
    attributes->type = place.block != nullptr ? cudaMemoryTypeDevice
                       : place.pinned         ? cudaMemoryTypeHost
                                              : cudaMemoryTypeUnregistered;
    attributes->device = place.block != nullptr ? place.block->pool->gpu : current_gpu;
  });
}

}  // extern "C"
