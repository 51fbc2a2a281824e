// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What differs between versions of PyTorch, from 2.8 on. No other source names a version.

#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ATen/DLConvertor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <dlfcn.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>

#if __has_include(<torch/headeronly/version.h>)
#include <torch/headeronly/version.h>
#else  // before 2.10
#include <torch/version.h>
#endif
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 9
#define TANDEM_TORCH_BEFORE_2_9
#if __has_include(<c10/cuda/impl/cuda_cmake_macros.h>)
#include <c10/cuda/CUDACachingAllocator.h>
#define TANDEM_TORCH_GPU_HEADERS
#endif
#endif

#include "tandem/tensor/dlpack.hpp"

namespace tandem::libtorch {

/// What owns a node of PyTorch's graph: an intrusive pointer in newer versions, before them a
/// shared one.
using NodePointer = decltype(torch::autograd::Edge::function);

template <class N, class... Arguments>
auto make_node(Arguments&&... arguments) {
  if constexpr (std::is_same_v<NodePointer, std::shared_ptr<torch::autograd::Node>>)
    return std::make_shared<N>(std::forward<Arguments>(arguments)...);
  else
    return c10::make_intrusive<N>(std::forward<Arguments>(arguments)...);
}

/// A kind of its own for what a graph of PyTorch carries along: an object in newer versions, which
/// `name` tells from others, before them a number.
template <class Kind = c10::DebugInfoKind>
constexpr Kind debug_info_kind(const std::string_view* name) {
  if constexpr (std::is_enum_v<Kind>)
    return static_cast<Kind>(0x74);  // PyTorch's own are below 10
  else
    return Kind(name);
}

/// DLPack both ways: of version 1, before 2.9 without versions.
inline at::Tensor borrowed_by_torch(const Tensor& x) {
#ifdef TANDEM_TORCH_BEFORE_2_9
  return at::fromDLPack(to_dlpack_unversioned(x));
#else
  return at::fromDLPackVersioned(to_dlpack(x));
#endif
}

inline Tensor borrowed_from_torch(const at::Tensor& x, Device device) {
#ifdef TANDEM_TORCH_BEFORE_2_9
  DLManagedTensor* const lent = at::toDLPack(x);
  lent->dl_tensor.strides = x.strides().data();  // else 1 where a dimension has one element
  return from_dlpack(lent, device);
#else
  return from_dlpack(at::toDLPackVersioned(x), device);
#endif
}

/// A function of C's in a library that PyTorch has brought for its GPUs; null: none has it.
template <class F>
F* of_loaded_library(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
}

/// PyTorch's allocator of GPUs. Before 2.9 its headers include CUDA's, which a PyTorch without GPUs
/// lacks, as it lacks the allocator.
#ifdef TANDEM_TORCH_GPU_HEADERS
using GpuAllocator = c10::cuda::CUDACachingAllocator::CUDAAllocator;
#elif defined(TANDEM_TORCH_BEFORE_2_9)
struct GpuAllocator : c10::Allocator {
  virtual void emptyCache() = 0;
  virtual void resetPeakStats(c10::DeviceIndex gpu) = 0;
  virtual c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex gpu) = 0;
};
#else
using GpuAllocator = c10::DeviceAllocator;
#endif

inline GpuAllocator& allocator_of_gpus() {
  return dynamic_cast<GpuAllocator&>(*at::detail::getCUDAHooks().getCUDADeviceAllocator());
}

/// Free and all bytes of a GPU, as the driver has them.
template <class Allocator = GpuAllocator>
std::pair<std::size_t, std::size_t> gpu_memory_info(c10::Device gpu) {
  if constexpr (requires(Allocator & a) { a.getMemoryInfo(gpu.index()); }) {
    return static_cast<Allocator&>(allocator_of_gpus()).getMemoryInfo(gpu.index());
  } else {
    const c10::DeviceGuard scope(gpu);
    auto* const tell = of_loaded_library<int(std::size_t*, std::size_t*)>("cudaMemGetInfo");
    std::pair<std::size_t, std::size_t> free_and_all;
    TORCH_CHECK(tell != nullptr && tell(&free_and_all.first, &free_and_all.second) == 0,
                "CUDA does not tell how much memory there is on ",
                gpu);
    return free_and_all;
  }
}

/// Whether a CUDA graph is captured on a GPU's current stream.
template <class Guard = c10::impl::VirtualGuardImpl>
bool is_current_stream_captured(c10::Device gpu) {
  const Guard guard(gpu.type());
  if constexpr (requires(c10::Stream stream) { guard.isStreamCapturing(stream); }) {
    return guard.isStreamCapturing(guard.getStream(gpu));
  } else {  // CUDA tells
    auto* const current = of_loaded_library<int(int, void**)>("aoti_torch_get_current_cuda_stream");
    auto* const captured = of_loaded_library<int(void*, int*)>("cudaStreamIsCapturing");
    void* stream = nullptr;
    int status = 0;
    return current != nullptr && captured != nullptr && current(gpu.index(), &stream) == 0 &&
           captured(stream, &status) == 0 && status != 0;
  }
}

}  // namespace tandem::libtorch
