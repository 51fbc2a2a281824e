// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/watch.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

#include "tandem/core/check.hpp"

#include "world/frame.hpp"
#include "world/socket.hpp"
#include "world/wake_up.hpp"

namespace tandem::world {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using tandem::detail::concat;

constexpr auto kPatience = std::chrono::seconds(5);  // to say something
constexpr std::size_t kMostWords = 512;              // that are kept
constexpr auto kNoSign = std::chrono::milliseconds(2500);

std::string seconds(milliseconds ms) {
  const auto tenths = ms.count() / 100;
  return concat(tenths / 10, '.', tenths % 10, " s");
}

}  // namespace

class Watch::Impl {
 public:
  Impl(const Address& server, int process, Milliseconds timeout, const std::string& word)
      : socket_(Socket::connect(server, Clock::now() + timeout)), process_(process) {
    send({Frame::Kind::hello, process_, word});
    thread_ = std::thread([this] { run(); });
  }
  ~Impl() {
    wake_.call();
    thread_.join();
    send({Frame::Kind::bye, process_});
  }

  void listen(const void* who, Listener listener) {
    const std::scoped_lock calls(calling_);
    const Listener& added = listeners_[who] = std::move(listener);
    for (const Frame& frame : words_)
      call(added, frame);
    for (const Frame& frame : ends_)
      call(added, frame);
  }
  void forget(const void* who) noexcept {
    const std::scoped_lock calls(calling_);
    listeners_.erase(who);
  }
  void send(const Frame& frame) noexcept try {
    const std::scoped_lock lock(sending_);
    socket_.send(encode(frame), Clock::now() + kPatience);
  } catch (const Error&) {  // the line is lost, which the reading thread notices
  }
  void say(const std::string& text) noexcept {
    has_words_ = true;
    send({Frame::Kind::word, process_, text});
  }
  void mention(const std::string& text) noexcept { send({Frame::Kind::mention, process_, text}); }
  void note(const std::string& text) noexcept { send({Frame::Kind::note, process_, text}); }
  void listen_to_notes(std::function<void(int, const std::string&)> listener) {
    const std::scoped_lock calls(calling_);
    on_note_ = std::move(listener);
  }
  bool has_words() const { return has_words_; }
  const Socket& socket() const { return socket_; }

  int lost() const {
    const std::scoped_lock lock(mutex_);
    return static_cast<int>(
        std::ranges::count_if(gone_, [](const auto& gone) { return !gone.second.empty(); }));
  }
  std::string state(int process) const {
    const std::scoped_lock lock(mutex_);
    if (const auto gone = gone_.find(process); gone != gone_.end())
      return gone->second.empty() ? "it has left" : "gone: " + gone->second;
    const auto since = duration_cast<milliseconds>(Clock::now() - told_);
    if (since > kNoSign)
      return concat(process == 0 ? "no sign of life for " : "process 0, who knows, is silent for ",
                    seconds(since));
    const auto known = states_.find(process);
    if (known == states_.end()) {  // it has given no sign yet, which may be none that was due
      const auto age = duration_cast<milliseconds>(Clock::now() - met_);
      return age > kNoSign ? "no sign of life for " + seconds(age)
                           : concat("alive when the processes met, ", seconds(age), " ago");
    }
    const milliseconds age = known->second.age + since;
    if (age > kNoSign) return "no sign of life for " + seconds(age);
    return known->second.text.empty() ? "alive" : "alive, " + known->second.text;
  }

 private:
  struct State {
    milliseconds age{0};
    std::string text = {};
  };

  void run() {
    auto next = Clock::now();
    while (!wait(next)) {
      if (Clock::now() >= next) {
        beat();
        next = Clock::now() + kBeat;
      }
      if (is_open_) read();
    }
  }
  bool wait(Clock::time_point until) {
    std::array<pollfd, 2> polls{{{wake_.fd(), POLLIN, 0}, {socket_.fd(), POLLIN, 0}}};
    const auto left = duration_cast<milliseconds>(until - Clock::now()).count();
    ::poll(polls.data(), is_open_ ? 2 : 1, static_cast<int>(std::max<decltype(left)>(0, left)) + 1);
    return polls[0].revents != 0;
  }
  void beat() {
    std::optional<std::int64_t> sum;
    {
      const std::scoped_lock calls(calling_);
      for (const auto& [who, listener] : listeners_)
        if (listener.collectives) sum = sum.value_or(0) + listener.collectives();
    }
    send({Frame::Kind::beat, process_, sum ? concat(*sum, " collectives so far") : ""});
  }
  void read() {
    std::array<char, 4096> bytes;
    const ssize_t n = ::recv(socket_.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (n <= 0) {
      is_open_ = false;
      return hear({Frame::Kind::end, 0, "its connection closed"});
    }
    for (const Frame& frame : reader_.add(bytes.data(), static_cast<std::size_t>(n)))
      hear(frame);
  }
  void hear(const Frame& frame) {
    if (frame.kind == Frame::Kind::word) has_words_ = true;
    {
      const std::scoped_lock lock(mutex_);
      if (frame.kind == Frame::Kind::states) return keep_states(frame.text);
      if (frame.kind == Frame::Kind::end && !gone_.emplace(frame.process, frame.text).second)
        return;  // told already
    }
    const std::scoped_lock calls(calling_);
    if (frame.kind == Frame::Kind::note) {
      if (on_note_) on_note_(frame.process, frame.text);
      return;
    }
    const bool is_word = frame.kind == Frame::Kind::word || frame.kind == Frame::Kind::mention;
    if (!is_word && frame.kind != Frame::Kind::end) return;
    for (const auto& [who, listener] : listeners_)
      call(listener, frame);
    if (!is_word) return ends_.push_back(frame);
    words_.push_back(frame);
    if (words_.size() > kMostWords) words_.pop_front();
  }
  static void call(const Listener& listener, const Frame& frame) {
    const auto& hears = frame.kind == Frame::Kind::end ? listener.on_end : listener.on_word;
    if (hears) hears(frame.process, frame.text);
  }
  void keep_states(const std::string& text) {
    told_ = Clock::now();
    states_.clear();
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      int process = 0;
      std::int64_t age = 0;
      words >> process >> age;
      State& state = states_[process];
      state.age = milliseconds(age);
      std::getline(words >> std::ws, state.text);
    }
  }

  Socket socket_;
  const int process_;
  const Clock::time_point met_ = Clock::now();
  WakeUp wake_{"watch"};
  FrameReader reader_;   // of the thread
  bool is_open_ = true;  // of the thread
  std::atomic<bool> has_words_{false};
  std::mutex sending_;
  std::mutex calling_;  // guards the four that follow; held while a listener is called
  std::function<void(int, const std::string&)> on_note_;
  std::map<const void*, Listener> listeners_;
  std::deque<Frame> words_;   // the latest ones, for listeners to come
  std::vector<Frame> ends_;   // of processes, which have said nothing since
  mutable std::mutex mutex_;  // guards what follows
  std::map<int, std::string> gone_;
  std::map<int, State> states_;
  Clock::time_point told_ = Clock::now();
  std::thread thread_;
};

Watch::Watch(const Address& server, int process, Milliseconds timeout, const std::string& word)
    : impl_(std::make_unique<Impl>(server, process, timeout, word)) {}
Watch::~Watch() = default;

void Watch::listen(const void* who, Listener listener) {
  impl_->listen(who, std::move(listener));
}

void Watch::forget(const void* who) noexcept {
  impl_->forget(who);
}

void Watch::say(const std::string& text) noexcept {
  impl_->say(text);
}

void Watch::mention(const std::string& text) noexcept {
  impl_->mention(text);
}

void Watch::note(const std::string& text) noexcept {
  impl_->note(text);
}

void Watch::listen_to_notes(std::function<void(int, const std::string&)> listener) {
  impl_->listen_to_notes(std::move(listener));
}

std::string Watch::state(int process) const {
  return impl_->state(process);
}

bool Watch::has_words() const {
  return impl_->has_words();
}

int Watch::lost() const {
  return impl_->lost();
}

std::string Watch::own_host() const {
  return impl_->socket().own_host();
}

std::string Watch::server_host() const {
  return impl_->socket().peer_host();
}

}  // namespace tandem::world
