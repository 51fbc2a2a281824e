// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/gpu/no_gpus.hpp"

#include "tandem/core/check.hpp"

namespace tandem {
namespace {

[[noreturn]] void no_stream() {
  throw InternalError("a stream of a GPU in a process without GPUs");
}

}  // namespace

void NoGpus::check_gpu(Device name, int) const {
  throw InvalidArgument(
      detail::concat("device ", name, ": this build of tandem has no CUDA; use cpu devices"));
}

std::shared_ptr<GpuDevice> NoGpus::open(Device name, int ordinal) {
  check_gpu(name, ordinal);
  return nullptr;
}

std::unique_ptr<GpuEvent> NoGpus::make_event() {
  no_stream();
}

void NoGpus::begin_copy_between(const Stream&, const void*, const Stream&, void*, std::size_t) {
  no_stream();
}

void NoGpus::copy_between(const Stream&, const void*, const Stream&, void*, std::size_t) {
  no_stream();
}

}  // namespace tandem
