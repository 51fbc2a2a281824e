// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <string_view>

#include <sys/resource.h>
#include <unistd.h>

// Limits that are too small for the program to begin: before main, OpenBLAS takes memory and
// threads, and where it gets none it turns in circles, or ends the program by a signal. What is
// here runs before the libraries' own beginnings, and uses nothing of theirs.
namespace {

constexpr rlim_t kMiB = rlim_t{1} << 20;

bool is_below(__rlimit_resource resource, rlim_t least) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur < least;
}

void refuse_if(bool too_small, std::string_view text) {
  if (!too_small) return;
  const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(written < 0 ? 2 : 1);
}

void check_start_limits(int /*argc*/, char** /*argv*/, char** /*environment*/) {
  refuse_if(
      is_below(RLIMIT_AS, 256 * kMiB),
      "tandem: the limit of address space is below 256 MiB, which the program needs to begin; "
      "raise it (ulimit -v)\n");
  refuse_if(
      is_below(RLIMIT_DATA, 160 * kMiB),
      "tandem: the limit of data is below 160 MiB, which the program needs to begin; raise it "
      "(ulimit -d)\n");
  // The limit is not for root.
  refuse_if(::geteuid() != 0 && is_below(RLIMIT_NPROC, 2),
            "tandem: the limit of processes is 1, so that no thread can be started; raise it "
            "(ulimit -u)\n");
}

[[gnu::section(".preinit_array"),
  gnu::used]] void (*const kFirst)(int, char**, char**) = check_start_limits;

}  // namespace
