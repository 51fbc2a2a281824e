// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/machine/failures.hpp"

#include <charconv>
#include <sstream>
#include <stdexcept>

namespace tandem::stand_in {
namespace {

constexpr int kOutOfMemory = 2, kUnknown = 999;  // CUDA's numbers

int usual_code(const std::string& call) {
  const bool allocates = call.find("Alloc") != std::string::npos ||
                         call.starts_with("cudaMalloc") || call == "cuMemCreate";
  return allocates ? kOutOfMemory : kUnknown;
}

}  // namespace

// Illegal address to launch failure, without those that are of peers or of host memory, and those
// of which CUDA's header says that the process must end.
bool ends_gpu(int code) {
  constexpr int kIllegalAddress = 700, kTimeout = 702, kContextDestroyed = 709, kAssert = 710;
  constexpr int kHardwareStack = 714, kLaunchFailure = 719;
  constexpr int kContained = 226, kTensorMemoryLeak = 721, kExternalDevice = 911;
  return code == kIllegalAddress || code == kTimeout || code == kContextDestroyed ||
         code == kAssert || (code >= kHardwareStack && code <= kLaunchFailure) ||
         code == kContained || code == kTensorMemoryLeak || code == kExternalDevice;
}

Failures::Failures(const std::string& text) {
  add(text);
}

void Failures::add(const std::string& text) {
  std::istringstream all(text);
  for (std::string one; std::getline(all, one, ',');) {
    failures_.push_back(read(one));
    failures_.back().first += calls(failures_.back().call);
  }
}

Failures::Failure Failures::read(const std::string& text) {
  const auto refuse = [&] {
    throw std::invalid_argument("'" + text +
                                "' is no failure; write CALL:COUNT, CALL:COUNT+ or "
                                "CALL:COUNT=CODE, such as cudaMalloc:3");
  };
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0) refuse();
  Failure f{text.substr(0, colon), 0, false, usual_code(text.substr(0, colon))};
  const char *at = text.data() + colon + 1, *const end = text.data() + text.size();
  auto done = std::from_chars(at, end, f.first);
  if (done.ec != std::errc() || f.first == 0) refuse();
  at = done.ptr;
  if (at != end && *at == '+') {
    f.and_later = true;
    ++at;
  }
  if (at != end && *at == '=') {
    done = std::from_chars(at + 1, end, f.code);
    if (done.ec != std::errc() || f.code <= 0) refuse();
    at = done.ptr;
  }
  if (at != end) refuse();
  return f;
}

int Failures::count(std::string_view call) {
  auto found = calls_.find(call);
  if (found == calls_.end()) found = calls_.emplace(call, 0).first;
  const std::uint64_t n = ++found->second;
  for (const Failure& f : failures_)
    if ((f.and_later ? n >= f.first : n == f.first) && f.call == call) return f.code;
  return 0;
}

std::uint64_t Failures::calls(std::string_view call) const {
  const auto found = calls_.find(call);
  return found == calls_.end() ? 0 : found->second;
}

}  // namespace tandem::stand_in
