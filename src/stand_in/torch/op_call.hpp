// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>

namespace tandem::stand_in {

/// Whether an op takes tensors of the host beside those of a GPU, as indices are.
enum class HostTensors : std::uint8_t { refused, taken };

/// One call of an op on tensors of a GPU, which a kernel of the host does.
///
/// The kernel gets tensors over the same bytes, where the host may use them; what it returns is
/// moved into memory of PyTorch's allocator for the GPU. The machine is told what is read and
/// written, between begin() and the end of the object, while the call has its stream.
class OpCall {
 public:
  /// @param name  lives as long as the process.
  OpCall(const char* name, HostTensors host) : name_(name), host_(host) {}
  ~OpCall();
  OpCall(const OpCall&) = delete;
  OpCall& operator=(const OpCall&) = delete;

  void set_device(c10::Device device);
  /// The kernel's view of an argument.
  ///
  /// @throws c10::Error  another tensor's device differs, in PyTorch's words.
  at::Tensor to_host(const at::Tensor& x, bool writes);
  /// What is to be done before the kernel.
  ///
  /// @throws c10::Error  it would use memory that is not there.
  void begin();
  /// A result, as PyTorch is to have it.
  at::Tensor to_gpu(const at::Tensor& x);
  /// Outputs that the kernel has given another size.
  void take_resized();
  /// The kernel is one of those that count the writes of their lists themselves, for autograd.
  void count_writes() const;
  /// The host has a result of the GPU, or its size: it has waited for the stream.
  void reach() const;
  /// An index is a mask: its count of rows is known once the host has waited.
  bool has_mask() const { return host_ == HostTensors::taken && has_mask_; }
  int gpu() const { return guard_->current_device().index(); }

 private:
  struct Pair {
    at::Tensor gpu, host;
    bool writes;
  };
  at::Tensor sparse_to_host(const at::Tensor& x, bool writes);
  at::Tensor sparse_to_gpu(const at::Tensor& x);
  /// A sparse argument of which the kernel has made another one.
  void take_sparse(const Pair& pair);
  /// Memory of PyTorch's allocator with the bytes of the host's.
  c10::DataPtr on_gpu(const c10::Storage& host);
  void take_stream();
  void leave_stream();
  [[noreturn]] void refuse(const std::string& other) const;
  void use(const at::Tensor& x, bool writes) const;
  void use_bytes(const char* p, std::int64_t nbytes, bool writes) const;

  const char* name_;
  HostTensors host_;
  bool has_host_ = false, has_begun_ = false, has_mask_ = false;
  std::optional<c10::cuda::CUDAGuard> guard_;
  CUstream_st* stream_ = nullptr;
  std::vector<Pair> pairs_;
};

}  // namespace tandem::stand_in
