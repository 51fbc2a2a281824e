// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/wrapper/checked_options.hpp"

#include <algorithm>

#include <c10/core/Device.h>

#include "tandem/core/check.hpp"
#include "tandem/libtorch/devices.hpp"
#include "tandem/runtime/runtime.hpp"

#include "libtorch/gpu/torch_peers.hpp"
#include "libtorch/wrapper/use_gpus.hpp"

namespace tandem::libtorch::detail {
namespace {

constexpr int kLeastDevices = 8;  // so that tandem:3 is there where no more were configured

}  // namespace

parallel::DataParallelOptions checked_options(parallel::DataParallelOptions options,
                                              bool is_on_gpu) {
  if (options.devices.empty()) options.devices = is_on_gpu ? gpus() : default_devices();
  TANDEM_CHECK(options.bitwise_leaves == 0,
               "DataParallel: bitwise_leaves is ",
               options.bitwise_leaves,
               ", but PyTorch's kernels do not promise the same bits for the same rows; leave it "
               "at 0");
  TANDEM_CHECK(
      options.world == nullptr,
      "DataParallel: a world is given, but modules of PyTorch train in one process so far; "
      "leave world out, or put PyTorch's DistributedDataParallel between the processes");
  TANDEM_CHECK(!options.init_on,
               "DataParallel: init_on is ",
               *options.init_on,
               ", but the memory of a module of PyTorch does not move; leave init_on out");
  TANDEM_CHECK(
      !options.output_device || options.output_device->type == options.devices.front().type,
      "DataParallel: output_device is ",
      *options.output_device,
      ", but the devices are of another kind, such as ",
      options.devices.front(),
      "; name one of the same kind");
  const bool are_gpus = options.devices.front().type == DeviceType::cuda;
  if (are_gpus) use_gpus();
  int count = std::max(kLeastDevices, static_cast<int>(default_devices().size()));
  for (const Device device : options.devices) {
    TANDEM_CHECK(device.type == options.devices.front().type,
                 "DataParallel: ",
                 options.devices.front(),
                 " and ",
                 device,
                 " are of different kinds; give only GPUs, or only virtual devices");
    count = std::max(count, device.index + 1);
  }
  if (!are_gpus) register_devices(std::min(count, kMaxTorchDevices));
  for (const Device device : options.devices)
    static_cast<void>(torch_device(device));
  if (are_gpus) check_peers(options.devices);
  return options;
}

}  // namespace tandem::libtorch::detail
