// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/torch_stream.hpp"

#include <chrono>
#include <cstring>
#include <thread>

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "libtorch/gpu/gpu_call.hpp"
#include "libtorch/gpu/gpu_tensors.hpp"
#include "libtorch/gpu/own_call.hpp"
#include "libtorch/gpu/torch_point.hpp"
#include "runtime/gpu/poll.hpp"

namespace tandem::libtorch {
namespace {

constexpr auto kGrace = std::chrono::seconds(2);
constexpr auto kPollEvery = std::chrono::microseconds(50);
constexpr std::size_t kStaged = 64;  // bytes; a step reads a few numbers at a time

/// Null: this PyTorch does not tell; newer ones do.
template <class Guard>
void* handle_of(const Guard& guard, const c10::Stream& stream) {
  if constexpr (requires { guard.getStreamNativeHandle(stream); })
    return guard.getStreamNativeHandle(stream);
  else
    return nullptr;
}

}  // namespace

TorchStream::TorchStream(int ordinal, c10::Stream stream)
    : ordinal_(ordinal), id_(stream.id()), staged_(call_gpu(ordinal, "cudaHostAlloc", [] {
        return at::empty({kStaged}, at::TensorOptions(at::kByte).pinned_memory(true));
      })) {}

c10::Stream TorchStream::stream() const noexcept {
  const c10::StreamId id = id_.load(std::memory_order_acquire);
  return c10::Stream(c10::Stream::UNSAFE, gpu_of(ordinal_), id);
}

CUstream_st* TorchStream::handle() const {
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  return static_cast<CUstream_st*>(handle_of(guard, stream()));
}

void TorchStream::synchronize(const char* op) const {
  await(stream(), op);
}

void TorchStream::await(const c10::Stream& own, const char* op) const {
  poll([&] { return call_gpu(ordinal_, "cudaStreamQuery", [&] { return own.query(); }); }, op);
}

void TorchStream::drain() const noexcept {
  try {
    const c10::Stream own = stream();
    const auto end = std::chrono::steady_clock::now() + kGrace;
    while (!own.query() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(kPollEvery);
  } catch (...) {  // the GPU takes no more work
  }
}

void TorchStream::queue(const c10::Stream& own,
                        const ToHost& copy,
                        Target target,
                        const char* op) const {
  call_gpu(ordinal_, op, [&] {
    const OwnCall own_call;
    const c10::StreamGuard scope(own);
    bytes_of_host(copy.target, copy.nbytes)
        .copy_(bytes_of_gpu(copy.source, copy.nbytes, ordinal_),
               /*non_blocking=*/target == Target::pinned);
  });
}

// Another thread's call may give the device another stream meanwhile.
void TorchStream::copy_to_host(std::span<const ToHost> copies, const char* op) const {
  const c10::Stream own = stream();
  std::size_t all = 0;
  for (const ToHost& c : copies)
    all += c.nbytes;
  if (all > kStaged) {
    await(own, op);  // PyTorch's copy waits without a deadline
    for (const ToHost& c : copies)
      queue(own, c, Target::pageable, op);
    return;
  }
  const std::scoped_lock lock(staging_);
  std::byte* staged = static_cast<std::byte*>(staged_.mutable_data_ptr());
  for (const ToHost& c : copies) {
    queue(own, {c.source, staged, c.nbytes}, Target::pinned, op);
    staged += c.nbytes;
  }
  await(own, op);
  const auto* arrived = static_cast<const std::byte*>(staged_.const_data_ptr());
  for (const ToHost& c : copies) {
    std::memcpy(c.target, arrived, c.nbytes);
    arrived += c.nbytes;
  }
}

bool TorchStream::begin_copy_from_host(const void* source,
                                       void* target,
                                       std::size_t nbytes,
                                       const char* op) const {
  const bool is_pinned = at::globalContext().isPinnedPtr(source, c10::DeviceType::CUDA);
  if (!is_pinned && nbytes > kMostTaken) synchronize(op);  // the driver would, without a deadline
  call_gpu(ordinal_, op, [&] {
    const OwnCall own;
    const c10::StreamGuard scope(stream());
    bytes_of_gpu(target, nbytes, ordinal_)
        .copy_(bytes_of_host(source, nbytes), /*non_blocking=*/is_pinned);
  });
  return is_pinned;
}

std::shared_ptr<const StreamPoint> TorchStream::point() const {
  return std::make_shared<const TorchPoint>(*this, ordinal_);
}

c10::Stream torch_stream(const GpuStream& stream) {
  return dynamic_cast<const TorchStream&>(stream).stream();
}

}  // namespace tandem::libtorch
