// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/watch_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

#include "tandem/core/check.hpp"

#include "world/frame.hpp"
#include "world/socket.hpp"
#include "world/wake_up.hpp"
#include "world/watch.hpp"

namespace tandem::world {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr std::size_t kMostUntaken = std::size_t{16} << 20;
// Limits of connections that have not said the run's word: clocks that are compared, processes that
// have just begun, and strangers.
constexpr auto kToSayWord = std::chrono::seconds(10);
constexpr std::size_t kMostStrangers = 256, kMostOfStranger = 4096;
constexpr auto kNoDescriptor = std::chrono::milliseconds(20);

}  // namespace

class WatchServer::Impl {
 public:
  Impl(const std::string& host, int processes, std::string word)
      : listener_(Address{host, 0}), processes_(processes), word_(std::move(word)) {
    thread_ = std::thread([this] { run(); });
  }
  ~Impl() {
    wake_.call();
    thread_.join();
  }
  const Address& address() const { return listener_.address(); }

 private:
  /// The line to a process.
  struct Line {
    tandem::detail::Descriptor fd;
    FrameReader reader = {};
    std::string out = {};  // what it has not taken yet
    int process = -1;      // not known yet
    bool is_leaving = false;
    std::string progress = {};
    Clock::time_point seen = Clock::now(), since = Clock::now();
  };

  void run() {
    auto next = Clock::now() + Watch::kBeat;
    while (!wait(next)) {
      for (auto fd = accept(); fd.get() >= 0; fd = accept())
        lines_.push_back({.fd = std::move(fd)});
      for (Line& line : lines_)
        read(line);
      drop_strangers();
      if (Clock::now() >= next) {
        tell_states();
        next = Clock::now() + Watch::kBeat;
      }
      for (Line& line : lines_)
        write(line);
      std::erase_if(lines_, [](const Line& line) { return line.fd.get() < 0; });
    }
    say({Frame::Kind::end, 0, ""});
    for (Line& line : lines_)
      write(line);
  }

  /// @return  whether it is to end
  bool wait(Clock::time_point until) {
    std::vector<pollfd> polls{{wake_.fd(), POLLIN, 0}, {listener_.fd(), POLLIN, 0}};
    for (const Line& line : lines_)
      polls.push_back(
          {line.fd.get(), static_cast<short>(line.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    const auto left = duration_cast<milliseconds>(until - Clock::now()).count();
    ::poll(polls.data(), polls.size(), static_cast<int>(std::max<decltype(left)>(0, left)) + 1);
    return polls[0].revents != 0;
  }

  /// The next that calls. Without a descriptor for it, the oldest stranger makes room.
  tandem::detail::Descriptor accept() {
    auto fd = listener_.accept();
    if (fd.get() >= 0 || (errno != EMFILE && errno != ENFILE)) return fd;
    const auto stranger = std::ranges::find(lines_, -1, &Line::process);
    if (stranger != lines_.end()) {
      lines_.erase(stranger);
      return listener_.accept();
    }
    std::this_thread::sleep_for(kNoDescriptor);  // poll would come back at once
    return fd;
  }

  /// Lines stand by age: the oldest of too many go, and those that have had their time.
  void drop_strangers() {
    const auto is_stranger = [](const Line& line) {
      return line.process < 0 && line.fd.get() >= 0;
    };
    auto count = static_cast<std::size_t>(std::ranges::count_if(lines_, is_stranger));
    const std::size_t most = kMostStrangers + static_cast<std::size_t>(processes_);
    const auto oldest = Clock::now() - kToSayWord;
    for (Line& line : lines_) {
      if (!is_stranger(line) || (count <= most && line.since >= oldest)) continue;
      line.fd = tandem::detail::Descriptor(-1);
      --count;
    }
  }

  void read(Line& line) {
    std::array<char, 4096> bytes;
    for (;;) {
      const ssize_t n = ::recv(line.fd.get(), bytes.data(), bytes.size(), 0);
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
      if (n <= 0) return close(line, "its connection closed");
      try {
        for (const Frame& frame : line.reader.add(bytes.data(), static_cast<std::size_t>(n)))
          take(line, frame);
        if (line.process < 0 && line.reader.waiting() > kMostOfStranger)
          return close(line, "it said nonsense");
      } catch (const CommError&) {
        return close(line, "it said nonsense");
      }
    }
  }

  void take(Line& line, const Frame& frame) {
    line.seen = Clock::now();
    switch (frame.kind) {
      case Frame::Kind::hello:
        greet(line, frame);
        break;
      case Frame::Kind::beat:
        line.progress = frame.text;
        break;
      case Frame::Kind::word:
      case Frame::Kind::note:
      case Frame::Kind::mention:
        if (line.process >= 0) say({frame.kind, line.process, frame.text}, &line);
        break;
      case Frame::Kind::ask:
        if (line.out.size() < kMostOfStranger)
          line.out += encode_clock(
              duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()));
        break;
      case Frame::Kind::bye:
        line.is_leaving = true;
        break;
      default:
        break;
    }
  }

  /// A process says the word.
  void greet(Line& line, const Frame& frame) const {
    const bool is_known = frame.process >= 0 && frame.process < processes_;
    if (is_known && frame.text == word_) line.process = frame.process;
  }

  void close(Line& line, const std::string& how) {
    line.fd = tandem::detail::Descriptor(-1);
    if (line.process >= 0) say({Frame::Kind::end, line.process, line.is_leaving ? "" : how}, &line);
  }

  void tell_states() {
    std::string text;
    for (const Line& line : lines_)
      if (line.process >= 0)
        text +=
            tandem::detail::concat(line.process,
                                   ' ',
                                   duration_cast<milliseconds>(Clock::now() - line.seen).count(),
                                   ' ',
                                   line.progress,
                                   '\n');
    say({Frame::Kind::states, 0, text});
  }

  /// @param except  who has said it
  void say(const Frame& frame, const Line* except = nullptr) {
    const std::string bytes = encode(frame);
    for (Line& line : lines_)
      if (&line != except && line.process >= 0 && line.fd.get() >= 0 &&
          line.out.size() < kMostUntaken)
        line.out += bytes;
  }

  static void write(Line& line) {
    while (line.fd.get() >= 0 && !line.out.empty()) {
      const ssize_t n = ::send(line.fd.get(), line.out.data(), line.out.size(), MSG_NOSIGNAL);
      if (n < 0) return;  // it is told when it is read that it has gone
      line.out.erase(0, static_cast<std::size_t>(n));
    }
  }

  Listener listener_;
  WakeUp wake_{"watch"};
  const int processes_;
  const std::string word_;
  std::list<Line> lines_;
  std::thread thread_;
};

WatchServer::WatchServer(const std::string& host, int processes, std::string word)
    : impl_(std::make_unique<Impl>(host, processes, std::move(word))) {}
WatchServer::~WatchServer() = default;

Address WatchServer::address() const {
  return impl_->address();
}

}  // namespace tandem::world
