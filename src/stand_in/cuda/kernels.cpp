// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// What compiled CUDA code registers, and its launches, for which there is no GPU.

#include <cstdlib>
#include <string>

#include <cxxabi.h>

#include "stand_in/cuda/call.hpp"

using tandem::stand_in::Machine;

namespace {

std::string plain(const std::string& mangled) {
  int status = 0;
  char* const text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  const std::string name = status == 0 ? text : mangled;
  std::free(text);
  return name;
}

[[noreturn]] void launched(const void* function) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  const auto found = m.kernels.find(function);
  const std::string name =
      found == m.kernels.end() ? "a kernel without a name" : plain(found->second);
  m.fatal("kernel",
          name,
          "a kernel is launched that no kernel of the host stands in for: " + name +
              "; its op has to be added to src/stand_in/torch");
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
void __cudaRegisterFunction(
    void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*, int*) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  m.kernels.emplace(host, name);
}
unsigned __cudaPushCallConfiguration(dim3, dim3, std::size_t, CUstream_st*) {
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*) {
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t k, dim3, dim3, void**, std::size_t, cudaStream_t) {
  launched(k);
}
cudaError_t cudaLaunchKernel(const void* f, dim3, dim3, void**, std::size_t, cudaStream_t) {
  launched(f);
}
cudaError_t cudaLaunchCooperativeKernel(
    const void* f, dim3, dim3, void**, std::size_t, cudaStream_t) {
  launched(f);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void* f, void**) {
  launched(f);
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void*) {
  return *a = {}, cudaSuccess;
}

}  // extern "C"
