// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/introduction.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::world {
namespace {

using Clock = std::chrono::steady_clock;
using tandem::detail::concat;

constexpr Store::Milliseconds kFirstLook{50}, kLongestLook{5000};

/// A value as a part of a line.
std::string escaped(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\') text += "\\\\";
    if (c == '\n') text += "\\n";
    if (c != '\\' && c != '\n') text += c;
  }
  return text;
}

std::string unescaped(const std::string& text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 1 < text.size();
    if (is_escape) ++i;
    value += is_escape && text[i] == 'n' ? '\n' : text[i];
  }
  return value;
}

std::map<std::string, std::string> read_lines(const std::string& text) {
  std::map<std::string, std::string> values;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos)
      values[line.substr(0, equals)] = unescaped(line.substr(equals + 1));
  }
  return values;
}

std::string line(const std::string& name, const std::string& value) {
  return concat(name, '=', escaped(value), '\n');
}

int number_of(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void check_alike(const Introduction& first, const Introduction& other) {
  const auto [a, b] = std::ranges::mismatch(first.contract, other.contract);
  if (a == first.contract.end() && b == other.contract.end()) return;
  const bool is_a =
      a != first.contract.end() && (b == other.contract.end() || a->first <= b->first);
  const std::string name = is_a ? a->first : b->first;
  const auto value = [&](const auto& contract) {
    const auto found = contract.find(name);
    return found == contract.end() ? std::string("none") : '\'' + found->second + '\'';
  };
  throw Desync(concat("world: the processes differ in '",
                      name,
                      "': ",
                      value(first.contract),
                      " in ",
                      first.peer.describe(),
                      ", ",
                      value(other.contract),
                      " in ",
                      other.peer.describe(),
                      "; start all of them alike"));
}

/// Those that have come so far.
class Meeting {
 public:
  Meeting(Store& store, int processes)
      : store_(store), come_(static_cast<std::size_t>(processes)) {}

  /// Reads those that have come since the last look, and compares all that are there.
  void look() {
    for (std::size_t r = 0; r < come_.size(); ++r) {
      const std::string key = key_of("process", static_cast<int>(r));
      if (!come_[r] && store_.check({key}))
        come_[r] = Introduction::read(static_cast<int>(r), store_.get(key));
    }
    for (std::size_t r = 1; come_[0] && r < come_.size(); ++r)
      if (come_[r]) check_alike(*come_[0], *come_[r]);
  }
  std::vector<Introduction> all() {
    std::vector<Introduction> all;
    for (auto& one : come_)
      all.push_back(std::move(*one));
    return all;
  }

 private:
  Store& store_;
  std::vector<std::optional<Introduction>> come_;
};

std::vector<std::string> keys_of(const std::string& what, int processes) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < processes; ++rank)
    keys.push_back(key_of(what, rank));
  return keys;
}

[[noreturn]] void throw_missing(Store& store, const std::string& what, int processes) {
  std::string missing;
  for (int rank = 0; rank < processes; ++rank)
    if (!store.check({key_of(what, rank)})) missing += concat(missing.empty() ? "" : ", ", rank);
  throw Timeout(
      concat("world: after ",
             store.timeout().count(),
             " ms the processes of rank ",
             missing,
             " have not come; see what they print, and start as many as WORLD_SIZE says"));
}

}  // namespace

std::string Introduction::text() const {
  std::string text;
  for (const auto& [name, value] : contract)
    text += line(name, value);
  // Last, since a contract may have these names too.
  return text + line("host", peer.host) + line("pid", std::to_string(peer.pid)) +
         line("draw", draw) + line("store", store_host);
}

Introduction Introduction::read(int rank, const std::string& text) {
  auto said = read_lines(text);
  Introduction one{.peer = {rank, said["host"], number_of(said["pid"])},
                   .draw = said["draw"],
                   .store_host = said["store"],
                   .contract = {}};
  for (const char* own : {"host", "pid", "draw", "store"})
    said.erase(own);
  one.contract = std::move(said);
  return one;
}

std::string Introduction::run() const {
  return concat(peer.host, '-', peer.pid, '-', draw);
}

std::string key_of(const std::string& what, int rank) {
  return concat(what, '/', rank);
}

std::vector<Introduction> meet_all(Store& store, int processes) {
  const auto keys = keys_of("process", processes);
  const auto deadline = Clock::now() + store.timeout();
  Meeting meeting(store, processes);
  for (auto patience = kFirstLook;; patience = std::min(2 * patience, kLongestLook)) {
    const auto left = std::chrono::ceil<Store::Milliseconds>(deadline - Clock::now());
    try {
      store.wait(keys, std::clamp(left, Store::Milliseconds(0), patience));
      meeting.look();
      return meeting.all();
    } catch (const Timeout&) {
      if (left <= patience) {
        meeting.look();
        throw_missing(store, "process", processes);
      }
    }
    meeting.look();
  }
}

void wait_for_all(Store& store, const std::string& what, int processes) {
  try {
    store.wait(keys_of(what, processes));
  } catch (const Timeout&) {
    throw_missing(store, what, processes);
  }
}

}  // namespace tandem::world
