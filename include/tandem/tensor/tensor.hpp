// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/dtype.hpp"
#include "tandem/core/shape.hpp"
#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem {

class Tensor;

/// The state that autograd keeps with a tensor. The autograd layer derives from it.
struct AutogradMeta {
  virtual ~AutogradMeta() = default;
};

/// Lays out the storage of several tensors together. The optim layer's arena derives from it.
struct StorageHome {
  virtual ~StorageHome() = default;
};

/// The state behind a Tensor. Changing `buffer`, `offset` and `strides` moves all of its handles at
/// once.
struct TensorImpl {
  std::shared_ptr<Buffer> buffer;
  std::int64_t offset = 0;  ///< of the first element in the buffer, in elements
  Shape shape;
  Strides strides;
  DType dtype = DType::f32;
  std::unique_ptr<AutogradMeta> autograd;  ///< null: plain data
  std::shared_ptr<StorageHome> home;       ///< what laid out this storage; null: none, or a view
};

/// A part of a dimension: [start, stop) by step. Negative values count from the end.
struct Slice {
  std::int64_t start = 0;
  std::optional<std::int64_t> stop = std::nullopt;
  std::int64_t step = 1;
};

/// The order of the elements of a 4-D tensor in memory.
enum class MemoryFormat : std::uint8_t { contiguous, channels_last };

/// Whether a copy from the host to a GPU returns before the GPU has read the source.
///
/// With `yes` the copy runs beside the work that the GPU has been given. Work on the source that
/// writes to it waits; what the host writes to `data()` by itself does not (see upload).
enum class NonBlocking : std::uint8_t { no, yes };

/// A multi-dimensional array on one device, with an optional place on the autograd tape.
///
/// A tensor is a handle: copies share data, and a view shares storage with the tensor it was made
/// from. A default-constructed tensor is undefined. Reading from several threads is safe; writing
/// while others read is not. Names and semantics are PyTorch's.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(std::shared_ptr<TensorImpl> impl) noexcept : impl_(std::move(impl)) {}

  bool defined() const noexcept { return impl_ != nullptr; }
  const Shape& shape() const { return impl().shape; }
  const Strides& strides() const { return impl().strides; }
  /// Size of one dimension; negative values count from the end.
  std::int64_t size(int dim) const;
  int ndim() const { return impl().shape.size(); }
  std::int64_t numel() const { return tandem::numel(impl().shape); }
  std::size_t nbytes() const { return static_cast<std::size_t>(numel()) * itemsize(dtype()); }
  DType dtype() const { return impl().dtype; }
  Device device() const { return buffer().device(); }
  Stream& stream() const { return buffer().logical_device().stream(); }
  bool is_contiguous(MemoryFormat format = MemoryFormat::contiguous) const;

  /// The storage that this tensor is a view of.
  Buffer& buffer() const { return *impl().buffer; }
  /// The address of the first element on the device. The host must not read it; see item, to_host.
  void* data() const;
  TensorImpl& impl() const;
  const std::shared_ptr<TensorImpl>& shared() const noexcept { return impl_; }
  /// Whether both are the same tensor, not merely equal.
  bool is(const Tensor& other) const noexcept { return impl_ == other.impl_; }

  /// A description for messages: "f32 (2, 3) on cpu:0".
  std::string describe() const;
  /// Whether there are values to read: not on a shape-only device (see Buffer::has_data). There,
  /// what reads the device throws NoData.
  bool has_data() const { return numel() == 0 || buffer().has_data(); }
  /// The elements in PyTorch's layout; large tensors are summarised. Reads the device.
  std::string to_string() const;
  /// The only element. Reads the device.
  ///
  /// @throws InvalidArgument  numel() is not one.
  double item() const;
  /// item() where there is data, else `otherwise`: for checks that a shape-only run takes to hold.
  double item_or(double otherwise) const { return has_data() ? item() : otherwise; }
  /// All elements in row-major order. Reads the device.
  /// @throws InvalidArgument  `T` is not the tensor's dtype.
  template <Element T>
  std::vector<T> to_host() const;
  /// All elements converted to double, in row-major order. Reads the device.
  std::vector<double> to_doubles() const;

  // ---- copies and views; differentiable (ops layer) ----
  /// This tensor if it is on `device`, else a copy there.
  Tensor to(Device device, NonBlocking non_blocking = NonBlocking::no) const;
  Tensor to(DType dtype) const;
  /// This tensor if it has that layout already, else a dense copy.
  Tensor contiguous(MemoryFormat format = MemoryFormat::contiguous) const;
  /// A copy with storage of its own. It has the same layout if the tensor is dense.
  Tensor clone() const;
  /// A view if the strides allow one, else a copy. One size may be -1 and is then computed.
  Tensor reshape(const Shape& shape) const;
  Tensor permute(const Dims& dims) const;
  Tensor transpose(int a, int b) const;
  /// Transposes the last two dimensions.
  Tensor t() const { return transpose(-2, -1); }
  Tensor expand(const Shape& shape) const;
  Tensor squeeze(int dim) const;
  Tensor unsqueeze(int dim) const;
  Tensor flatten(int start = 0, int end = -1) const;
  Tensor slice(int dim, Slice range) const;
  /// `length` entries of `dim`, from `start` on.
  Tensor narrow(int dim, std::int64_t start, std::int64_t length) const;
  /// One entry of `dim`; the result lacks this dimension.
  Tensor select(int dim, std::int64_t index) const;

  // ---- arithmetic; differentiable (ops layer) ----
  Tensor add(const Tensor& other) const;
  Tensor sum() const;
  Tensor sum(const Dims& dims) const;
  Tensor mean() const;
  Tensor mean(const Dims& dims) const;
  Tensor matmul(const Tensor& other) const;

  // ---- in place; refused on a leaf that requires grad if grad mode is on (ops layer) ----
  Tensor& fill_(double value);
  Tensor& zero_() { return fill_(0); }
  /// Copies from `source`, which is broadcast and converted, and may be on another device.
  Tensor& copy_(const Tensor& source);
  Tensor& add_(const Tensor& other, double alpha = 1);
  Tensor& mul_(double factor);

  // ---- autograd (autograd layer) ----
  bool requires_grad() const noexcept;
  /// @throws InvalidArgument  not a leaf, or not a float tensor.
  Tensor& requires_grad_(bool on = true);  // PyTorch's name and default
  bool is_leaf() const noexcept;
  /// The accumulated gradient; undefined before the first backward.
  Tensor grad() const;
  /// Sets the gradient, or clears it if `grad` is undefined.
  ///
  /// @throws InvalidArgument  shape, dtype or device differ from the tensor's.
  void set_grad(const Tensor& grad) const;
  /// A tensor with the same data that is off the tape.
  Tensor detach() const;
  /// Computes the gradients of this tensor with respect to all leaves, and accumulates them into
  /// the leaves' grad().
  ///
  /// @param gradient  this tensor's gradient; may be undefined if it has one element (then 1).
  void backward(const Tensor& gradient = {}) const;

 private:
  std::shared_ptr<TensorImpl> impl_;
};

std::ostream& operator<<(std::ostream& s, const Tensor& x);

/// A view of `x`'s storage, off the tape and without checks. For ops.
Tensor as_strided(const Tensor& x, const Shape& shape, const Strides& strides, std::int64_t offset);
/// A tensor over the elements of `buffer` from `offset` on. For ops and arenas.
Tensor from_buffer(std::shared_ptr<Buffer> buffer,
                   std::int64_t offset,
                   const Shape& shape,
                   const Strides& strides,
                   DType dtype);
/// Whether device, dtype, shape and strides are equal.
bool same_layout(const Tensor& a, const Tensor& b);

}  // namespace tandem
