// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/torch_memory.hpp"

#include <utility>

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "tandem/core/error.hpp"

#include "libtorch/gpu/gpu_call.hpp"
#include "libtorch/gpu/torch_stream.hpp"
#include "libtorch/versions/torch_differences.hpp"
#include "runtime/gpu/memory_order.hpp"

namespace tandem::libtorch {
namespace {

/// A block is PyTorch's of the stream that is current when it is made. Another one that uses it is
/// named to the allocator, which waits for it before it gives the block out again.
c10::DataPtr make_block(const GpuDevice& device, std::size_t nbytes) {
  const MemoryOrder* const order = MemoryOrder::in_place();
  const GpuStream& take = order == nullptr ? *device.main_stream() : *order->take();
  const c10::StreamGuard scope(torch_stream(take));
  c10::DataPtr block = allocator_of_gpus().allocate(nbytes);
  if (order != nullptr && order->give() != order->take()) {
    c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA)
        .recordDataPtrOnStream(block, torch_stream(*order->give()));
  }
  return block;
}

}  // namespace

void* TorchMemory::allocate(std::size_t nbytes, Category) {
  try {
    c10::DataPtr block =
        call_gpu(device_.ordinal(), "cudaMalloc", [&] { return make_block(device_, nbytes); });
    void* const p = block.get();
    const std::scoped_lock lock(mutex_);
    blocks_.emplace(p, std::move(block));
    return p;
  } catch (const OutOfMemory& e) {
    throw OutOfMemory(to_string(device_.name()), nbytes, e.in_use(), e.limit(), {});
  }
}

void TorchMemory::deallocate(void* p, std::size_t, Category) noexcept {
  decltype(blocks_)::node_type block;
  {
    const std::scoped_lock lock(mutex_);
    block = blocks_.extract(p);
  }
  // Freed here, outside of the lock: PyTorch's allocator has its own.
}

void keep_for_current_stream(const at::Tensor& x) {
  if (!x.is_cuda() || !x.has_storage() || x.numel() == 0) return;
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  guard.recordDataPtrOnStream(x.storage().data_ptr(), guard.getStream(x.device()));
}

}  // namespace tandem::libtorch
