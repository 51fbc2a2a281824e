// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <memory>

#include "tandem/runtime/event.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/tensor.hpp"

#include "runtime/gpu/gpu_stream.hpp"
#include "runtime/read_by.hpp"

namespace tandem {

/// The value of a scalar, which the host asks for later. If it is a GPU's, the host does not wait
/// for what the stream was given after it.
///
/// To be used by the thread of the tensor's device.
class LateItem {
 public:
  /// @param x  a scalar, as its stream has it when it has done its work so far. Without data its
  ///           value is NaN.
  explicit LateItem(const Tensor& x) {
    if (x.device().type != DeviceType::cuda) {
      value_ = x.item_or(value_);
      return;
    }
    const bool is_read_as_it_is = x.dtype() == DType::f32 || x.dtype() == DType::f64;
    item_ = is_read_as_it_is ? x : x.to(DType::f32);
    ready_ = std::make_shared<Event>();
    ready_->record(item_.stream());
  }
  /// Whether `get` waits for nothing.
  bool is_known() const noexcept { return !item_.defined(); }
  /// @throws DeviceError
  /// @throws Timeout, CommAborted  the context's deadline passed, or the context was aborted.
  double get() {
    if (is_known()) return value_;
    const Stream& stream = logical_device(item_.device()).upload_stream();
    ready_->wait(stream, "item");
    value_ = item_.dtype() == DType::f64 ? read<double>(stream) : read<float>(stream);
    item_ = {};
    return value_;
  }

 private:
  template <class T>
  double read(const Stream& unused) const {  // by other work of this step
    T value{};
    try {
      read_by(unused, item_.buffer(), byte_range(item_).first, &value, sizeof(T), "to_host");
    } catch (...) {  // the memory goes back in another stream's order
      unused.native()->drain();
      throw;
    }
    return static_cast<double>(value);
  }

  Tensor item_;  // until its value is known
  std::shared_ptr<Event> ready_;
  double value_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace tandem
