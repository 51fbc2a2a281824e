// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The functions of CUDA's run-time: each checks what it is given, and queues a task or asks the
// machine. How they answer is CUDA's, but for what control.hpp says.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "stand_in/runtime.hpp"

namespace tandem::stand_in {
namespace {

/// The greatest priority of streams; lower numbers go first.
constexpr int kGreatestPriority = -5;

thread_local int current_gpu = 0;
thread_local cudaError_t last_error = cudaSuccess;

/// A call that needs no GPU in order.
template <class F>
cudaError_t call(const char* name, F f) {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.machine.mutex);
  try {
    r.enter(name, current_gpu);
    f(r);
    return cudaSuccess;
  } catch (cudaError_t status) {
    return last_error = status;
  }
}

/// A call that concerns a stream, an event or a pool; an error of its GPU is the answer.
template <class Handle, class F>
cudaError_t call(const char* name, Handle* handle, F f) {
  return call(name, [&](Runtime& r) {
    r.check_handle(handle);
    r.check_gpu(handle->gpu);
    f(r);
    r.check_gpu(handle->gpu);
  });
}

/// The thread's error, or the one that stays.
cudaError_t see_last_error(const char* name) {
  const cudaError_t seen = last_error;
  const cudaError_t status = call(name, [](Runtime& r) { r.check_gpu(current_gpu); });
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
  std::vector<std::byte> taken = {};  // instead of `from`, where that is pageable or no memory

  void run(Runtime& r, int gpu) const {
    if (r.machine.error(gpu) != cudaSuccess) return;
    if (!r.usable(to) || !r.usable(from))
      return r.fault(gpu, "a copy of memory that has been freed, or is not pinned any more");
    std::memcpy(to.data, taken.empty() ? from.data : taken.data(), to.nbytes);
    if (damages) to.data[to.nbytes / 2] ^= std::byte{1};
  }
};

void push_copy(Runtime& r, CUstream_st* stream, const char* name, Copy copy) {
  const bool waits = copy.to.block == nullptr && !copy.to.pinned;
  if (copy.taken.empty() && copy.from.block == nullptr && !copy.from.pinned &&
      !r.shares_page_tables)
    copy.taken.assign(copy.from.data, copy.from.data + copy.from.nbytes);
  r.machine.next_task(stream);
  r.machine.use(stream, copy.from.data, copy.from.nbytes, false, name);
  r.machine.use(stream, copy.to.data, copy.to.nbytes, true, name);
  const auto end = std::make_shared<Mark>();
  stream->tasks.push_back(
      {.run = [&r, stream, c = std::move(copy)] { c.run(r, stream->gpu); }, .sets = end});
  if (!waits) return;
  r.finish([&] { return end->done; });
  HostKnowledge::learn(stream->clock);
}

}  // namespace

void launch(CUstream_st* stream, std::function<void()> kernel) {
  call("cudaLaunchKernel", stream, [&](Runtime& r) {
    need(current_gpu == stream->gpu, cudaErrorInvalidResourceHandle);
    const int error = r.kernel_failures.count(kKernel);
    stream->tasks.push_back({.run = [&r, stream, error, run = std::move(kernel)] {
      if (r.machine.error(stream->gpu) != cudaSuccess) return;
      if (error == cudaSuccess) return run();
      r.machine.error(stream->gpu) = error;
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

const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaErrorMemoryAllocation) return "out of memory";
  return "the stand-in for CUDA says so";
}

cudaError_t cudaDriverGetVersion(int* version) {  // works without a driver
  const std::lock_guard lock(Runtime::get().machine.mutex);
  *version = Runtime::get().driver;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int gpu) {
  return call(__func__, [=](Runtime& r) {
    need(gpu >= 0 && gpu < r.machine.settings.gpus, cudaErrorInvalidDevice);
    if (attribute == cudaDevAttrMemoryPoolsSupported)
      *value = r.has_pools ? 1 : 0;
    else if (attribute == cudaDevAttrPageableMemoryAccessUsesHostPageTables)
      *value = r.shares_page_tables ? 1 : 0;
    else if (attribute == cudaDevAttrComputeCapabilityMajor)
      *value = 7;
    else if (attribute == cudaDevAttrComputeCapabilityMinor)
      *value = 5;
    else
      throw cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return call(__func__, [=](Runtime& r) {
    r.check_gpu(current_gpu);
    *total = r.machine.settings.gpu_bytes;
    *free = r.machine.free_bytes(current_gpu);
  });
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  return call(__func__, [=](Runtime& r) { *count = r.machine.settings.gpus; });
}

cudaError_t cudaSetDevice(int gpu) {
  return call(__func__, [=](Runtime& r) {
    need(gpu >= 0 && gpu < r.machine.settings.gpus, cudaErrorInvalidDevice);
    current_gpu = gpu;
    r.machine.contexts.insert(gpu);
  });
}

cudaError_t cudaGetDevice(int* gpu) {
  return call(__func__, [=](Runtime&) { *gpu = current_gpu; });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int gpu, int peer) {
  return call(__func__, [=](Runtime& r) {
    need(gpu >= 0 && gpu < r.machine.settings.gpus && peer >= 0 && peer < r.machine.settings.gpus,
         cudaErrorInvalidDevice);
    *can = gpu != peer && r.machine.settings.has_peers() ? 1 : 0;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int gpu) {
  return call(__func__, [=](Runtime& r) {
    need(gpu >= 0 && gpu < r.machine.settings.gpus, cudaErrorInvalidDevice);
    const std::string id = bus_id(gpu);
    need(size > static_cast<int>(id.size()));
    std::strcpy(text, id.c_str());
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int) {
  return call(__func__, [=](Runtime& r) {
    r.handles.insert(*stream = r.machine.streams.make(current_gpu, 0));
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call(__func__, [=](Runtime&) {
    *least = 0;
    *greatest = kGreatestPriority;
  });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int, int priority) {
  return call(__func__, [=](Runtime& r) {
    need(priority <= 0 && priority >= kGreatestPriority);  // CUDA takes the nearest that there is
    r.handles.insert(*stream = r.machine.streams.make(current_gpu, priority));
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return call(__func__, stream, [=](Runtime&) { *priority = stream->level; });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {  // its tasks still run
  return call(__func__, stream, [=](Runtime& r) {
    r.handles.erase(stream);
    stream->is_destroyed = true;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call(__func__, stream, [=](Runtime& r) {
    r.query(drained(stream));
    HostKnowledge::learn(stream->clock);
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call(__func__, stream, [=](Runtime& r) {
    r.finish(drained(stream));
    HostKnowledge::learn(stream->clock);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  return call(__func__, stream, [=](Runtime& r) {
    r.check_handle(event);
    if (event->mark == nullptr) return;
    Machine::wait(stream, event->mark);
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return call(__func__, [=](Runtime& r) {
    *event = r.make(r.events, CUevent_st{current_gpu, (flags & cudaEventDisableTiming) == 0});
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call(__func__, stream, [=](Runtime& r) {
    r.check_handle(event);
    need(event->gpu == stream->gpu, cudaErrorInvalidResourceHandle);
    r.machine.record(stream, event);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call(__func__, event, [=](Runtime& r) {
    r.query(reached(event));
    if (event->mark != nullptr) HostKnowledge::learn(event->mark->clock);
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call(__func__, event, [=](Runtime& r) {
    r.finish(reached(event));
    if (event->mark != nullptr) HostKnowledge::learn(event->mark->clock);
  });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  return call(__func__, end, [=](Runtime& r) {
    r.check_handle(begin);
    need(begin->gpu == end->gpu, cudaErrorInvalidResourceHandle);
    need(begin->is_timed && end->is_timed && begin->mark != nullptr && end->mark != nullptr,
         cudaErrorInvalidResourceHandle);
    need(begin->mark->done && end->mark->done, cudaErrorNotReady);
    *ms = std::chrono::duration<float, std::milli>(end->mark->at - begin->mark->at).count();
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call(__func__, event, [=](Runtime& r) { r.handles.erase(event); });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* props) {
  return call(__func__, [=](Runtime& r) {
    const int gpu = props->location.id;
    need(props->location.type == cudaMemLocationTypeDevice && gpu >= 0 &&
         gpu < r.machine.settings.gpus);
    need(r.has_pools, cudaErrorNotSupported);
    *pool = r.make(r.pools, CUmemPoolHandle_st{gpu});
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {  // its blocks stay until they are freed
  return call(__func__, pool, [=](Runtime& r) {
    r.handles.erase(pool);
    r.trim(pool, 0);
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attr, void*) {
  return call(__func__, pool, [=](Runtime&) {
    need(attr == cudaMemPoolAttrReleaseThreshold ||
         attr == cudaMemPoolReuseAllowInternalDependencies);
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attr, void* value) {
  return call(__func__, pool, [=](Runtime&) {
    const bool used = attr == cudaMemPoolAttrUsedMemCurrent;
    need(used || attr == cudaMemPoolAttrReservedMemCurrent);
    *static_cast<std::uint64_t*>(value) = used ? pool->used : pool->reserved;
  });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list, size_t n) {
  return call(__func__, pool, [=](Runtime& r) {
    for (const cudaMemAccessDesc* a = list; a != list + n; ++a) {
      need(a->location.id < r.machine.settings.gpus && a->flags == cudaMemAccessFlagsProtReadWrite);
      need(r.machine.settings.has_peers(), cudaErrorPeerAccessUnsupported);
      need(!r.refused_peers.contains({pool->gpu, a->location.id}), cudaErrorTooManyPeers);
    }
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
  return call(__func__, pool, [=](Runtime& r) { r.trim(pool, keep); });
}

cudaError_t cudaMallocFromPoolAsync(void** p, size_t n, cudaMemPool_t pool, cudaStream_t stream) {
  return call(__func__, stream, [=](Runtime& r) {
    r.check_handle(pool);
    need(pool->gpu == stream->gpu && n > 0);
    const auto block = r.allocate(pool, n, stream);
    *p = block->data;
    stream->tasks.push_back({.run = [&r, block] { block->begin(r.machine.memory); }});
  });
}

cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
  return call(__func__, stream, [=](Runtime& r) {
    const auto block = r.free(p, stream);
    stream->tasks.push_back({.run = [&r, block] {
      block->end(r.machine.memory);
      if (!r.handles.contains(block->pool)) r.trim(block->pool, 0);
    }});
  });
}

cudaError_t cudaMemcpyAsync(
    void* to, const void* from, size_t n, cudaMemcpyKind kind, cudaStream_t stream) {
  return call(__func__, stream, [=](Runtime& r) {
    if (n == 0) return;
    const Place target = r.locate(to, n), source = r.locate(from, n);
    const bool up = kind == cudaMemcpyHostToDevice, down = kind == cudaMemcpyDeviceToHost;
    need(up || down || kind == cudaMemcpyDeviceToDevice);
    need(down ? target.block == nullptr : target.on(stream->gpu));
    need(up ? source.block == nullptr : source.on(stream->gpu));
    push_copy(r, stream, "cudaMemcpyAsync", {target, source});
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t n, cudaStream_t stream) {
  return call(__func__, stream, [=](Runtime& r) {
    if (n == 0) return;
    const Place target = r.locate(to, n);
    need(target.on(stream->gpu));
    push_copy(r,
              stream,
              "cudaMemsetAsync",
              {target, {nullptr, 0}, false, std::vector(n, static_cast<std::byte>(value))});
  });
}

cudaError_t cudaMemcpyPeerAsync(
    void* to, int to_gpu, const void* from, int from_gpu, size_t n, cudaStream_t stream) {
  return call(__func__, stream, [=](Runtime& r) {
    if (n == 0) return;
    const Place target = r.locate(to, n), source = r.locate(from, n);
    need(target.on(to_gpu) && source.on(from_gpu));
    const Peers peers = r.machine.settings.peers;
    if (peers == Peers::hanging) stream->tasks.push_back({.after = r.machine.never});
    push_copy(r, stream, "cudaMemcpyPeerAsync", {target, source, peers == Peers::wrong_bytes});
  });
}

cudaError_t cudaMallocHost(void** p, size_t n) {
  return call(__func__, [=](Runtime& r) {
    *p = std::malloc(n);
    r.pin(*p, n);
  });
}

cudaError_t cudaFreeHost(void* p) {
  return call(__func__, [=](Runtime& r) {
    need(r.machine.memory.unpin(p));
    std::free(p);
  });
}

cudaError_t cudaHostRegister(void* p, size_t n, unsigned int) {
  return call(__func__, [=](Runtime& r) { r.pin(p, n); });
}

cudaError_t cudaHostUnregister(void* p) {
  return call(__func__, [=](Runtime& r) {
    need(r.machine.memory.unpin(p), cudaErrorHostMemoryNotRegistered);
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
  return call(__func__, [=](Runtime& r) {
    const Place place = r.locate(p, 1);
    *attributes = {};
    attributes->type = place.block != nullptr ? cudaMemoryTypeDevice
                       : place.pinned         ? cudaMemoryTypeHost
                                              : cudaMemoryTypeUnregistered;
    attributes->device = place.block != nullptr ? place.block->pool->gpu : current_gpu;
  });
}

}  // extern "C"
