// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "stand_in/machine/peers.hpp"

struct CUstream_st;

// The stand-in for CUDA's run-time: the calls that the CUDA backend makes, on the host's memory.
//
// What is put on a stream waits there until a call asks for a result: then tasks of all streams
// run, each stream's in order, streams against each other in an order that a seed decides, until
// the asked thing is done: a wait that is missing shows as other data. Fresh memory is 0xCD, freed
// memory 0xDD, or poisoned with the address sanitizer; memory of a GPU is protected against the
// host but for the time in which tasks run.
//
// What CUDA leaves undefined or forgives is an error here: there is no default stream; a copy or a
// collective that races with another one, or with the allocation or the free of its memory, or
// whose memory is not pinned any more, is an illegal address (the reason goes to stderr); a call
// that would wait without end is cudaErrorTimeout.
//
// NCCL's calls are put on the streams after ncclGroupEnd has returned, those of different groups in
// any order. Its collectives use the links between peers unless NCCL_P2P_DISABLE is 1. Each
// communicator takes memory of its GPU. An abort drops what the communicator has not done.
//
// Everything is thread-safe. Kernels make no calls.
namespace tandem::stand_in {

/// GPUs of the machine; at first $TANDEM_STAND_IN_GPUS, or 0. At most 16.
void set_gpus(int n);
/// Bytes of each GPU; at first 16 GiB.
void set_memory(std::size_t nbytes);
void set_peers(Peers peers);
/// From here on no pool of `gpu` can be opened to `peer`, whatever they say of each other.
void refuse_peer(int gpu, int peer);
/// Whether GPUs have memory pools; at first they do.
void set_pools(bool there_are);
/// Whether GPUs read pageable memory of the host as late as they read pinned memory, as those do
/// that share the host's page tables; at first they do not.
void set_host_page_tables(bool shared);
/// The driver's version, as cudaDriverGetVersion tells it; at first the run-time's. Under an older
/// one every call is refused. 0: no driver is installed.
void set_driver(int version);
/// GPUs on which the process has made a context, knowingly or not: nearly every call makes one on
/// the calling thread's GPU, which is GPU 0 on a thread that has not chosen.
std::vector<int> contexts();
/// What NVML tells of a process; `nbytes` is UINT64_MAX where it does not tell them.
struct GpuProcess {
  unsigned int pid;
  std::uint64_t nbytes;
};
/// The processes that use a GPU; at first none.
void set_processes(int gpu, std::vector<GpuProcess> processes);
/// Moves the clock of all GPUs on: what they do from here on happens so much later.
void pass(std::chrono::milliseconds time);
/// Begins another order of tasks; at first $TANDEM_STAND_IN_SEED, or 1.
void seed(std::uint64_t n);

/// The `nth` call from here on (1: the next) of the function of this name does nothing but return
/// `code`, a cudaError. An error after which a GPU takes no more work stays for the caller's GPU,
/// and for every GPU that waits for an event of it.
void fail_call(const std::string& name, int nth, int code);
/// The `nth` kernel from here on fails while it runs: nobody is told before a call asks its GPU,
/// which takes no more work.
void fail_kernel(int nth, int code);
/// By function: calls since the last reset. Launches of kernels count as "cudaLaunchKernel".
std::map<std::string, int> call_counts();
/// From here on every call returns cudaErrorCudartUnloading, as in a process that ends.
void unload();
/// Settings as at first but for the number of GPUs; no call is to fail, no error stays, copies that
/// hang end, calls are counted from 0. Streams, events and memory stay.
void reset();

/// Streams, events, pools, communicators, blocks and pinned ranges that were made and not given
/// back.
std::size_t live_objects();
/// Bytes of a GPU that were asked for and not freed, by calls so far.
std::size_t live_bytes(int gpu);

/// Queues a kernel. As with CUDA, a refusal is the calling thread's last error.
void launch(CUstream_st* stream, std::function<void()> kernel);

}  // namespace tandem::stand_in
