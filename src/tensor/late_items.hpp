// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "tandem/runtime/event.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/tensor.hpp"

#include "runtime/gpu/gpu_stream.hpp"
#include "runtime/read_by.hpp"

namespace tandem {

/// The values of scalars, for which the host asks later, and waits once. If they are a GPU's, it
/// does not wait for what the stream was given after them.
///
/// To be used by the thread of the tensors' device.
class LateItems {
 public:
  /// @param scalars  as their stream has them when it has done its work so far. Those of a second
  ///                 GPU are waited for here. The value of one without data is NaN.
  explicit LateItems(const std::vector<Tensor>& scalars) : values_(scalars.size(), kNaN) {
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      const Tensor& x = scalars[i];
      const bool is_of_second = !late_.empty() && late_.front().item.device() != x.device();
      if (x.device().type != DeviceType::cuda || is_of_second) {
        values_[i] = x.item_or(kNaN);
        continue;
      }
      const bool is_read_as_it_is = x.dtype() == DType::f32 || x.dtype() == DType::f64;
      late_.push_back({i, is_read_as_it_is ? x : x.to(DType::f32)});
    }
    if (late_.empty()) return;
    ready_ = std::make_shared<Event>();
    ready_->record(late_.front().item.stream());
  }
  /// Whether the value is known without a wait.
  bool is_known(std::size_t i) const noexcept {
    for (const Late& late : late_)
      if (late.place == i) return false;
    return true;
  }
  /// @throws DeviceError
  /// @throws Timeout, CommAborted  the context's deadline passed, or the context was aborted.
  double get(std::size_t i) {
    if (!is_known(i)) read();
    return values_[i];
  }

 private:
  static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  struct Late {
    std::size_t place;
    Tensor item;
    double of_f64 = 0;
    float of_f32 = 0;
  };

  void read() {
    const Stream& unused = logical_device(late_.front().item.device()).upload_stream();
    ready_->wait(unused, "item");  // by other work of this step
    std::vector<ReadBytes> reads;
    for (Late& late : late_) {
      const bool is_f64 = late.item.dtype() == DType::f64;
      reads.push_back({&late.item.buffer(),
                       byte_range(late.item).first,
                       is_f64 ? static_cast<void*>(&late.of_f64) : &late.of_f32,
                       itemsize(late.item.dtype())});
    }
    try {
      read_by(unused, reads, "to_host");
    } catch (...) {  // the memory goes back in another stream's order
      unused.native()->drain();
      throw;
    }
    for (const Late& late : late_)
      values_[late.place] = late.item.dtype() == DType::f64 ? late.of_f64 : late.of_f32;
    late_.clear();
  }

  std::vector<double> values_;
  std::vector<Late> late_;  // until they are known
  std::shared_ptr<Event> ready_;
};

}  // namespace tandem
