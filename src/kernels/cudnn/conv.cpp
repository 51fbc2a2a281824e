// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "tandem/runtime/runtime.hpp"

#include "kernels/copy.hpp"
#include "kernels/cudnn/conv_plan.hpp"
#include "kernels/cudnn/fast_path.hpp"
#include "kernels/workspace.hpp"
#include "runtime/cuda/pool.hpp"
#include "runtime/gpu/gpu_device.hpp"

namespace tandem::kernels::cudnn {
namespace {

/// Shapes that a device keeps plans for; then it starts anew (batches of ever new sizes).
constexpr std::size_t kMaxPlans = 512;

/// Handle and plans of one device, taken by one call at a time.
class State final : public LibraryState {
 public:
  /// @param gpu  the calling thread's.
  explicit State(int gpu) {
    if (cudnnCreate(&handle) == CUDNN_STATUS_SUCCESS) return;
    cuda::release_pools(gpu);  // it asks the driver for memory
    TANDEM_CUDA(cudnnCreate(&handle));
  }
  ~State() override {
    plans.clear();
    cudnnDestroy(handle);
  }

  /// Null where cuDNN has none.
  const ConvPlan* find(const ConvProblem& problem) {
    const ConvProblem::Key key = problem.key();
    auto known = plans.find(key);
    if (known == plans.end()) {
      if (plans.size() >= kMaxPlans) plans.clear();
      known = plans.emplace(key, ConvPlan::make(handle, problem)).first;
    }
    return known->second.has_value() ? &*known->second : nullptr;
  }

  cudnnHandle_t handle = nullptr;
  std::map<ConvProblem::Key, std::optional<ConvPlan>> plans;
};

/// The state for the time of a call, its handle on the caller's stream.
class Session {
 public:
  explicit Session(const CudaStream& s)
      : device_(logical_device(s.device)), state_(device_.take_library(Library::cudnn)) {
    if (state_ == nullptr) state_ = std::make_unique<State>(device_.gpu()->ordinal());
    TANDEM_CUDA(cudnnSetStream((*this)->handle, s.native));
  }
  ~Session() { device_.give_library(Library::cudnn, std::move(state_)); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  State* operator->() const noexcept { return static_cast<State*>(state_.get()); }

 private:
  LogicalDevice& device_;
  std::unique_ptr<LibraryState> state_;
};

/// Bytes, up to what engines look at.
std::int64_t alignment(std::initializer_list<const View*> views) {
  std::uintptr_t bits = 16;
  for (const View* v : views)
    bits |= reinterpret_cast<std::uintptr_t>(v->data);
  return static_cast<std::int64_t>(bits & (~bits + 1));
}

bool is_channels_last(const View& x) {
  return is_contiguous({x.shape[0], x.shape[2], x.shape[3], x.shape[1]},
                       {x.strides[0], x.strides[2], x.strides[3], x.strides[1]});
}

/// Runs a pass, weights in row-major order as our kernels have them.
bool run(const CudaStream& s,
         Pass pass,
         const ConvSize& z,
         const View& x,
         const View& weight,
         const View& y) {
  const bool last = is_channels_last(x) && is_channels_last(y);
  const Layout layout = last ? Layout::channels_last : Layout::channels_first;
  const ConvProblem problem{pass, y.dtype, layout, s.precision, z, alignment({&x, &weight, &y})};
  const Session session(s);
  const ConvPlan* const plan = session->find(problem);
  if (plan == nullptr) return false;
  // Weights with channels innermost, in the order of a patch.
  const auto ordered_bytes =
      last ? weight.numel() * static_cast<std::int64_t>(itemsize(weight.dtype)) : 0;
  const Workspace<unsigned char> ordered(s.device, ordered_bytes);
  const View ordered_weight = last ? patch_order(z, ordered.data(), weight.dtype) : weight;
  if (last && pass != Pass::weight_grad) copy(s, weight, ordered_weight);
  const Workspace<unsigned char> workspace(s.device, static_cast<std::int64_t>(plan->workspace()));
  plan->run(session->handle, x.data, ordered_weight.data, y.data, workspace.data());
  if (last && pass == Pass::weight_grad) copy(s, ordered_weight, weight);
  return true;
}

}  // namespace

bool conv2d(
    const CudaStream& s, const ConvSize& z, const View& x, const View& weight, const View& y) {
  return run(s, Pass::forward, z, x, weight, y);
}

bool conv2d_input_grad(
    const CudaStream& s, const ConvSize& z, const View& dy, const View& weight, const View& dx) {
  return run(s, Pass::input_grad, z, dx, weight, dy);
}

bool conv2d_weight_grad(
    const CudaStream& s, const ConvSize& z, const View& dy, const View& x, const View& dweight) {
  return run(s, Pass::weight_grad, z, x, dweight, dy);
}

}  // namespace tandem::kernels::cudnn
