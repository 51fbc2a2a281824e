// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/nccl/make_links.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "comm/nccl/check.hpp"
#include "comm/nccl/links.hpp"

namespace tandem::comm {

bool ranks_share_gpus() {
  int version = 0;
  TANDEM_NCCL(ncclGetVersion(&version));
  const char* const on = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return version >= NCCL_VERSION(2, 30, 0) && on != nullptr && std::string_view(on) == "1";
}

std::shared_ptr<Transport> make_links(std::vector<Device> devices,
                                      std::chrono::milliseconds timeout) {
  auto links = std::make_shared<NcclLinks>(std::move(devices), timeout);
  links->connect();
  return links;
}

}  // namespace tandem::comm
