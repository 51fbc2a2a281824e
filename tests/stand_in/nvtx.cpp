// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/nvtx.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include <nvtx3/nvToolsExt.h>

struct nvtxDomainRegistration_st {
  std::string name;
  std::deque<std::string> names;  // their addresses are the handles
};

namespace tandem::stand_in {
namespace {

std::mutex mutex;  // guards all below
std::vector<NvtxEvent> events;
std::set<nvtxDomainHandle_t> domains;

void add(NvtxEvent::Kind kind, nvtxDomainHandle_t domain, std::string text) {
  events.push_back({kind, std::this_thread::get_id(), domain->name, std::move(text)});
}

nvtxDomainHandle_t create(const char* name) {
  const std::lock_guard lock(mutex);
  return *domains.insert(new nvtxDomainRegistration_st{name, {}}).first;
}

void destroy(nvtxDomainHandle_t domain) {
  const std::lock_guard lock(mutex);
  domains.erase(domain);
  delete domain;
}

nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const char* text) {
  const std::lock_guard lock(mutex);
  add(NvtxEvent::Kind::name, domain, text);
  return reinterpret_cast<nvtxStringHandle_t>(&domain->names.emplace_back(text));
}

int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const std::lock_guard lock(mutex);
  const bool registered = event->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
  add(NvtxEvent::Kind::push,
      domain,
      registered ? *reinterpret_cast<const std::string*>(event->message.registered)
                 : event->message.ascii);
  return 0;
}

int pop(nvtxDomainHandle_t domain) {
  const std::lock_guard lock(mutex);
  add(NvtxEvent::Kind::pop, domain, "");
  return 0;
}

}  // namespace

std::vector<NvtxEvent> take_nvtx_events() {
  const std::lock_guard lock(mutex);
  return std::exchange(events, {});
}

int live_nvtx_domains() {
  const std::lock_guard lock(mutex);
  return static_cast<int>(domains.size());
}

}  // namespace tandem::stand_in

/// What NVTX calls of a tool: it puts its functions into NVTX's table.
extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  using namespace tandem::stand_in;
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  const auto set = [&](NvtxCallbackIdCore2 id, auto* function) {
    *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  };
  set(NVTX_CBID_CORE2_DomainCreateA, &create);
  set(NVTX_CBID_CORE2_DomainDestroy, &destroy);
  set(NVTX_CBID_CORE2_DomainRegisterStringA, &register_string);
  set(NVTX_CBID_CORE2_DomainRangePushEx, &push);
  set(NVTX_CBID_CORE2_DomainRangePop, &pop);
  return 1;
}
