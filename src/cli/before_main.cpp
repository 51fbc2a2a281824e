// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <string_view>

#include <alloca.h>
#include <sys/resource.h>
#include <unistd.h>

// What runs before the libraries' own beginnings, and uses nothing of theirs. OpenBLAS starts a
// thread for each core before main. Where such a thread gets no memory it turns in circles, also at
// the end of the program, which waits for it; where none can be started, OpenBLAS ends the program
// by a signal. tandem multiplies on threads of its own, so that it needs none of them.
namespace {

constexpr rlim_t kMebibyte = rlim_t{1} << 20;
constexpr std::string_view kThreads = "OPENBLAS_NUM_THREADS=";
char kOneThread[] = "OPENBLAS_NUM_THREADS=1";

bool is_below(__rlimit_resource resource, rlim_t least) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur < least;
}

void refuse_if(bool too_small, std::string_view text) {
  if (!too_small) return;
  const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(written < 0 ? 2 : 1);
}

/// Limits that are too small for the program to begin.
void check_start_limits() {
  refuse_if(
      is_below(RLIMIT_AS, 256 * kMebibyte),
      "tandem: the limit on address space is below the 256 MiB that the program needs to start; "
      "raise it (ulimit -v)\n");
  refuse_if(
      is_below(RLIMIT_DATA, 160 * kMebibyte),
      "tandem: the limit on data is below the 160 MiB that the program needs to start; raise it "
      "(ulimit -d)\n");
  // The limit is not for root.
  refuse_if(::geteuid() != 0 && is_below(RLIMIT_NPROC, 2),
            "tandem: the limit on processes is 1, so no thread can be started; raise it "
            "(ulimit -u)\n");
}

/// Starts the program anew without OpenBLAS's threads. Where that fails, they are there.
void leave_out_threads_of_openblas(char** arguments, char** environment) {
  std::size_t count = 0;
  for (; environment[count] != nullptr; ++count)
    if (std::string_view(environment[count]).starts_with(kThreads)) return;
  auto** const more = static_cast<char**>(::alloca((count + 2) * sizeof(char*)));
  for (std::size_t i = 0; i < count; ++i)
    more[i] = environment[i];
  more[count] = kOneThread;
  more[count + 1] = nullptr;
  ::execve("/proc/self/exe", arguments, more);
}

void begin(int /*argc*/, char** arguments, char** environment) {
  check_start_limits();
  leave_out_threads_of_openblas(arguments, environment);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const kFirst)(int, char**, char**) = begin;

}  // namespace
