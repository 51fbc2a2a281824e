// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/store_client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/socket.h>

#include "tandem/core/error.hpp"

namespace tandem::world {
namespace {

constexpr std::size_t kRead = std::size_t{64} << 10;
constexpr std::size_t kMostUnread = std::size_t{64} << 20;  // bytes of answers
constexpr std::size_t kMostKept = std::size_t{256} << 20;   // bytes of all keys and values

/// What a message asks for, once it has come whole.
struct Asked {
  Query query{};
  std::vector<std::string> texts;  // keys and values, in the order of the message
  std::int64_t number = 0;
};

/// @throws CommError  there is no such message
Asked read_message(MessageReader& in) {
  Asked asked{.query = static_cast<Query>(in.byte()), .texts = {}};
  const auto texts = [&](int count) {
    for (int i = 0; i < count; ++i)
      asked.texts.push_back(in.text());
  };
  switch (asked.query) {
    case Query::validate:
    case Query::ping:
      asked.number = in.u32();
      break;
    case Query::set:
    case Query::append:
      texts(2);
      break;
    case Query::compare_set:
      texts(3);
      break;
    case Query::get:
    case Query::delete_key:
      texts(1);
      break;
    case Query::add:
      texts(1);
      asked.number = in.i64();
      break;
    case Query::check:
    case Query::wait:
    case Query::multi_get:
      asked.texts = in.texts();
      break;
    case Query::multi_set: {
      const std::uint64_t pairs = in.u64();
      for (std::uint64_t i = 0; i < pairs && in.is_whole(); ++i)
        texts(2);
      break;
    }
    case Query::num_keys:
    case Query::cancel_wait:
      break;
    default:
      throw CommError("a message that the store does not know");
  }
  return asked;
}

/// Whether the store has more bytes after a message.
bool may_keep(Query query) {
  return query == Query::set || query == Query::multi_set || query == Query::append ||
         query == Query::compare_set || query == Query::add;
}

std::string value_of(const KeyValues& values, const std::string& key) {
  const std::string* value = values.find(key);
  if (value == nullptr) throw CommError("get of a key that is not there: " + key);
  return *value;
}

/// Answers what changes the values. @return  whether it does
bool answer_change(const Asked& asked,
                   KeyValues& values,
                   std::vector<std::string>& changed,
                   MessageWriter& out) {
  const auto& texts = asked.texts;
  switch (asked.query) {
    case Query::set:
    case Query::multi_set:
      for (std::size_t i = 0; i < texts.size(); i += 2) {
        values.set(texts[i], texts[i + 1]);
        changed.push_back(texts[i]);
      }
      return true;
    case Query::append:
      values.append(texts[0], texts[1]);
      break;
    case Query::compare_set:
      out.text(values.compare_set(texts[0], texts[1], texts[2]));
      break;
    case Query::add:
      out.i64(values.add(texts[0], asked.number));
      break;
    case Query::delete_key:
      out.i64(values.erase(texts[0]) ? 1 : 0);
      return true;
    default:
      return false;
  }
  changed.push_back(texts[0]);
  return true;
}

}  // namespace

void StoreClient::answer_question(Query query,
                                  const std::vector<std::string>& keys,
                                  const KeyValues& values,
                                  MessageWriter& out) {
  switch (query) {
    case Query::get:
    case Query::multi_get:
      for (const std::string& key : keys)
        out.text(value_of(values, key));
      break;
    case Query::check:
      out.byte(static_cast<std::uint8_t>(values.has(keys) ? Check::ready : Check::not_ready));
      break;
    case Query::wait:
      awaited_ = keys;
      if (!values.has(keys)) break;
      awaited_.clear();
      out.byte(static_cast<std::uint8_t>(Waited::ready));
      break;
    case Query::cancel_wait:
      awaited_.clear();
      out.byte(static_cast<std::uint8_t>(Waited::cancelled));
      break;
    default:
      out.i64(values.size());
  }
}

bool StoreClient::answer(KeyValues& values, std::vector<std::string>& changed) {
  MessageReader reader(in_);
  const Asked asked = read_message(reader);
  if (!reader.is_whole()) return false;
  in_.erase(0, reader.used());
  if (in_.empty()) in_.shrink_to_fit();
  if (!is_known_ && (asked.query != Query::validate || asked.number != kMagic))
    throw CommError("the first message is not that of a store's client");
  is_known_ = true;
  if (may_keep(asked.query) && values.nbytes() + reader.used() > kMostKept)
    throw CommError("the store is full");
  MessageWriter out;
  if (asked.query == Query::ping)
    out.u32(static_cast<std::uint32_t>(asked.number));
  else if (asked.query != Query::validate && !answer_change(asked, values, changed, out))
    answer_question(asked.query, asked.texts, values, out);
  out_ += out.bytes();
  return true;
}

void StoreClient::look(const KeyValues& values, const std::vector<std::string>& changed) {
  const auto is_awaited = [&](const std::string& key) {
    return std::ranges::find(awaited_, key) != awaited_.end();
  };
  if (!std::ranges::any_of(changed, is_awaited) || !values.has(awaited_)) return;
  awaited_.clear();
  out_ += static_cast<char>(Waited::ready);
}

bool StoreClient::read(KeyValues& values, std::vector<std::string>& changed) {
  std::array<char, kRead> bytes;
  const ssize_t n = ::recv(fd(), bytes.data(), bytes.size(), 0);
  if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (n == 0) return false;
  in_.append(bytes.data(), static_cast<std::size_t>(n));
  try {
    while (!in_.empty() && answer(values, changed)) {
    }
  } catch (const Error&) {  // nonsense, a number that is none, or more than is kept
    return false;
  }
  return out_.size() - sent_ <= kMostUnread;
}

void StoreClient::drop_sent() {
  if (sent_ <= out_.size() / 2) return;
  out_.erase(0, sent_);
  sent_ = 0;
}

bool StoreClient::write() {
  while (sent_ < out_.size()) {
    const ssize_t n = ::send(fd(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (n < 0) {
      const bool is_full = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
      drop_sent();
      return is_full;
    }
    sent_ += static_cast<std::size_t>(n);
  }
  out_.clear();
  out_.shrink_to_fit();
  sent_ = 0;
  return true;
}

}  // namespace tandem::world
