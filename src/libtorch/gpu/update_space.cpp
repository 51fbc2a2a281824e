// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/update_space.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "libtorch/gpu/gpu_tensors.hpp"
#include "runtime/gpu/gpu_device.hpp"

namespace tandem::libtorch {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;  // of an array
constexpr std::size_t kAlignment = 256;
constexpr std::size_t kNumbers = kAlignment;  // bytes, before the arrays
constexpr std::int64_t kFlag = 6 * sizeof(double);

std::size_t array_nbytes_for(std::size_t nbytes) {
  return std::min((nbytes + kAlignment - 1) / kAlignment * kAlignment, kMostBytes);
}

/// What is reserved now, by device. Lives until the process ends.
struct Reserved {
  std::mutex mutex;  // guards spaces
  std::map<const LogicalDevice*, std::weak_ptr<UpdateSpace>> spaces;

  static Reserved& get() {
    static Reserved& one = *new Reserved;
    return one;
  }
};

}  // namespace

std::int64_t UpdateSpace::piece(DType t) noexcept {
  return static_cast<std::int64_t>(kMostBytes / itemsize(t));
}

std::shared_ptr<UpdateSpace> UpdateSpace::reserve(LogicalDevice& device,
                                                  std::size_t nbytes,
                                                  int arrays) {
  auto space = of(device, nbytes, arrays);
  Reserved& reserved = Reserved::get();
  const std::scoped_lock lock(reserved.mutex);
  reserved.spaces[&device] = space;
  return space;
}

std::shared_ptr<UpdateSpace> UpdateSpace::of(LogicalDevice& device,
                                             std::size_t nbytes,
                                             int arrays) {
  {
    Reserved& reserved = Reserved::get();
    const std::scoped_lock lock(reserved.mutex);
    const auto found = reserved.spaces.find(&device);
    auto space = found == reserved.spaces.end() ? nullptr : found->second.lock();
    if (space != nullptr && space->arrays_ >= arrays &&
        space->array_nbytes_ >= array_nbytes_for(nbytes))
      return space;
  }
  return std::make_shared<UpdateSpace>(device, nbytes, arrays);
}

UpdateSpace::UpdateSpace(LogicalDevice& device, std::size_t nbytes, int arrays)
    : device_(device),
      array_nbytes_(array_nbytes_for(nbytes)),
      arrays_(arrays),
      buffer_(device.device(),
              kNumbers + static_cast<std::size_t>(arrays) * array_nbytes_,
              Category::workspace) {}

at::Tensor UpdateSpace::array(int i, DType t, std::int64_t n) const {
  const char* const begin = static_cast<const char*>(buffer_.data()) + kNumbers +
                            static_cast<std::size_t>(i) * array_nbytes_;
  return range_of_gpu(begin, t, 0, n, device_.gpu()->ordinal());
}

at::Tensor UpdateSpace::number(int i) const {
  return scalar(DType::f64, i);
}

at::Tensor UpdateSpace::flag() const {
  return scalar(DType::boolean, kFlag);
}

at::Tensor UpdateSpace::scalar(DType t, std::int64_t i) const {
  return range_of_gpu(buffer_.data(), t, i, i + 1, device_.gpu()->ordinal())
      .view(at::IntArrayRef());
}

}  // namespace tandem::libtorch
