// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/modules/gradient_group.hpp"

#include <cstddef>
#include <utility>

#include <ATen/ATen.h>

#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "autograd/leaf.hpp"
#include "libtorch/gpu/gpu_tensors.hpp"
#include "libtorch/gpu/op_scope.hpp"

namespace tandem::libtorch {
namespace {

constexpr std::size_t kLargest = std::size_t{64} << 10;  // bytes
constexpr std::size_t kMost = AccessList::kCapacity;     // gradients

/// Where the gradient may be copied to at once. Undefined: nowhere.
Tensor place_for(const Tensor& parameter, const at::Tensor& gradient) {
  const bool is_plain = gradient.is_cuda() && gradient.layout() == at::kStrided &&
                        gradient.is_contiguous() && !gradient.is_conj() && !gradient.is_neg();
  if (!is_plain || gradient.nbytes() > kLargest) return {};
  if (!autograd::takes_whole_gradient(parameter.impl(), parameter.device())) return {};
  const Tensor& place = autograd::meta_of(parameter.impl())->bound;
  const bool is_like = place.is_contiguous() && gradient.numel() == place.numel() &&
                       gradient.scalar_type() == scalar_type(place.dtype());
  return is_like ? place : Tensor();
}

}  // namespace

bool GradientGroup::take(const Tensor& parameter, const at::Tensor& gradient) {
  Tensor place = place_for(parameter, gradient);
  if (!place.defined()) return false;
  const bool goes_on = members_.empty() || &members_.front().place.buffer() == &place.buffer();
  if (!goes_on) pass_on();
  members_.push_back({parameter, std::move(place), gradient});
  if (members_.size() == kMost) pass_on();
  return true;
}

void GradientGroup::pass_on() {
  const std::vector<Member> members = std::exchange(members_, {});
  if (members.empty()) return;
  copy(members);
  for (const Member& m : members)
    autograd::accumulate(m.parameter.shared(), m.place, /*create_graph=*/false);
}

void GradientGroup::copy(const std::vector<Member>& members) const {
  Work work{.kind = Work::Kind::copy, .name = "copy_", .dtype = members.front().place.dtype()};
  for (const Member& m : members) {
    const auto [begin, end] = byte_range(m.place);
    work.accesses.add({&m.place.buffer(), m.place.nbytes(), Direction::write, begin, end});
  }
  Stream& stream = members.front().place.stream();
  dispatch_on_any(stream, work, [&](const auto&) {
    run_ops(stream, work.name, [&](int gpu) {
      std::vector<at::Tensor> from, to;
      for (const Member& m : members) {
        from.push_back(m.gradient.detach().view(-1));
        to.push_back(range_of_gpu(m.place.data(), m.place.dtype(), 0, m.place.numel(), gpu));
      }
      at::_foreach_copy_(to, from, /*non_blocking=*/true);
    });
  });
}

}  // namespace tandem::libtorch
