// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tandem/comm/backend.hpp"
#include "tandem/runtime/device.hpp"

// The devices that a run of the tests is for. Test programs are run once for the host's, and once,
// with TANDEM_TEST_DEVICE=cuda, for GPUs: tests that name no device make their tensors on device(0)
// then, and all are skipped where there is no GPU (device_environment.cpp). The list is
// TANDEM_TEST_DEVICES, else eight logical devices of the first GPU, or, with
// TANDEM_TEST_BACKEND=nccl, all GPUs; a test that asks for more than it has is skipped.
namespace tandem::testing {

/// By TANDEM_TEST_DEVICE; cpu unless set.
DeviceType device_type();
inline bool on_gpus() {
  return device_type() == DeviceType::cuda;
}

/// What groups of devices are made with, by TANDEM_TEST_BACKEND; local unless set.
comm::Backend backend();

/// Devices 0 .. limit - 1 can be used.
int device_limit();

/// Skips the running test where there is no such device. Not on a device's thread.
Device device(int index);
/// The first `n`.
inline std::vector<Device> devices(int n) {
  std::vector<Device> list;
  for (int i = 0; i < n; ++i)
    list.push_back(device(i));
  return list;
}
/// "cpu:1", or "cuda:1".
inline std::string device_name(int index) {
  return to_string(Device{device_type(), index});
}

}  // namespace tandem::testing
