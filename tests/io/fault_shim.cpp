// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "io/fault_shim.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <optional>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

// The functions below stand in front of the C library's in the whole test program, and pass every
// call on to the kernel unless a FaultShim of this thread says otherwise.
namespace {

struct Plan {
  std::string call;
  int nth;
  int code;
  bool fired = false;
  std::vector<std::string> journal = {};
};
thread_local std::optional<Plan> plan;

/// The fault for this call; nothing: let it pass.
std::optional<int> fault(const char* call) {
  if (!plan) return std::nullopt;
  plan->journal.emplace_back(call);
  if (plan->call != call || --plan->nth != 0) return std::nullopt;
  plan->fired = true;
  return plan->code;
}

int refuse(int code) {
  errno = code;
  return -1;
}

}  // namespace

extern "C" int open(const char* path, int flags, ...) {
  std::va_list args;
  va_start(args, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(args, int) : 0;
  va_end(args);
  if (const auto code = fault("open")) return refuse(*code);
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

extern "C" ssize_t write(int fd, const void* bytes, std::size_t n) {
  const auto code = fault("write");
  if (code && *code != 0) return refuse(*code);
  return ::syscall(SYS_write, fd, bytes, code ? (n + 1) / 2 : n);
}

extern "C" int fsync(int fd) {
  if (const auto code = fault("fsync")) return refuse(*code);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  if (const auto code = fault("rename")) return refuse(*code);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

extern "C" int renameat2(
    int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  if (const auto code = fault("renameat2")) return refuse(*code);
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

namespace tandem::testing {

FaultShim::FaultShim(const std::string& call, int nth, int code) {
  plan = Plan{.call = call, .nth = nth, .code = code};
}
FaultShim::~FaultShim() {
  plan.reset();
}
bool FaultShim::fired() const {
  return plan->fired;
}
const std::vector<std::string>& FaultShim::journal() const {
  return plan->journal;
}

}  // namespace tandem::testing
