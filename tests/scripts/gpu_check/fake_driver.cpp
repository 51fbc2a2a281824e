// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A driver of CUDA for the tests of scripts/gpu-check: as many GPUs as FAKE_GPUS has compute
// capabilities ("9.0 8.0"), for CUDA FAKE_CUDA (13000), with memory pools unless FAKE_POOLS is 0.
// FAKE_STATUS is what cuInit returns.

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int kNoDevice = 100, kNotReady = 802, kUnknown = 999;
constexpr int kMajor = 75, kMinor = 76, kPools = 115;

std::string setting(const char* name, const char* otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : otherwise;
}

std::vector<std::string> gpus() {
  std::vector<std::string> found;
  const std::string list = setting("FAKE_GPUS", "9.0");
  for (std::size_t at = 0; at + 2 < list.size(); at += 4)
    found.push_back(list.substr(at, 3));
  return found;
}

}  // namespace

extern "C" {

int cuGetErrorName(int status, const char** name) {
  *name = status == kNoDevice   ? "CUDA_ERROR_NO_DEVICE"
          : status == kNotReady ? "CUDA_ERROR_SYSTEM_NOT_READY"
                                : "CUDA_ERROR_UNKNOWN";
  return 0;
}
int cuDriverGetVersion(int* version) {
  *version = std::stoi(setting("FAKE_CUDA", "13000"));
  return 0;
}
int cuInit(unsigned) {
  if (setting("CUDA_DEVICE_ORDER", "") != "PCI_BUS_ID") return kUnknown;
  if (setting("CUDA_VISIBLE_DEVICES", "0").empty()) return kNoDevice;
  return std::stoi(setting("FAKE_STATUS", "0"));
}
int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(gpus().size());
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}
int cuDeviceGetName(char* name, int size, int device) {
  std::snprintf(name, static_cast<std::size_t>(size), "Fake %d", device);
  return 0;
}
int cuDeviceGetPCIBusId(char* name, int size, int device) {
  std::snprintf(name, static_cast<std::size_t>(size), "0000:%02x:00.0", device);
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t* nbytes, int) {
  *nbytes = std::size_t{80} << 30;
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  const std::string capability = gpus().at(static_cast<std::size_t>(device));
  *value = attribute == kMajor   ? capability[0] - '0'
           : attribute == kMinor ? capability[2] - '0'
           : attribute == kPools ? std::stoi(setting("FAKE_POOLS", "1"))
                                 : 1000;
  return 0;
}
int cuDeviceCanAccessPeer(int* can, int, int) {
  *can = 1;
  return 0;
}
}
