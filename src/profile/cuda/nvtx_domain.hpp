// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <tuple>

#include "tandem/runtime/memory.hpp"

struct nvtxDomainRegistration_st;
struct nvtxStringRegistration_st;

// No header of CUDA is read here; the definitions stand in a build with NVTX alone, and calls to
// them under `if constexpr (has_nvtx)`.
namespace tandem::profile {

/// What a range is named after; the op's is a string literal.
struct RangeName {
  Phase phase;
  std::string_view path;
  const char* op;
};

/// A domain of NVTX. Thread-safe: a thread has ranges of its own.
class NvtxDomain {
 public:
  /// @return  null where no tool watches the process.
  static std::shared_ptr<NvtxDomain> open(const char* name);
  ~NvtxDomain();
  NvtxDomain(const NvtxDomain&) = delete;
  NvtxDomain& operator=(const NvtxDomain&) = delete;

  void push(const RangeName& name) noexcept;
  void pop() noexcept;

 private:
  using Registered = nvtxStringRegistration_st*;

  explicit NvtxDomain(nvtxDomainRegistration_st* domain) noexcept : domain_(domain) {}
  Registered find(const RangeName& name);

  nvtxDomainRegistration_st* domain_;
  std::shared_mutex mutex_;  // guards names_
  std::map<std::tuple<Phase, std::string, std::string>, Registered, std::less<>> names_;
};

}  // namespace tandem::profile
