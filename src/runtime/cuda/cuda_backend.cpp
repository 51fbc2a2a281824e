// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/cuda_backend.hpp"

#include "tandem/core/check.hpp"

#include "runtime/cuda/check.hpp"
#include "runtime/cuda/copy_between.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/cuda_event.hpp"
#include "runtime/cuda/nvml.hpp"
#include "runtime/cuda/peers.hpp"
#include "runtime/cuda/pool.hpp"
#include "runtime/gpu/driver_turn.hpp"

namespace tandem::cuda {
namespace {

/// What CUDA says of the machine's GPUs.
struct Machine {
  int gpus = 0;
  std::string reason;  // why there are none
};

/// "13.0" of 13000.
std::string version_text(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

std::string versions() {
  int driver = 0, runtime = 0;
  forgive(cudaDriverGetVersion(&driver));
  forgive(cudaRuntimeGetVersion(&runtime));
  return (driver == 0 ? "no driver is installed"
                      : "the driver supports CUDA " + version_text(driver)) +
         ", tandem was built with CUDA " + version_text(runtime);
}

Machine look() {
  Machine machine;
  const cudaError_t status = cudaGetDeviceCount(&machine.gpus);
  forgive(status);
  if (status == cudaSuccess) return machine;
  machine.gpus = 0;
  if (status != cudaErrorNoDevice) {
    machine.reason = tandem::detail::concat(
        cudaGetErrorName(status), ", ", cudaGetErrorString(status), " (", versions(), ')');
  }
  return machine;
}

const Machine& machine() noexcept {
  static const Machine& machine = *new Machine(look());
  return machine;
}

}  // namespace

int CudaBackend::count() const noexcept {
  return machine().gpus;
}

const std::string& CudaBackend::no_gpu_reason() const noexcept {
  return machine().reason;
}

void CudaBackend::check_gpu(Device name, int ordinal) const {
  TANDEM_CHECK(
      ordinal >= 0 && ordinal < count(),
      "device ",
      name,
      ": there is no GPU ",
      ordinal,
      "; this machine has ",
      count(),
      no_gpu_reason().empty() ? "" : "; CUDA says: ",
      no_gpu_reason(),
      count() == 0 ? "; use cpu devices" : "; cuda:0x4 makes four logical devices of one GPU");
}

std::shared_ptr<GpuDevice> CudaBackend::open(Device name, int ordinal) {
  check_gpu(name, ordinal);
  return std::make_shared<CudaDevice>(name, ordinal);
}

std::unique_ptr<GpuEvent> CudaBackend::make_event() {
  return std::make_unique<CudaEvent>();
}

void CudaBackend::begin_copy_between(const Stream& source_stream,
                                     const void* source,
                                     const Stream& target_stream,
                                     void* target,
                                     std::size_t nbytes) {
  cuda::begin_copy_between(source_stream, source, target_stream, target, nbytes);
}

void CudaBackend::copy_between(const Stream& source_stream,
                               const void* source,
                               const Stream& target_stream,
                               void* target,
                               std::size_t nbytes) {
  cuda::copy_between(source_stream, source, target_stream, target, nbytes);
}

bool CudaBackend::peers(int ordinal, int other) {
  return are_peers(ordinal, other);
}

void CudaBackend::check_launch(const char* name) {
  cuda::check_launch(name);
}

std::shared_ptr<void> CudaBackend::make_current(int ordinal) noexcept {
  return std::make_shared<GpuScope>(ordinal);
}

void CudaBackend::check_context(int ordinal, const char* call) {
  cuda::check_context(ordinal, call);
}

void CudaBackend::release_unused(int ordinal) {
  release_pools(ordinal);
}

bool CudaBackend::are_broken_peers(int ordinal, int other) {
  return cuda::are_broken_peers(ordinal, other);
}

bool CudaBackend::is_in_use() const noexcept {
  return used_gpu() >= 0;
}

bool CudaBackend::pin(void* p, std::size_t nbytes) noexcept {
  const int gpu = used_gpu();
  if (gpu < 0) return false;
  const DriverTurn turn;
  const GpuScope scope(gpu);
  const cudaError_t status = cudaHostRegister(p, nbytes, cudaHostRegisterPortable);
  forgive(status);
  return status == cudaSuccess;
}

void CudaBackend::unpin(void* p) noexcept {
  const DriverTurn turn;
  const GpuScope scope(used_gpu());
  forgive(cudaHostUnregister(p));
}

std::optional<std::size_t> CudaBackend::held_by_process(int ordinal) const {
  return cuda::held_by_process(ordinal);
}

}  // namespace tandem::cuda
