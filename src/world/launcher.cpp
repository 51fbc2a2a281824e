// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/world/launcher.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "tandem/core/check.hpp"
#include "tandem/io/file.hpp"
#include "tandem/world/launch.hpp"
#include "tandem/world/store_server.hpp"

#include "world/child_process.hpp"
#include "world/launch_signals.hpp"
#include "world/line_output.hpp"
#include "world/own_arguments.hpp"

namespace tandem::world {
namespace {

using Clock = std::chrono::steady_clock;
using tandem::detail::concat;
using tandem::detail::Descriptor;

constexpr auto kAfterKill = std::chrono::seconds(5);  // for output that grandchildren hold open
// For the others to hear of a failure, say what they know of it, and end by themselves.
constexpr auto kToNotice = std::chrono::seconds(1);
constexpr auto kTick = std::chrono::milliseconds(100);

/// A rank: its process, and what becomes of its output.
class Rank {
 public:
  Rank(int rank,
       const LauncherOptions& options,
       const std::map<std::string, std::string>& variables)
      : rank_(rank),
        out_file_(log_file(options, rank, "out")),
        err_file_(log_file(options, rank, "err")),
        process_(options.command, variables),
        out_(target(out_file_, STDOUT_FILENO), prefix(options, rank)),
        err_(target(err_file_, STDERR_FILENO), prefix(options, rank)) {}

  ChildProcess& process() noexcept { return process_; }
  int rank() const noexcept { return rank_; }
  const LineOutput& errors() const noexcept { return err_; }
  /// @throws FileError  lines of the process could not be written.
  void check_output() const {
    check_output(out_, out_file_, "stdout");
    check_output(err_, err_file_, "stderr");
  }
  /// Whether the process may still print.
  bool prints() const noexcept { return out_is_open_ || err_is_open_; }

  void add_polls(std::vector<pollfd>& polls) const {
    if (out_is_open_) polls.push_back({process_.out(), POLLIN, 0});
    if (err_is_open_) polls.push_back({process_.err(), POLLIN, 0});
  }
  void read() {
    if (out_is_open_ && !out_.read(process_.out())) out_is_open_ = false;
    if (err_is_open_ && !err_.read(process_.err())) err_is_open_ = false;
    if (!out_is_open_) out_.finish();
    if (!err_is_open_) err_.finish();
  }
  void stop_reading() {
    out_.finish();
    err_.finish();
    out_is_open_ = err_is_open_ = false;
  }

 private:
  void check_output(const LineOutput& lines, const Descriptor& file, const char* kind) const {
    if (lines.error() == 0) return;
    throw FileError(file.get() < 0 ? kind : concat(rank_, '.', kind + 3),
                    -1,
                    concat("cannot be written, and what rank ",
                           rank_,
                           " printed is lost: ",
                           std::generic_category().message(lines.error()),
                           "; give it more room, or --log-dir another folder"));
  }
  static std::string prefix(const LauncherOptions& options, int rank) {
    return options.log_dir.empty() ? concat('[', rank, "] ") : "";
  }
  static int target(const Descriptor& file, int otherwise) {
    return file.get() >= 0 ? file.get() : otherwise;
  }
  static Descriptor log_file(const LauncherOptions& options, int rank, const char* kind) {
    if (options.log_dir.empty()) return Descriptor();
    const auto path = std::filesystem::path(options.log_dir) / concat(rank, '.', kind);
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    TANDEM_CHECK(file.get() >= 0,
                 "launch: ",
                 path.string(),
                 " cannot be written; give --log-dir a folder that can");
    return file;
  }

  int rank_;
  Descriptor out_file_, err_file_;
  ChildProcess process_;
  LineOutput out_, err_;
  bool out_is_open_ = true, err_is_open_ = true;
};

/// All processes of a launch.
class Launcher {
 public:
  explicit Launcher(const LauncherOptions& options) : options_(options), server_(options.store) {
    if (!options.log_dir.empty()) std::filesystem::create_directories(options.log_dir);
    for (int rank = 0; rank < options.processes; ++rank)
      ranks_.emplace_back(rank, options_, variables_of(rank));
  }
  ~Launcher() {
    for (Rank& rank : ranks_)
      rank.process().signal(SIGKILL);
    for (Rank& rank : ranks_)
      while (!rank.process().has_ended() && !rank.process().look())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  int run() {
    while (wait()) {
      pass_signals_on();
      look_for_ends();
      if (ask_at_ && Clock::now() >= *ask_at_) ask_to_end();
      if (kill_at_ && Clock::now() >= *kill_at_) signal_all(SIGKILL);
    }
    if (failed_ != nullptr) report();
    if (stopped_by_ != 0) return 128 + stopped_by_;
    if (failed_ != nullptr) return failed_->process().status();
    for (const Rank& rank : ranks_)
      rank.check_output();
    return 0;
  }

 private:
  std::map<std::string, std::string> variables_of(int rank) const {
    const std::string number = std::to_string(rank), all = std::to_string(options_.processes);
    std::map<std::string, std::string> variables{
        {"RANK", number},
        {"WORLD_SIZE", all},
        {"LOCAL_RANK", number},
        {"LOCAL_WORLD_SIZE", all},
        {"GROUP_RANK", "0"},
        {"GROUP_WORLD_SIZE", "1"},
        {"MASTER_ADDR", server_.address().host},
        {"MASTER_PORT", std::to_string(server_.address().port)},
        {"TORCHELASTIC_USE_AGENT_STORE", "True"},
        {"TORCHELASTIC_RESTART_COUNT", "0"},
        {"TORCHELASTIC_MAX_RESTARTS", "0"},
        {"TORCHELASTIC_RUN_ID", "tandem"},
        {"TANDEM_LAUNCH_ID", std::to_string(::getpid())}};
    if (!environment_variable("OMP_NUM_THREADS")) {
      const auto cores = static_cast<int>(std::thread::hardware_concurrency());
      variables["OMP_NUM_THREADS"] = std::to_string(std::max(1, cores / options_.processes));
    }
    return variables;
  }

  /// Reads what has been printed. @return  false: all is over
  bool wait() {
    std::vector<pollfd> polls{{signals_.fd(), POLLIN, 0}};
    for (const Rank& rank : ranks_)
      rank.add_polls(polls);
    const bool lives =
        std::ranges::any_of(ranks_, [](Rank& rank) { return !rank.process().has_ended(); });
    if (!lives && !give_up_at_) give_up_at_ = Clock::now() + kAfterKill;
    if (!lives && (polls.size() == 1 || Clock::now() >= *give_up_at_)) {
      for (Rank& rank : ranks_)
        rank.stop_reading();
      return false;
    }
    ::poll(polls.data(), polls.size(), static_cast<int>(kTick.count()));
    for (Rank& rank : ranks_)
      rank.read();
    return true;
  }

  void pass_signals_on() {
    for (int number = signals_.next(); number != 0; number = signals_.next()) {
      if (number == SIGCHLD) continue;
      signal_all(number);
      if (is_only_news(number)) continue;
      if (stopped_by_ == 0 && failed_ == nullptr) stopped_by_ = number;
      if (!kill_at_) kill_at_ = Clock::now() + options_.grace;
    }
  }

  void look_for_ends() {
    for (Rank& rank : ranks_) {
      if (!rank.process().look() || failed_ != nullptr) continue;
      const int status = rank.process().status();
      if (status == 0 || is_wanted_end(status)) continue;
      failed_ = &rank;
      if (stopped_by_ == 0) ask_at_ = Clock::now() + kToNotice;  // otherwise all have been asked
    }
  }

  /// Whether a process ended so because it was asked to, or was ended after the grace.
  bool is_wanted_end(int status) const {
    if (stopped_by_ == 0) return false;
    const bool was_ended = kill_at_ && Clock::now() >= *kill_at_ && status == 128 + SIGKILL;
    return status == 128 + stopped_by_ || was_ended;
  }

  void ask_to_end() {
    ask_at_.reset();
    signal_all(SIGTERM);
    if (!kill_at_) kill_at_ = Clock::now() + options_.grace;
  }

  void signal_all(int number) {
    for (Rank& rank : ranks_)
      rank.process().signal(number);
  }

  /// What the first that failed has printed last, as the last thing that is printed.
  void report() const {
    std::string text = concat("tandem launch: rank ",
                              failed_->rank(),
                              " (pid ",
                              failed_->process().pid(),
                              ") ended first: ",
                              failed_->process().end());
    const auto& lines = failed_->errors().last_lines();
    if (!lines.empty()) text += "; its last lines:";
    for (const std::string& line : lines)
      text += '\n' + line;
    text += '\n';
    static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  }

  const LauncherOptions& options_;
  LaunchSignals signals_;  // first, so that no process is started without it
  StoreServer server_;
  std::list<Rank> ranks_;
  Rank* failed_ = nullptr;  // the first
  int stopped_by_ = 0;      // a signal to this process
  std::optional<Clock::time_point> ask_at_, kill_at_, give_up_at_;
};

}  // namespace

int launch(const LauncherOptions& options) {
  TANDEM_CHECK(!options.command.empty(), "launch: there is no program to start; name one");
  TANDEM_CHECK(
      options.processes >= 1, "launch: ", options.processes, " processes; start at least one");
  return Launcher(options).run();
}

std::optional<int> spawn(LauncherOptions options) {
  TANDEM_CHECK(options.command.empty(),
               "spawn: it starts this program, but the options have the command '",
               options.command[0],
               "'; use launch for that");
  TANDEM_CHECK(
      options.processes >= 1, "spawn: ", options.processes, " processes; start at least one");
  if (options.processes == 1 || read_launch()) return std::nullopt;
  options.command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  for (std::string& argument : own_arguments())
    options.command.push_back(std::move(argument));
  return launch(options);
}

}  // namespace tandem::world
