// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/group.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/world/world.hpp"

#include "comm/gpu_engine.hpp"
#include "comm/host_engine.hpp"
#include "comm/make_ranks.hpp"
#include "comm/nccl/links.hpp"
#include "comm/nccl/nccl_api.hpp"
#include "comm/processes/process_ranks.hpp"
#include "runtime/gpu/gpu_device.hpp"

namespace tandem::comm {
namespace {

using tandem::detail::concat;

[[noreturn]] void refuse(const std::string& why) {
  throw InvalidArgument("make_group: " + why);
}

void check(std::span<const Device> devices, const GroupOptions& options) {
  if (devices.empty()) refuse("the list of devices is empty; name at least one");
  if (options.timeout.count() <= 0)
    refuse(concat("timeout is ", options.timeout.count(), " ms; expected more than zero"));
  if (options.segment_bytes <= 0)
    refuse(concat("segment_bytes is ", options.segment_bytes, "; expected more than zero"));
  for (auto d = devices.begin(); d != devices.end(); ++d) {
    logical_device(*d);  // refuses a device that this build does not have
    if (std::find(devices.begin(), d, *d) != d)
      refuse(concat(*d, " is listed twice; each rank needs a device of its own"));
    if (d->type != devices.front().type) {
      refuse(concat(devices.front(),
                    " and ",
                    *d,
                    " are of different kinds; use only cpu devices, or only cuda devices"));
    }
  }
}

/// Whether this NCCL allows several ranks on one GPU.
bool ranks_share_gpus(const NcclApi& nccl) {
  constexpr int kFirst = 23000;  // 2.30
  int version = 0;
  nccl(nccl.version, &version);
  const char* const on = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return version >= kFirst && on != nullptr && std::string_view(on) == "1";
}

/// Why NCCL cannot serve these GPUs: not each is one of its own, whose streams NCCL can be given.
std::string nccl_refusal(std::span<const Device> devices, const NcclApi& nccl) {
  const char* const blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (devices.size() > 1 && blocking != nullptr && std::string_view(blocking) == "1") {
    return "with CUDA_LAUNCH_BLOCKING=1 the launch of one GPU's collective waits for its end, and "
           "so for the launches on the other GPUs; unset it, or use backend local";
  }
  for (auto d = devices.begin(); d != devices.end(); ++d) {
    const GpuDevice& own = *logical_device(*d).gpu();
    if (own.side_stream()->handle() == nullptr)
      return concat(*d, " has no stream of CUDA's that NCCL could use; use backend local");
    const auto other = std::find_if(devices.begin(), d, [&](Device o) {
      return logical_device(o).gpu()->ordinal() == own.ordinal();
    });
    if (other != d && !ranks_share_gpus(nccl)) {
      return concat(*other,
                    " and ",
                    *d,
                    " are on one GPU, but NCCL allows one rank per GPU (NCCL 2.30 and later "
                    "allow more with NCCL_MULTI_RANK_GPU_ENABLE=1); use backend local");
    }
  }
  return "";
}

}  // namespace

std::string backend_refusal(std::span<const Device> devices, Backend backend) {
  if (backend == Backend::local) return "";
  for (const Device d : devices)
    if (d.type != DeviceType::cuda)
      return concat(d, " is not a GPU, but NCCL needs GPUs; use backend local");
  const auto nccl = find_nccl();
  if (nccl) return nccl_refusal(devices, *nccl);
  return "this build has no NCCL, and no other library of the process has loaded one, as PyTorch's "
         "for CUDA does; install NCCL 2.18 or later, configure with -D TANDEM_CUDA=ON -D "
         "TANDEM_NCCL=ON (and -D NCCL_ROOT=the folder that it is in), or use backend local";
}

std::shared_ptr<SharedTransport> make_transport(std::span<const Device> devices,
                                                const GroupOptions& options) {
  if (options.backend == Backend::local) return nullptr;
  const std::string refusal = backend_refusal(devices, options.backend);
  if (!refusal.empty()) refuse(refusal);
  auto links = std::make_shared<NcclLinks>(
      *find_nccl(), std::vector(devices.begin(), devices.end()), options.timeout);
  links->connect();
  return std::make_shared<SharedTransport>(std::move(links), options.timeout);
}

std::vector<std::unique_ptr<Communicator>> make_group(std::span<const Device> devices,
                                                      GroupOptions options,
                                                      TransportCache& cache) {
  check(devices, options);
  if (options.world != nullptr && options.world->size() > 1)
    return make_process_ranks(devices, std::move(options));
  if (options.backend == Backend::gloo || options.backend == Backend::mpi)
    refuse(
        concat("backend ",
               name(options.backend),
               " is for groups of several processes; start them by a launcher (torchrun, mpirun, "
               "srun, tandem launch), and give the group a world"));
  auto transport = cache.use(devices, options);
  RankTable table({devices.begin(), devices.end()});
  std::shared_ptr<Engine> engine;
  if (devices.front().type == DeviceType::cuda)
    engine = std::make_shared<GpuEngine>(table, std::move(transport));
  else
    engine = std::make_shared<HostEngine>();
  return make_ranks(std::move(table), std::move(options), std::move(engine));
}

std::vector<std::unique_ptr<Communicator>> make_group(std::span<const Device> devices,
                                                      GroupOptions options) {
  TransportCache own;
  return make_group(devices, std::move(options), own);
}

}  // namespace tandem::comm
