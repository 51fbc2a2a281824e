// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "profile/cuda/nvtx_domain.hpp"

#include <mutex>
#include <new>

#include <nvtx3/nvToolsExt.h>

namespace tandem::profile {
namespace {

/// "forward layers.0 matmul".
std::string text(const RangeName& range) {
  std::string joined = range.phase == Phase::none ? "" : name(range.phase);
  for (const std::string_view part : {range.path, std::string_view(range.op)}) {
    if (!joined.empty() && !part.empty()) joined += ' ';
    joined += part;
  }
  return joined;
}

nvtxEventAttributes_t attributes() noexcept {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return event;
}

}  // namespace

std::shared_ptr<NvtxDomain> NvtxDomain::open(const char* name) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA(name);
  if (domain == nullptr) return nullptr;
  return std::shared_ptr<NvtxDomain>(new NvtxDomain(domain));
}

NvtxDomain::~NvtxDomain() {
  nvtxDomainDestroy(domain_);
}

void NvtxDomain::push(const RangeName& name) noexcept {
  nvtxEventAttributes_t event = attributes();
  try {
    event.message.registered = find(name);
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  } catch (const std::bad_alloc&) {  // a range there must be: its end is on the way
    event.message.ascii = name.op;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  }
  nvtxDomainRangePushEx(domain_, &event);
}

void NvtxDomain::pop() noexcept {
  nvtxDomainRangePop(domain_);
}

/// What the tool knows the name by. Nothing is allocated for one that was seen before.
NvtxDomain::Registered NvtxDomain::find(const RangeName& name) {
  const std::tuple key(name.phase, name.path, std::string_view(name.op));
  {
    const std::shared_lock lock(mutex_);
    if (const auto known = names_.find(key); known != names_.end()) return known->second;
  }
  const std::unique_lock lock(mutex_);
  if (const auto known = names_.find(key); known != names_.end()) return known->second;
  return names_
      .emplace(std::tuple(name.phase, std::string(name.path), std::string(name.op)),
               nvtxDomainRegisterStringA(domain_, text(name).c_str()))
      .first->second;
}

}  // namespace tandem::profile
