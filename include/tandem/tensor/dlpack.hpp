// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

// Structs of DLPack's C interface, as any dlpack.h from version 1.0 on defines them.
struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace tandem {

/// How a tensor is lent.
struct DlpackOptions {
  bool read_only = false;  ///< asks the other library not to write
  bool copy = false;       ///< lends a fresh copy, which no tensor of tandem shares
};

/// Lends a tensor of the host to another library (PyTorch, NumPy, JAX) without a copy.
///
/// The memory lives as long as the tensors of either library. Bytes in transit are waited for
/// first. The result may be used and deleted on any thread. Its version is 1.3; the element (0,
/// ..., 0) is at `x.data()`, the strides are `x.strides()`, and the device is the CPU, whichever
/// virtual device `x` is on.
///
/// Tandem does not see what the other library writes:
/// - A change between forward and backward of a tensor that backward needs goes unnoticed, and the
///   gradients are wrong, as between PyTorch and NumPy. Whoever writes so calls
///   `x.buffer().bump_version()` afterwards; then backward refuses the changed tensor.
/// - Integers in the memory are checked again each time they are used as an index.
///
/// The other library must synchronise its accesses with tandem's. A wrapper (DataParallel) may move
/// a parameter or buffer of its module to other memory; the lent memory is then no longer the
/// parameter's.
/// @param x  on a host device, off the tape.
/// @return  owned by the caller, who hands it to one consumer or calls its deleter.
/// @throws InvalidArgument  `x` is undefined, requires grad, lies on a GPU, or its memory has been
///                          given back (Buffer::drop).
/// @throws Timeout, CommAborted  while waiting for bytes that are in transit.
/// @cost   one allocation of about 250 bytes.
DLManagedTensorVersioned* to_dlpack(const Tensor& x, DlpackOptions options = {});

/// The same without a version, for consumers older than DLPack 1.0, such as NumPy 1.
///
/// @throws InvalidArgument  also if the tensor would be read-only, which this form cannot say.
DLManagedTensor* to_dlpack_unversioned(const Tensor& x, DlpackOptions options = {});

/// A tensor over memory that another library lends, without a copy.
///
/// Takes `managed` over in any case: its deleter runs once, when the last tensor of the memory
/// goes, on the thread that drops it, or before an exception leaves this call. (DLPack leaves a
/// consumer no other choice for a version that it does not know.) So in Python the capsule is
/// marked as used before the call.
///
/// The bytes count in MemoryStats::adopted of the device, not in `in_use`, and no limit holds for
/// them: their owner accounts for them. Work that writes to memory that is lent read-only throws
/// InvalidArgument. Tandem does not see what the owner writes meanwhile; see to_dlpack.
/// @param managed  of the host: CPU memory, or host memory pinned by CUDA or ROCm, whose contents
///                 are there. Of a dtype of tandem, aligned to it, with at most kMaxDims
///                 dimensions, and without negative strides.
/// @param device   the host device that the tensor shall be on; all of them share the memory.
/// @throws InvalidArgument  `managed` is null, or something of it is not as said above; the text
///                          says what, and what to do.
/// @cost   two allocations, and those of the deleter.
Tensor from_dlpack(DLManagedTensorVersioned* managed, Device device = {});
/// The same for the form without a version.
Tensor from_dlpack(DLManagedTensor* managed, Device device = {});

}  // namespace tandem
