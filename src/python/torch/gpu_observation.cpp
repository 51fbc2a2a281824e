// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch/gpu_observation.hpp"

#include <cstddef>
#include <list>
#include <tuple>
#include <vector>

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/logical_device.hpp"

#include "libtorch/gpu/own_call.hpp"
#include "libtorch/kernels/gpu_ops.hpp"
#include "runtime/copy_timer.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

/// A function of Python without arguments.
using Call = nb::typed<nb::callable, nb::object()>;
/// Two GPUs, and the bytes that the second gets from the first.
using Sent = std::tuple<int, int, std::size_t>;

/// Bytes on their way from one GPU to another, by NCCL.
class Sending {
 public:
  Sending(const Sent& sent, Category category)
      : source_(libtorch::device_on_gpu(std::get<0>(sent))),
        target_(libtorch::device_on_gpu(std::get<1>(sent))),
        nbytes_(std::get<2>(sent)),
        category_(category),
        timer_(source_.stream(), target_.stream()) {}
  void end() {
    const Buffer target(target_.device(), AdoptedMemory{}, category_);
    CopyTimes times = timer_.end();
    times.carrier = "NCCL";
    count_copy(source_.device(), target, nbytes_, times);
  }

 private:
  LogicalDevice& source_;
  LogicalDevice& target_;
  std::size_t nbytes_;
  Category category_;
  CopyTimer timer_;
};

nb::object with_transfers(const std::vector<Sent>& sent, bool are_gradients, const Call& call) {
  const ContextScope phase(
      [&](Context& c) { c.phase = are_gradients ? Phase::reduce : Phase::replicate; });
  std::list<Sending> under_way;
  for (const Sent& one : sent)
    under_way.emplace_back(one, are_gradients ? Category::gradient : Category::parameter);
  const libtorch::OwnCall own;  // what the call copies is told here
  nb::object result = call();
  for (Sending& one : under_way)
    one.end();
  return result;
}

}  // namespace

void bind_gpu_observation(nb::module_& m) {
  m.def(
      "with_gpu_ops",
      [](const Call& step) {
        const libtorch::GpuOps ops(libtorch::GpuOps::Threads::all);
        step();
      },
      nb::arg("step"),
      "Calls step(), and tells observers of PyTorch's ops on GPUs, in all threads.");
  m.def("with_transfers",
        &with_transfers,
        nb::arg("sent"),
        nb::arg("are_gradients"),
        nb::arg("call"),
        "The result of call(), which sends parameters or gradients: (GPU, GPU, bytes) each.");
}

}  // namespace tandem::python
