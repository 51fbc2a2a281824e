// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/tensor/dlpack.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/access.hpp"

#include "core/checked_size.hpp"
#include "runtime/gpu/gpu_backend.hpp"
#include "tensor/dlpack_abi.hpp"

namespace tandem {
namespace {

constexpr DLPackVersion kLentVersion{1, 3};

// ---- lending ----

/// A tensor that is lent: what the other library gets, and what keeps the memory.
template <class Managed>
struct Loan {
  explicit Loan(const Tensor& x) : buffer(x.impl().buffer) {
    std::ranges::copy(x.shape(), shape.begin());
    std::ranges::copy(x.strides(), strides.begin());
    buffer->lending().lend();
  }
  ~Loan() { buffer->lending().end_loan(); }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

  Managed managed{};
  std::shared_ptr<Buffer> buffer;
  std::array<std::int64_t, kMaxDims> shape{};
  std::array<std::int64_t, kMaxDims> strides{};
};

DLDataType lent_dtype(DType dtype) noexcept {
  const auto bits = static_cast<std::uint8_t>(8 * itemsize(dtype));
  switch (dtype) {
    case DType::bf16:
      return {kDLBfloat, bits, 1};
    case DType::i32:
    case DType::i64:
      return {kDLInt, bits, 1};
    case DType::u8:
      return {kDLUInt, bits, 1};
    case DType::boolean:
      return {kDLBool, bits, 1};
    default:
      return {kDLFloat, bits, 1};
  }
}

/// Whether a device is a GPU whose memory is exchanged with other libraries.
bool is_shared_gpu(Device device) {
  return device.type == DeviceType::cuda && gpu_backend().adopts_memory();
}

DLDevice lent_device(Device device) {
  if (device.type == DeviceType::cpu) return {kDLCPU, 0};
  return {kDLCUDA, logical_device(device).gpu()->ordinal()};
}

void check_can_be_lent(const Tensor& x) {
  TANDEM_CHECK(x.defined(), "to_dlpack: the tensor is undefined; give it a value first");
  TANDEM_CHECK(!x.requires_grad(),
               "to_dlpack: ",
               x.describe(),
               " requires grad, and the tape would not see what others do with it; lend "
               "x.detach()");
  TANDEM_CHECK(x.device().type == DeviceType::cpu || is_shared_gpu(x.device()),
               "to_dlpack: ",
               x.describe(),
               " is not in the host's memory; lend x.to(\"cpu\")");
  x.buffer().check_awake("to_dlpack");
  if (!x.has_data()) x.buffer().check_data("to_dlpack");
}

template <class Managed>
std::unique_ptr<Loan<Managed>> lend(const Tensor& x, bool is_read_only) {
  if (x.buffer().transits().any()) [[unlikely]] {
    const auto [begin, end] = byte_range(x);
    x.buffer().transits().await(begin, end, is_read_only ? Direction::read : Direction::read_write);
  }
  auto loan = std::make_unique<Loan<Managed>>(x);
  loan->managed.dl_tensor = {.data = x.numel() == 0 ? nullptr : x.data(),
                             .device = lent_device(x.device()),
                             .ndim = x.ndim(),
                             .dtype = lent_dtype(x.dtype()),
                             .shape = loan->shape.data(),
                             .strides = loan->strides.data(),
                             .byte_offset = 0};
  loan->managed.manager_ctx = loan.get();
  loan->managed.deleter = [](Managed* self) {
    delete static_cast<Loan<Managed>*>(self->manager_ctx);
  };
  return loan;
}

// ---- borrowing ----

/// What is lent to tandem. The end calls its deleter, unless the memory's buffer is to do it.
template <class Managed>
class Borrowed {
 public:
  explicit Borrowed(Managed* managed) : managed_(managed) {
    TANDEM_CHECK(managed != nullptr, "from_dlpack: the managed tensor is null");
  }
  ~Borrowed() {
    if (managed_ != nullptr) end(managed_);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  const Managed& operator*() const noexcept { return *managed_; }
  std::shared_ptr<Buffer> adopt(Device device, void* data, std::size_t nbytes, bool is_read_only) {
    auto buffer = std::make_shared<Buffer>(device,
                                           AdoptedMemory{.data = data,
                                                         .nbytes = nbytes,
                                                         .is_read_only = is_read_only,
                                                         .give_back = [m = managed_] { end(m); }},
                                           context().category);
    managed_ = nullptr;
    return buffer;
  }

 private:
  static void end(Managed* managed) {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }

  Managed* managed_;
};

std::string name_of(DLDeviceType type) {
  constexpr std::array<const char*, 19> kNames{nullptr,
                                               "CPU",
                                               "CUDA",
                                               "CUDA's pinned memory",
                                               "OpenCL",
                                               nullptr,
                                               nullptr,
                                               "Vulkan",
                                               "Metal",
                                               "VPI",
                                               "ROCm",
                                               "ROCm's pinned memory",
                                               "an extension (ExtDev)",
                                               "CUDA's managed memory",
                                               "oneAPI",
                                               "WebGPU",
                                               "Hexagon",
                                               "MAIA",
                                               "Trainium"};
  const auto at = static_cast<std::size_t>(type);
  if (at < kNames.size() && kNames[at] != nullptr) return kNames[at];
  return detail::concat("device type ", static_cast<std::int32_t>(type));
}

/// @param on  the device that the tensor shall be on.
void check_borrowed_device(const DLDevice& device, Device on) {
  const DLDeviceType type = device.device_type;
  if (is_shared_gpu(on)) {
    const int ordinal = logical_device(on).gpu()->ordinal();
    TANDEM_CHECK(type == kDLCUDA && device.device_id == ordinal,
                 "from_dlpack: the tensor is on ",
                 name_of(type),
                 ", index ",
                 device.device_id,
                 ", but ",
                 on,
                 " is on GPU ",
                 ordinal,
                 "; move it there first");
    return;
  }
  TANDEM_CHECK(type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost,
               "from_dlpack: the tensor is on ",
               name_of(type),
               ", index ",
               device.device_id,
               ", but only the host's memory can be shared; copy it to the CPU there (PyTorch: "
               "x.cpu()), and move the result with .to(device)");
}

std::string name_of(const DLDataType& dtype) {
  constexpr std::array<const char*, 7> kNames{
      "int", "uint", "float", "opaque handle of bits ", "bfloat", "complex", "bool of bits "};
  const std::string kind = dtype.code < kNames.size()
                               ? kNames[dtype.code]
                               : detail::concat("dtype code ", int{dtype.code}, " of bits ");
  return detail::concat(
      kind, int{dtype.bits}, dtype.lanes == 1 ? "" : detail::concat(" in lanes of ", dtype.lanes));
}

DType borrowed_dtype(const DLDataType& dtype) {
  for (const DType t : {DType::f32,
                        DType::f64,
                        DType::bf16,
                        DType::f16,
                        DType::i32,
                        DType::i64,
                        DType::u8,
                        DType::boolean}) {
    const DLDataType own = lent_dtype(t);
    if (own.code == dtype.code && own.bits == dtype.bits && own.lanes == dtype.lanes) return t;
  }
  throw InvalidArgument(detail::concat(
      "from_dlpack: the elements are ",
      name_of(dtype),
      "; convert them first to one of f32, f64, bf16, f16, i32, i64, u8 and bool (PyTorch: "
      "x.to(torch.float32), NumPy: x.astype('float32'))"));
}

Shape borrowed_shape(const DLTensor& t, DType dtype) {
  TANDEM_CHECK(t.ndim >= 0 && t.ndim <= kMaxDims,
               "from_dlpack: ",
               t.ndim,
               " dimensions; a tensor has 0 to ",
               kMaxDims,
               ", so reshape it first");
  if (t.ndim == 0) return {};
  TANDEM_CHECK(t.shape != nullptr, "from_dlpack: the shape of ", t.ndim, " dimensions is null");
  const Shape shape(std::span<const std::int64_t>(t.shape, static_cast<std::size_t>(t.ndim)));
  static_cast<void>(detail::nbytes_of("from_dlpack", dtype, shape));
  return shape;
}

Strides borrowed_strides(const DLTensor& t, const Shape& shape) {
  if (t.strides == nullptr || numel(shape) == 0) return contiguous_strides(shape);
  Strides strides(std::span<const std::int64_t>(t.strides, static_cast<std::size_t>(t.ndim)));
  for (int d = 0; d < shape.size(); ++d) {
    TANDEM_CHECK(strides[d] >= 0 || shape[d] == 1,
                 "from_dlpack: dimension ",
                 d,
                 " of ",
                 shape,
                 " has stride ",
                 strides[d],
                 ", but strides cannot be negative; copy it first (NumPy: x.copy())");
    strides[d] = std::max<std::int64_t>(strides[d], 0);
  }
  return strides;
}

/// Bytes from the first element to the end of the last one.
std::size_t extent(const Shape& shape, const Strides& strides, DType dtype) {
  if (numel(shape) == 0) return 0;
  CheckedSize elements("from_dlpack", 1);
  for (int d = 0; d < shape.size(); ++d)
    elements = elements + CheckedSize("from_dlpack", shape[d] - 1) * strides[d];
  return static_cast<std::size_t>((elements * static_cast<std::int64_t>(itemsize(dtype))).value());
}

void* first_element(const DLTensor& t, DType dtype, std::size_t nbytes) {
  if (nbytes == 0) return nullptr;
  TANDEM_CHECK(t.data != nullptr, "from_dlpack: the data of ", nbytes, " bytes is null");
  void* const first = static_cast<char*>(t.data) + t.byte_offset;
  TANDEM_CHECK(reinterpret_cast<std::uintptr_t>(first) % itemsize(dtype) == 0,
               "from_dlpack: the elements at ",
               first,
               " are not aligned to their ",
               itemsize(dtype),
               " bytes; copy them first");
  return first;
}

template <class Managed>
Tensor borrow(Borrowed<Managed>& borrowed, bool is_read_only, Device device) {
  const DLTensor& t = (*borrowed).dl_tensor;
  check_borrowed_device(t.device, device);
  const DType dtype = borrowed_dtype(t.dtype);
  const Shape shape = borrowed_shape(t, dtype);
  const Strides strides = borrowed_strides(t, shape);
  const std::size_t nbytes = extent(shape, strides, dtype);
  void* const data = first_element(t, dtype, nbytes);
  return from_buffer(borrowed.adopt(device, data, nbytes, is_read_only), 0, shape, strides, dtype);
}

}  // namespace

DLManagedTensorVersioned* to_dlpack(const Tensor& x, DlpackOptions options) {
  check_can_be_lent(x);
  const Tensor lent = options.copy ? x.clone() : x;
  const bool is_read_only = options.read_only || lent.buffer().lending().is_read_only();
  auto loan = lend<DLManagedTensorVersioned>(lent, is_read_only);
  loan->managed.version = kLentVersion;
  if (is_read_only) loan->managed.flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
  if (options.copy) loan->managed.flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
  return &loan.release()->managed;
}

DLManagedTensor* to_dlpack_unversioned(const Tensor& x, DlpackOptions options) {
  check_can_be_lent(x);
  const Tensor lent = options.copy ? x.clone() : x;
  TANDEM_CHECK(!options.read_only && !lent.buffer().lending().is_read_only(),
               "to_dlpack_unversioned: ",
               x.describe(),
               " is read-only, which DLPack before 1.0 cannot say; use to_dlpack, or lend a copy");
  return &lend<DLManagedTensor>(lent, false).release()->managed;
}

Tensor from_dlpack(DLManagedTensorVersioned* managed, Device device) {
  Borrowed borrowed(managed);
  const DLPackVersion theirs = managed->version;
  TANDEM_CHECK(theirs.major == 1,
               "from_dlpack: the tensor is of DLPack ",
               theirs.major,
               '.',
               theirs.minor,
               ", but tandem reads 1.x; ask its library for version 1 (__dlpack__(max_version=(1, "
               "0)))");
  return borrow(borrowed, (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0, device);
}

Tensor from_dlpack(DLManagedTensor* managed, Device device) {
  Borrowed borrowed(managed);
  return borrow(borrowed, false, device);
}

}  // namespace tandem
