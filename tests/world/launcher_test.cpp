// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/world/launcher.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tandem/core/error.hpp"

#include "thrown_text.hpp"

namespace tandem::world::test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::thrown_text;
using namespace std::chrono_literals;

/// What launch() gives, and what is printed meanwhile, which goes to files.
struct Outcome {
  int status = 0;
  std::string out, err;
};

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class LauncherTest : public ::testing::Test {
 protected:
  ~LauncherTest() override { std::filesystem::remove_all(folder); }

  /// Options for processes that run a shell's commands.
  LauncherOptions shell(int processes, const std::string& script) const {
    return {.command = {"sh", "-c", script}, .processes = processes, .grace = 500ms};
  }
  /// In a process of its own, so that its output is a file's. The signal is sent when each process
  /// has printed "ready".
  Outcome run(const LauncherOptions& options, int signal = 0) const {
    std::filesystem::create_directories(folder);
    const auto out = folder / "out", err = folder / "err";
    std::filesystem::remove(out);
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      static_cast<void>(!std::freopen(out.c_str(), "w", stdout));
      static_cast<void>(!std::freopen(err.c_str(), "w", stderr));
      // It waits again after a signal: one that has ended and that nobody joins is a leak.
      const auto waits = [] {
        for (;;)
          ::pause();
      };
      const auto idle = has_threads ? std::thread(waits) : std::thread();
      ::_exit(launch(options));
    }
    if (signal != 0) {
      const auto deadline = std::chrono::steady_clock::now() + 20s;
      while (ready(out) < options.processes && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(5ms);
      ::kill(pid, signal);
    }
    int how = 0;
    ::waitpid(pid, &how, 0);
    return {WEXITSTATUS(how), content(out), content(err)};
  }

  /// How many processes have said that they are.
  static int ready(const std::filesystem::path& out) {
    std::ifstream file(out);
    int all = 0;
    for (std::string line; std::getline(file, line);)
      all += line.ends_with("ready") ? 1 : 0;
    return all;
  }

  bool has_threads = false;  // of the process that launches
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tandem-launch-" + std::to_string(::getpid()));
};

TEST_F(LauncherTest, EachProcessKnowsWhoItIs) {
  const Outcome done = run(shell(3, "echo $RANK of $WORLD_SIZE, $LOCAL_RANK, $MASTER_ADDR"));
  EXPECT_EQ(done.status, 0);
  std::set<std::string> lines;
  std::istringstream in(done.out);
  for (std::string line; std::getline(in, line);)
    lines.insert(line);
  EXPECT_EQ(
      lines,
      (std::set<std::string>{
          "[0] 0 of 3, 0, 127.0.0.1", "[1] 1 of 3, 1, 127.0.0.1", "[2] 2 of 3, 2, 127.0.0.1"}));
  EXPECT_EQ(done.err, "");
}

TEST_F(LauncherTest, SpawnStartsNothingButItsOwnProgram) {
  EXPECT_THAT(thrown_text([&] { spawn(shell(2, "echo")); }), HasSubstr("the command 'sh'"));
  EXPECT_THAT(thrown_text([&] { spawn({.processes = 0}); }), HasSubstr("0 processes"));
}

TEST_F(LauncherTest, LinesAreNeverTorn) {
  const Outcome done =
      run(shell(4,
                "i=0; while [ $i -lt 200 ]; do printf 'a%s' $RANK; printf 'b%s\\n' "
                "$RANK; i=$((i+1)); done; printf end$RANK"));
  std::istringstream in(done.out);
  int whole = 0, ends = 0;
  for (std::string line; std::getline(in, line);) {
    ASSERT_GE(line.size(), 8u) << line;
    const std::string r = line.substr(1, 1);
    if (line == "[" + r + "] a" + r + "b" + r) ++whole;
    if (line == "[" + r + "] end" + r) ++ends;
  }
  EXPECT_EQ(whole, 800);
  EXPECT_EQ(ends, 4) << "a line without an end is one, too";
}

TEST_F(LauncherTest, TheFirstThatFailsEndsAllAndHasTheLastWord) {
  const auto begin = std::chrono::steady_clock::now();
  const Outcome done =
      run(shell(3,
                "if [ $RANK = 1 ]; then sleep 0.2; echo 'why it is' >&2; exit 7; fi; "
                "trap 'echo stopped >&2; exit 3' TERM; while :; do sleep 0.05; done"));
  EXPECT_EQ(done.status, 7);
  EXPECT_THAT(done.err,
              AllOf(HasSubstr("[0] stopped"),
                    HasSubstr("tandem launch: rank 1 (pid "),
                    EndsWith("ended first: exit status 7; its last lines:\nwhy it is\n")));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST_F(LauncherTest, TheOthersMayNoticeAFailureAndEndByThemselves) {
  const std::string fails = (folder / "fails").string();
  const Outcome done =
      run(shell(2,
                "if [ $RANK = 0 ]; then touch " + fails + "; exit 7; fi; until [ -e " + fails +
                    " ]; do sleep 0.01; done; sleep 0.1; echo it has failed >&2; "
                    "exit 3"));
  EXPECT_EQ(done.status, 7);
  EXPECT_THAT(done.err, HasSubstr("[1] it has failed"));
}

TEST_F(LauncherTest, ThoseThatDoNotEndAreEnded) {
  const auto begin = std::chrono::steady_clock::now();
  const Outcome done =
      run(shell(2, "trap '' TERM; [ $RANK = 0 ] && sleep 0.3 && kill -9 $$; sleep 100"));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 1700ms) << "a second, and the grace";
  EXPECT_EQ(done.status, 128 + SIGKILL);
  EXPECT_THAT(done.err, HasSubstr("rank 0 (pid"));
  EXPECT_THAT(done.err, HasSubstr("killed by SIGKILL (exit status 137)"));
}

TEST_F(LauncherTest, AnEndBySignalIsToldFromAnExitStatus) {
  const Outcome crashed = run(shell(1, "kill -SEGV $$")), left = run(shell(1, "exit 139"));
  EXPECT_EQ(crashed.status, 128 + SIGSEGV);
  EXPECT_THAT(crashed.err, EndsWith("ended first: killed by SIGSEGV (exit status 139)\n"));
  EXPECT_EQ(left.status, 139);
  EXPECT_THAT(left.err, EndsWith("ended first: exit status 139\n"));
  const Outcome other = run(shell(1, "kill -40 $$"));
  EXPECT_THAT(other.err, EndsWith("ended first: killed by signal 40 (exit status 168)\n"));
}

TEST_F(LauncherTest, SignalsArePassedOn) {
  const std::string waits =
      "trap 'echo has come; exit 0' TERM; echo ready; while :; do sleep 0.02; done";
  const Outcome done = run(shell(2, waits), SIGTERM);
  EXPECT_EQ(done.status, 128 + SIGTERM);
  EXPECT_THAT(done.out, AllOf(HasSubstr("[0] has come"), HasSubstr("[1] has come")));
}

TEST_F(LauncherTest, SignalsArePassedOnWhicheverThreadGetsThem) {
  has_threads = true;
  for (const auto& [name, number] : std::map<std::string, int>{
           {"TERM", SIGTERM}, {"INT", SIGINT}, {"HUP", SIGHUP}, {"QUIT", SIGQUIT}}) {
    SCOPED_TRACE(name);
    const Outcome done = run(shell(2,
                                   "trap 'sleep 0.1; echo saved; exit 0' " + name +
                                       "; echo ready; while :; do sleep 0.02; done"),
                             number);
    EXPECT_EQ(done.status, 128 + number);
    EXPECT_THAT(done.out, AllOf(HasSubstr("[0] saved"), HasSubstr("[1] saved")));
    EXPECT_THAT(done.err, Not(HasSubstr("ended first"))) << "it is no failure";
  }
}

TEST_F(LauncherTest, NewsArePassedOnAndEndNothing) {
  has_threads = true;
  for (const auto& [name, number] :
       std::map<std::string, int>{{"USR1", SIGUSR1}, {"USR2", SIGUSR2}}) {
    SCOPED_TRACE(name);
    const Outcome done = run(shell(2,
                                   "trap 'echo has come; exit 0' " + name +
                                       "; echo ready; while :; do sleep 0.02; done"),
                             number);
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_THAT(done.out, AllOf(HasSubstr("[0] has come"), HasSubstr("[1] has come")));
  }
}

TEST_F(LauncherTest, ThoseThatDoNotHearASignalAreEndedAfterTheGrace) {
  has_threads = true;
  const auto begin = std::chrono::steady_clock::now();
  const Outcome done = run(shell(2, "trap '' TERM; echo ready; sleep 100"), SIGTERM);
  EXPECT_EQ(done.status, 128 + SIGTERM) << "it is the signal that ends the launch\n" << done.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST_F(LauncherTest, ProcessesGetSignalsAsInAShellOfTheirOwn) {
  std::signal(SIGINT, SIG_IGN);  // as for what a script starts in the background
  std::signal(SIGPIPE, SIG_IGN);
  const Outcome done = run(shell(1, "trap 'echo has come; exit 0' INT; kill -INT $$; echo not"));
  const Outcome pipe = run(shell(1, "kill -PIPE $$; echo not"));
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(done.out, "[0] has come\n");
  EXPECT_EQ(pipe.status, 128 + SIGPIPE);
}

TEST_F(LauncherTest, OutputThatIsLostIsAnError) {
  std::filesystem::create_directories(folder / "logs");
  std::filesystem::create_symlink("/dev/full", folder / "logs" / "1.out");
  LauncherOptions options = shell(2, "echo out $RANK");
  options.log_dir = (folder / "logs").string();
  EXPECT_THAT(thrown_text<FileError>([&] { launch(options); }),
              AllOf(HasSubstr("1.out"), HasSubstr("what rank 1 printed is lost: No space left")));
}

TEST_F(LauncherTest, FilesTakeTheOutput) {
  LauncherOptions options = shell(2, "echo out $RANK; echo err $RANK >&2");
  options.log_dir = (folder / "logs").string();
  const Outcome done = run(options);
  EXPECT_EQ(done.out + done.err, "");
  EXPECT_EQ(content(folder / "logs" / "1.out"), "out 1\n");
  EXPECT_EQ(content(folder / "logs" / "0.err"), "err 0\n");
}

TEST_F(LauncherTest, WhatCannotBeStartedIsNamed) {
  EXPECT_THAT(
      thrown_text([] { launch({.command = {"no-such-program"}}); }),
      AllOf(HasSubstr("'no-such-program' cannot be run: No such file"), HasSubstr("check")));
  EXPECT_THAT(thrown_text([] { launch({.command = {}}); }), HasSubstr("no program"));
  EXPECT_THAT(thrown_text([] { launch({.command = {"true"}, .processes = 0}); }),
              HasSubstr("0 processes"));
}

}  // namespace
}  // namespace tandem::world::test
