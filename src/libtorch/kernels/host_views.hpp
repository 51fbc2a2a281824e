// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

namespace tandem::libtorch {

/// Whether a tensor is on a virtual device.
bool is_on_tandem(const at::Tensor& x);
/// A tensor of PyTorch's host over the same bytes. It does not keep them alive.
at::Tensor host_view(const at::Tensor& x);
/// The same, and it keeps them alive.
at::Tensor host_alias(const at::Tensor& x);
/// Makes a host tensor, whose memory was taken in a HostMemoryOf scope, one of the device: its
/// memory changes hands, and the host tensor has none any more.
at::Tensor moved_to_device(const at::Tensor& x, c10::Device device);

/// A sparse tensor like `like` over indices and values that fit together, on their device.
at::Tensor sparse_over(const at::Tensor& indices, const at::Tensor& values, const at::Tensor& like);

/// The tensors of one call of an op, as the host's kernels see them, and back.
///
/// All of them must be on one device, but for scalars, and tensors of the host if the op takes
/// them.
class HostViews {
 public:
  /// What an op makes of tensors of the host beside those of a device: indices are moved.
  enum class HostTensors : std::uint8_t { refused, taken };

  explicit HostViews(HostTensors beside = HostTensors::refused) : beside_(beside) {}

  /// @throws c10::Error  "Expected all tensors to be on the same device ...", as PyTorch has it.
  at::Tensor to_host(const at::Tensor& x);
  /// What the kernel returned, on the device: an argument itself, a view of one, or new memory. It
  /// may be sparse, as the gradient of a bag of embeddings.
  at::Tensor to_device(const at::Tensor& x) const;
  /// After the kernel: gives tensors that it has resized (out=) their new memory and shape.
  void take_resized() const;

  /// The device of the tensors so far; none if there was no tensor of a virtual device.
  std::optional<c10::Device> device() const noexcept { return device_; }
  void set_device(c10::Device device) noexcept { device_ = device; }

 private:
  struct Pair {
    at::Tensor device, host;
  };
  c10::SmallVector<Pair, 4> pairs_;
  std::optional<c10::Device> device_;
  HostTensors beside_;
  bool has_host_ = false;  // a tensor of the host that is not a scalar
};

}  // namespace tandem::libtorch
