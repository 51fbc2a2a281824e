// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/check.hpp"

#include <array>
#include <atomic>
#include <string>

#include "tandem/core/error.hpp"
#include "tandem/runtime/runtime.hpp"

namespace tandem::cuda {
namespace {

/// By GPU: the error that ended its use; 0 where there is none.
std::array<std::atomic<int>, kMaxDevices> poison{};
/// By GPU: whether the process uses it.
std::array<std::atomic<bool>, kMaxDevices> used{};

bool is_used(int gpu) noexcept {
  return used[static_cast<std::size_t>(gpu)].load(std::memory_order_relaxed);
}

// Codes that not all toolkits name that tandem is built with.
constexpr int kContained = 226;         // cudaErrorContained
constexpr int kTensorMemoryLeak = 721;  // cudaErrorTensorMemoryLeak

/// After these every call of the process to that GPU fails until it ends.
bool is_sticky(cudaError_t status) noexcept {
  switch (static_cast<int>(status)) {
    case kContained:
    case kTensorMemoryLeak:
    case cudaErrorExternalDevice:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorMpsClientTerminated:
      return true;
    default:
      return false;
  }
}

std::string gpu_name(int gpu) {
  return gpu < 0 ? "GPU" : "GPU " + std::to_string(gpu);
}

/// What the GPU answers to a call that changes nothing: an error after which it takes no work is
/// the answer to every call.
cudaError_t ask(int gpu) noexcept {
  const GpuScope scope(gpu);
  std::size_t free = 0, total = 0;
  const cudaError_t status = cudaMemGetInfo(&free, &total);
  forgive(status);
  return status;
}

/// "unknown" may be of one call, or the end.
bool ends_use(cudaError_t status, int gpu) noexcept {
  return is_sticky(status) || (status == cudaErrorUnknown && gpu >= 0 && ask(gpu) == status);
}

/// What to do where a program has no code for the GPU.
std::string advice(cudaError_t status, int gpu) {
  if (status != cudaErrorNoKernelImageForDevice && status != cudaErrorUnsupportedPtxVersion)
    return {};
  int major = 0, minor = 0;
  forgive(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu));
  forgive(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, gpu));
  const std::string own = std::to_string(major) + std::to_string(minor);
  return "; tandem was built for the architectures " TANDEM_CUDA_ARCHITECTURES
         ", and this GPU is sm_" +
         own + ": configure with -D CMAKE_CUDA_ARCHITECTURES=" + own;
}

constexpr const char* kRestart =
    "; the GPU accepts no more work from this process; restart it, from a checkpoint if there is "
    "one";

}  // namespace

int current_gpu() noexcept {
  int gpu = -1;
  const cudaError_t status = cudaGetDevice(&gpu);
  forgive(status);
  return status == cudaSuccess ? gpu : -1;
}

void check(cudaError_t status, const char* call, int gpu) {
  if (status == cudaSuccess) [[likely]]
    return;
  forgive(status);
  if (gpu < 0) gpu = current_gpu();
  std::string text = std::string(cudaGetErrorName(status)) + ", " + cudaGetErrorString(status) +
                     advice(status, gpu);
  if (ends_use(status, gpu)) {
    if (gpu >= 0) poison[static_cast<std::size_t>(gpu)].store(status, std::memory_order_relaxed);
    text += kRestart;
  }
  const std::string name(call);
  throw DeviceError(gpu_name(gpu), name.substr(0, name.find('(')), status, text);
}

void check_usable(int gpu) {
  const int code = poison[static_cast<std::size_t>(gpu)].load(std::memory_order_relaxed);
  if (code == 0) [[likely]]
    return;
  throw DeviceError(gpu_name(gpu),
                    "an earlier call",
                    code,
                    cudaGetErrorName(static_cast<cudaError_t>(code)) + std::string(kRestart));
}

void check_context(int gpu, const char* call) {
  check_usable(gpu);
  check(ask(gpu), call, gpu);
}

void check_launch(const char* name) {
  check(cudaPeekAtLastError(), name);
}

void choose_gpu(int gpu) {
  if (current_gpu() != gpu) check(cudaSetDevice(gpu), "cudaSetDevice", gpu);
  if (!is_used(gpu)) used[static_cast<std::size_t>(gpu)].store(true, std::memory_order_relaxed);
}

void use_gpu(int gpu) {
  check_usable(gpu);
  choose_gpu(gpu);
}

int used_gpu() noexcept {
  if (const int gpu = current_gpu(); gpu >= 0 && is_used(gpu)) return gpu;
  for (int gpu = 0; gpu < kMaxDevices; ++gpu)
    if (is_used(gpu)) return gpu;
  return -1;
}

GpuScope::GpuScope(int gpu) noexcept : before_(current_gpu()), gpu_(gpu) {
  if (before_ != gpu) forgive(cudaSetDevice(gpu));
}

GpuScope::~GpuScope() {
  if (before_ == gpu_ || before_ < 0) return;
  if (before_ > 0 || is_used(0)) forgive(cudaSetDevice(before_));
}

}  // namespace tandem::cuda
