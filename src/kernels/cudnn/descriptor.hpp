// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <cudnn.h>

#include "runtime/cuda/check.hpp"

namespace tandem::cuda {

/// Throws DeviceError with call and code unless `status` is success.
void check(cudnnStatus_t status, const char* call);

}  // namespace tandem::cuda

namespace tandem::kernels::cudnn {

/// One of cuDNN's descriptors: attributes are set, then it is finalized.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    cudnnBackendDescriptor_t made = nullptr;
    TANDEM_CUDA(cudnnBackendCreateDescriptor(type, &made));
    owner_.reset(made);
  }

  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set(name, type, 1, &value);
  }
  template <std::size_t n>
  void set(cudnnBackendAttributeName_t name, const std::array<std::int64_t, n>& values) {
    set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(n), values.data());
  }
  void set(cudnnBackendAttributeName_t name, std::int64_t value) {
    set(name, CUDNN_TYPE_INT64, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    const cudnnBackendDescriptor_t native = value.native();
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &native);
  }
  void set(cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type,
           std::int64_t count,
           const void* values) {
    TANDEM_CUDA(cudnnBackendSetAttribute(native(), name, type, count, values));
  }

  /// @param most  elements that `values` has room for. @return elements that there are.
  std::int64_t get(cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type,
                   std::int64_t most,
                   void* values) const {
    std::int64_t count = 0;
    TANDEM_CUDA(cudnnBackendGetAttribute(native(), name, type, most, &count, values));
    return count;
  }

  void finalize() { TANDEM_CUDA(cudnnBackendFinalize(native())); }
  /// Whether cuDNN has what the descriptor asks for.
  bool try_finalize() { return cudnnBackendFinalize(native()) == CUDNN_STATUS_SUCCESS; }

  cudnnBackendDescriptor_t native() const noexcept { return owner_.get(); }

 private:
  struct Destroy {
    void operator()(cudnnBackendDescriptor_t p) const noexcept { cudnnBackendDestroyDescriptor(p); }
  };
  std::unique_ptr<void, Destroy> owner_;
};

}  // namespace tandem::kernels::cudnn
