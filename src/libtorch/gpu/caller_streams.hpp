// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include "tandem/runtime/device.hpp"

namespace tandem::libtorch {

/// The calling thread's current streams of PyTorch's GPUs, if tandem uses them; else none.
std::vector<c10::Stream> current_gpu_streams();
/// The same, but that of the device is the one that its work goes to.
std::vector<c10::Stream> streams_for(Device device, std::vector<c10::Stream> of_caller);

/// The main streams of the devices go on after what the calling thread's current streams have made
/// on their GPUs, so that they may use it.
void await_current_streams(const std::vector<Device>& devices);
/// The same for a tensor that the calling thread's current stream has made, and whose memory the
/// device's main stream may use after the last owner has given it back.
void hand_to_main_stream(const at::Tensor& x, Device device);
/// The reverse, for tandem's memory, which goes back in the order of the main stream: a copy, or
/// the tensor itself where the current stream is the main one.
at::Tensor taken_from_main_stream(at::Tensor x, Device device);

/// A call of a wrapper. Work of the first device on each GPU goes to the caller's current stream
/// there, and that of others on the same GPU to streams of their own, which begin after it. At its
/// end the caller's goes on after all of them. On virtual devices it does nothing.
class CallerStreams {
 public:
  /// @throws InvalidArgument  a stream is captured for a CUDA graph, the process was forked, or a
  ///                          call is under way on another stream.
  explicit CallerStreams(const std::vector<Device>& devices);
  /// After an error it waits, at most a grace of seconds: what is queued may use memory that has
  /// been given back by then.
  ~CallerStreams();
  CallerStreams(const CallerStreams&) = delete;
  CallerStreams& operator=(const CallerStreams&) = delete;

  /// The caller's streams go on after the work so far.
  void join() const noexcept;

 private:
  /// The calls of devices, which end with it.
  struct Begun {
    ~Begun();
    std::vector<Device> devices;
  };
  void begin(Device device);

  int exceptions_;  // under way at the beginning
  Begun begun_;
  std::vector<Device> devices_;
  std::vector<Device> own_;  // with streams of their own
};

}  // namespace tandem::libtorch
