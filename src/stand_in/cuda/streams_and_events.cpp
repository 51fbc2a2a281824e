// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls of CUDA's run-time about streams, events and the capture of graphs, which is refused.

#include "stand_in/cuda/call.hpp"
#include "stand_in/cuda/wait_sites.hpp"

using tandem::stand_in::call;
using tandem::stand_in::current_gpu;
using tandem::stand_in::HostKnowledge;
using tandem::stand_in::Machine;
using tandem::stand_in::stream_of;
using tandem::stand_in::Streams;
using tandem::stand_in::WaitSites;

namespace {

cudaError_t error_of(Machine& m, int gpu) {
  return static_cast<cudaError_t>(m.error(gpu));
}

cudaError_t refuse_graph(const char* name) {
  return call(name, [=](Machine& m) {
    m.reports.add(
        "refusal",
        name,
        std::string(name) +
            ": the stand-in has no CUDA graphs; run the program without torch.cuda.graph");
    return cudaErrorNotSupported;
  });
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned, int level) {
  return call(__func__,
              [=](Machine& m) { return *s = m.make_stream(current_gpu(), level), cudaSuccess; });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags) {
  return cudaStreamCreateWithPriority(s, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* s) {
  return cudaStreamCreateWithPriority(s, 0, 0);
}
// Its work goes on, as with CUDA, and its clock may be asked for. The default streams stay.
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  return call(__func__, [=](Machine&) {
    if (s == nullptr || s == cudaStreamLegacy || s == cudaStreamPerThread)
      return cudaErrorInvalidResourceHandle;
    return s->is_destroyed = true, cudaSuccess;
  });
}
cudaError_t cudaStreamGetPriority(cudaStream_t s, int* level) {
  return call(__func__, [=](Machine& m) { return *level = stream_of(m, s)->level, cudaSuccess; });
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  if (WaitSites::get().leaves_out(__func__)) return cudaSuccess;
  return call(__func__, [=](Machine& m) {
    CUstream_st* const s = stream_of(m, handle);
    if (!m.query([s] { return Streams::is_idle(*s); })) return cudaErrorNotReady;
    HostKnowledge::learn(s->clock);
    return error_of(m, s->gpu);
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  if (WaitSites::get().leaves_out(__func__)) return cudaSuccess;
  return call(__func__, [=](Machine& m) {
    CUstream_st* const s = stream_of(m, handle);
    m.drain(s);
    return error_of(m, s->gpu);
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
  if (WaitSites::get().leaves_out(__func__)) return cudaSuccess;
  return call(__func__, [=](Machine& m) {
    if (!m.events.contains(e)) return cudaErrorInvalidResourceHandle;
    if (e->mark != nullptr) Machine::wait(stream_of(m, s), e->mark);
    return cudaSuccess;
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t f, void* data) {
  return call(__func__, [=](Machine& m) {
    CUstream_st* const s = stream_of(m, handle);
    m.next_task(s);
    Machine::push(s, {.run = [=] { f(data); }});
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned flags) {
  return call(__func__, [=](Machine& m) {
    *e = new CUevent_st{current_gpu(), (flags & cudaEventDisableTiming) == 0};
    m.events.insert(*e);
    return cudaSuccess;
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* e) {
  return cudaEventCreateWithFlags(e, 0);
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  return call(__func__, [=](Machine& m) {
    if (m.events.erase(e) == 0) return cudaErrorInvalidResourceHandle;
    delete e;
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t handle, unsigned) {
  return call(__func__, [=](Machine& m) {
    CUstream_st* const s = stream_of(m, handle);
    if (!m.events.contains(e) || e->gpu != s->gpu) return cudaErrorInvalidResourceHandle;
    m.record(s, e);
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  return cudaEventRecordWithFlags(e, s, 0);
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  if (WaitSites::get().leaves_out(__func__)) return cudaSuccess;
  return call(__func__, [=](Machine& m) {
    if (!m.events.contains(e)) return cudaErrorInvalidResourceHandle;
    if (e->mark == nullptr) return cudaSuccess;
    if (!m.query([=] { return e->mark->done; })) return cudaErrorNotReady;
    HostKnowledge::learn(e->mark->clock);
    return error_of(m, e->gpu);
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  if (WaitSites::get().leaves_out(__func__)) return cudaSuccess;
  return call(__func__, [=](Machine& m) {
    if (!m.events.contains(e)) return cudaErrorInvalidResourceHandle;
    if (e->mark == nullptr) return cudaSuccess;
    m.finish([mark = e->mark] { return mark->done; }, "an event of GPU " + std::to_string(e->gpu));
    HostKnowledge::learn(e->mark->clock);
    return error_of(m, e->gpu);
  });
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t a, cudaEvent_t b) {
  return call(__func__, [=](Machine& m) {
    if (!m.events.contains(a) || !m.events.contains(b) || !a->is_timed || !b->is_timed ||
        a->mark == nullptr || b->mark == nullptr)
      return cudaErrorInvalidResourceHandle;
    if (!a->mark->done || !b->mark->done) return cudaErrorNotReady;
    *ms = std::chrono::duration<float, std::milli>(b->mark->at - a->mark->at).count();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  return *status = cudaStreamCaptureStatusNone, cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) {
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return refuse_graph(__func__);
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) {
  return refuse_graph(__func__);
}

}  // extern "C"
