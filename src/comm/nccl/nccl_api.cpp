// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/nccl/nccl_api.hpp"

#include <string>

#include <dlfcn.h>

#include "tandem/config.hpp"
#include "tandem/core/error.hpp"

namespace tandem::comm {
namespace {

constexpr int kFirstVersion = 21800;  // 2.18
constexpr int kNextMajor = 30000;     // a next major version may have other functions

/// Looks functions up in a library.
class Lookup {
 public:
  explicit Lookup(void* library) : library_(library) {}

  template <class F>
  void find(const char* name, F*& function) {
    function = reinterpret_cast<F*>(dlsym(library_, name));
    has_all_ = has_all_ && function != nullptr;
  }
  template <class... Calls>
  void find_all(Calls&... calls) {
    (find(calls.name, calls.function), ...);
  }
  bool has_all() const { return has_all_; }

 private:
  void* library_;
  bool has_all_ = true;
};

/// Of a library that stays loaded, because somebody else has loaded it.
std::optional<NcclApi> loaded_nccl() {
  void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  NcclApi api;
  Lookup in(library);
  in.find("ncclGetErrorString", api.error_string);
  in.find("ncclGetLastError", api.last_error);
  in.find_all(api.version,
              api.unique_id,
              api.init_rank,
              api.finalize,
              api.destroy,
              api.abort,
              api.async_error,
              api.group_start,
              api.group_end);
  in.find_all(api.send,
              api.receive,
              api.broadcast,
              api.reduce,
              api.all_reduce,
              api.all_gather,
              api.reduce_scatter,
              api.make_factor,
              api.destroy_op);
  int version = 0;
  if (!in.has_all() || api.version.function(&version) != NcclResult::success) return std::nullopt;
  if (version < kFirstVersion || version >= kNextMajor) return std::nullopt;
  return api;
}

}  // namespace

void NcclApi::check(NcclResult result, const char* call) const {
  if (result == NcclResult::success || result == NcclResult::in_progress) return;
  const char* const more = last_error(nullptr);
  std::string text = error_string(result);
  if (more != nullptr && *more != 0) text.append(" (").append(more).append(")");
  throw DeviceError(
      "NCCL", call, static_cast<int>(result), text + "; set NCCL_DEBUG=WARN to see more");
}

std::optional<NcclApi> find_nccl() {
  if constexpr (has_nccl)
    return linked_nccl();
  else
    return loaded_nccl();
}

}  // namespace tandem::comm
