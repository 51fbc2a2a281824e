// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/child_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tandem/core/check.hpp"

#include "world/launch_signals.hpp"

extern char** environ;

namespace tandem::world {
namespace {

using tandem::detail::concat;
using tandem::detail::Descriptor;

struct Pipe {
  Descriptor read, write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw CommError("launch: the system has no descriptor left; start fewer processes");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!more.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : more)
    all.push_back(concat(name, '=', value));
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts)
    all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// In the child, between fork and exec: only what is safe while other threads were in the middle of
/// something. Writes errno to `failed` if it comes back.
void become(char* const* argv, char* const* envp, pid_t parent, int out, int err, int failed) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it has gone before that was asked for
  forget_launch_signals();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 ||
      ::dup2(err, STDERR_FILENO) < 0)
    ::_exit(1);
  ::execvpe(argv[0], argv, envp);
  const int error = errno;
  static_cast<void>(!::write(failed, &error, sizeof error));
  ::_exit(127);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command,
                           const std::map<std::string, std::string>& environment) {
  std::vector<std::string> words = command, variables = merged_environment(environment);
  const std::vector<char*> argv = pointers_to(words), envp = pointers_to(variables);
  Pipe out = make_pipe(), err = make_pipe(), failed = make_pipe();
  const pid_t parent = ::getpid();
  // No handler of this process runs in the child, before it has become another program.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_ = ::fork();
  const int no_process = errno;
  if (pid_ != 0) ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid_ < 0)
    throw CommError("launch: the system starts no more processes: " +
                    std::generic_category().message(no_process) +
                    "; start fewer, or raise the limit (ulimit -u)");
  if (pid_ == 0)
    become(argv.data(), envp.data(), parent, out.write.get(), err.write.get(), failed.write.get());
  ::setpgid(pid_, pid_);  // as the child does: whoever comes first
  failed.write = Descriptor();
  int error = 0;
  if (::read(failed.read.get(), &error, sizeof error) == sizeof error) {
    ::waitpid(pid_, nullptr, 0);
    throw InvalidArgument(concat("launch: '",
                                 command[0],
                                 "' cannot be run: ",
                                 std::generic_category().message(error),
                                 "; check the program's name"));
  }
  out_ = std::move(out.read);
  err_ = std::move(err.read);
  ::fcntl(out_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(err_.get(), F_SETFL, O_NONBLOCK);
}

std::string ChildProcess::end() const {
  std::string status = concat("exit status ", status_);
  if (signal_ == 0) return status;
  const char* const name = ::sigabbrev_np(signal_);  // null: it is one of those without names
  return concat("killed by ",
                name != nullptr ? concat("SIG", name) : concat("signal ", signal_),
                " (",
                status,
                ')');
}

void ChildProcess::signal(int number) const {
  if (!has_ended_) ::kill(-pid_, number);
}

bool ChildProcess::look() {
  if (has_ended_) return false;
  int how = 0;
  if (::waitpid(pid_, &how, WNOHANG) != pid_) return false;
  has_ended_ = true;
  signal_ = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
  status_ = signal_ != 0 ? 128 + signal_ : WEXITSTATUS(how);
  return true;
}

}  // namespace tandem::world
