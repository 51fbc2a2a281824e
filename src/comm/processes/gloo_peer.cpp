// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/gloo_peer.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "comm/processes/gloo_waits.hpp"
#include "comm/processes/no_pipe_signal.hpp"

namespace tandem::comm {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kHeadSlot = 1, kDataSlot = 2;
constexpr std::size_t kInline = std::size_t{17} << 10;  // bytes that go with the head
constexpr std::size_t kChunk = std::size_t{512} << 10;
constexpr std::size_t kHeads = 8, kChunks = 4;  // that wait for what arrives

}  // namespace

/// A message that is being sent from memory which is somebody else's.
class GlooPeer::Sent final : public ProcessLinks::Message {
 public:
  Sent(GlooPeer& peer, std::shared_ptr<std::atomic<bool>> sent)
      : peer_(peer), sent_(std::move(sent)) {}
  ~Sent() override {
    const auto end = std::chrono::steady_clock::now() + kLeaves;
    while (!*sent_ && !peer_.is_lost_ && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(1ms);
    if (!*sent_ && !peer_.is_lost_) peer_.lose("it does not take what was sent");
  }
  bool done() override {
    if (*sent_) return true;
    peer_.check();
    return false;
  }

 private:
  GlooPeer& peer_;
  std::shared_ptr<std::atomic<bool>> sent_;
};

class GlooPeer::Received final : public ProcessLinks::Message {
 public:
  Received(GlooPeer& peer, std::uint64_t tag, std::shared_ptr<Incoming> incoming)
      : peer_(peer), tag_(tag), incoming_(std::move(incoming)) {}
  ~Received() override {
    if (!incoming_->done) peer_.forget(tag_, incoming_);
  }
  bool done() override {
    if (incoming_->done) return true;
    peer_.check();
    return false;
  }

 private:
  GlooPeer& peer_;
  std::uint64_t tag_;
  std::shared_ptr<Incoming> incoming_;
};

GlooPeer::GlooPeer(gloo::Context& context, int process)
    : context_(context), process_(process), heads_(kHeads), chunks_(kChunks) {
  const auto prepare = [&](std::vector<Place>& places, std::size_t nbytes, std::uint64_t slot) {
    for (Place& place : places) {
      place.bytes.resize(nbytes);
      place.buffer = context_.createUnboundBuffer(place.bytes.data(), nbytes);
      post(place, slot);
    }
  };
  prepare(heads_, sizeof(Head) + kInline, kHeadSlot);
  prepare(chunks_, kChunk, kDataSlot);
  receiver_ = std::thread([this] { receive_all(); });
  reaper_ = std::thread([this] { reap_all(); });
}

GlooPeer::~GlooPeer() {
  ends_ = true;
  {
    const std::lock_guard<std::mutex> lock(sending_);
    for (Chunk& chunk : chunks_sent_) {
      chunk.head_buffer->abortWaitSend();
      if (chunk.data_buffer != nullptr) chunk.data_buffer->abortWaitSend();
    }
  }
  has_sent_.notify_all();
  for (Place& place : heads_)
    place.buffer->abortWaitRecv();
  for (Place& place : chunks_)
    place.buffer->abortWaitRecv();
  receiver_.join();
  reaper_.join();
}

void GlooPeer::post(Place& place, std::uint64_t slot) const {
  place.buffer->recv(process_, slot, 0, place.bytes.size());
}

void GlooPeer::check() const {
  if (is_lost_) throw ProcessLinks::Lost(process_, why_);
}

void GlooPeer::lose(const std::string& why) {
  const std::lock_guard<std::mutex> lock(sending_);
  if (is_lost_) return;
  why_ = why;
  is_lost_ = true;
  try {
    context_.getPair(process_)->close();
  } catch (const std::exception&) {  // it is closed already
  }
}

void GlooPeer::receive_all() try {
  for (std::size_t head = 0, chunk = 0; !ends_; head = (head + 1) % kHeads) {
    Place& place = heads_[head];
    if (!place.buffer->waitRecv(nullptr, kForEver)) return;
    Head what;
    std::memcpy(&what, place.bytes.data(), sizeof what);
    if (what.nbytes <= kInline) {
      deliver(what, place.bytes.data() + sizeof what);
    } else {
      Place& data = chunks_[chunk];
      chunk = (chunk + 1) % kChunks;
      if (!data.buffer->waitRecv(nullptr, kForEver)) return;
      deliver(what, data.bytes.data());
      post(data, kDataSlot);
    }
    post(place, kHeadSlot);
  }
} catch (const std::exception& e) {
  lose(e.what());
}

void GlooPeer::deliver(const Head& head, const char* data) {
  const std::lock_guard<std::mutex> lock(receiving_);
  auto& queue = incoming_[head.tag];
  const auto open = std::find_if(queue.begin(), queue.end(), [](const auto& incoming) {
    return !incoming->done && (!incoming->has_begun || incoming->received < incoming->total);
  });
  std::shared_ptr<Incoming> to;
  if (open == queue.end()) {
    to = std::make_shared<Incoming>();
    queue.push_back(to);
  } else {
    to = *open;
  }
  if (!to->has_begun) {
    to->has_begun = true;
    to->total = head.total;
    if (to->target == nullptr) to->kept.resize(head.total);
  }
  char* const target = to->target != nullptr ? to->target : to->kept.data();
  const std::size_t room = to->target != nullptr ? to->room : to->kept.size();
  if (head.nbytes > 0 && head.offset + head.nbytes <= room)
    std::memcpy(target + head.offset, data, head.nbytes);
  to->received += head.nbytes;
  if (to->received < to->total || to->target == nullptr) return;
  to->done = true;
  std::erase(queue, to);
  if (queue.empty()) incoming_.erase(head.tag);
}

std::unique_ptr<ProcessLinks::Message> GlooPeer::receive(std::uint64_t tag,
                                                         void* data,
                                                         std::size_t nbytes) {
  const std::lock_guard<std::mutex> lock(receiving_);
  auto& queue = incoming_[tag];
  const auto early = std::find_if(
      queue.begin(), queue.end(), [](const auto& incoming) { return incoming->target == nullptr; });
  if (early == queue.end()) {
    auto incoming = std::make_shared<Incoming>();
    incoming->target = static_cast<char*>(data);
    incoming->room = nbytes;
    queue.push_back(incoming);
    return std::make_unique<Received>(*this, tag, incoming);
  }
  const std::shared_ptr<Incoming> incoming = *early;
  incoming->target = static_cast<char*>(data);
  incoming->room = nbytes;
  std::memcpy(data, incoming->kept.data(), std::min(nbytes, incoming->kept.size()));
  incoming->kept = {};
  if (incoming->received == incoming->total) {
    incoming->done = true;
    queue.erase(early);
    if (queue.empty()) incoming_.erase(tag);
  }
  return std::make_unique<Received>(*this, tag, incoming);
}

void GlooPeer::forget(std::uint64_t tag, const std::shared_ptr<Incoming>& incoming) {
  const std::lock_guard<std::mutex> lock(receiving_);
  const auto queue = incoming_.find(tag);
  if (queue == incoming_.end()) return;
  if (incoming->has_begun && incoming->received < incoming->total) {
    incoming->room = 0;  // the rest of it is taken, and dropped
    return;
  }
  std::erase(queue->second, incoming);
  if (queue->second.empty()) incoming_.erase(queue);
}

std::unique_ptr<ProcessLinks::Message> GlooPeer::send(std::uint64_t tag,
                                                      const void* data,
                                                      std::size_t nbytes) {
  auto sent = std::make_shared<std::atomic<bool>>(nbytes <= kInline);  // a copy is sent
  check();
  try {
    send_chunks(tag, static_cast<const char*>(data), nbytes, sent);
  } catch (const std::exception& e) {
    lose(e.what());
    check();
  }
  has_sent_.notify_one();
  return std::make_unique<Sent>(*this, std::move(sent));
}

void GlooPeer::send_chunks(std::uint64_t tag,
                           const char* bytes,
                           std::size_t nbytes,
                           const std::shared_ptr<std::atomic<bool>>& sent) {
  const NoPipeSignal no_signal;
  const std::lock_guard<std::mutex> lock(sending_);
  std::size_t offset = 0;
  do {
    const std::size_t n = nbytes <= kInline ? nbytes : std::min(kChunk, nbytes - offset);
    const Head head{tag, nbytes, offset, n};
    Chunk& chunk = chunks_sent_.emplace_back();
    chunk.head.resize(sizeof head + (n <= kInline ? n : 0));
    std::memcpy(chunk.head.data(), &head, sizeof head);
    if (n > 0 && n <= kInline) std::memcpy(chunk.head.data() + sizeof head, bytes + offset, n);
    chunk.head_buffer = context_.createUnboundBuffer(chunk.head.data(), chunk.head.size());
    chunk.head_buffer->send(process_, kHeadSlot, 0, chunk.head.size());
    if (n > kInline) {
      chunk.data_buffer = context_.createUnboundBuffer(const_cast<char*>(bytes + offset), n);
      chunk.data_buffer->send(process_, kDataSlot, 0, n);
    }
    offset += n;
    if (offset == nbytes) chunk.sent = sent;
  } while (offset < nbytes);
}

// gloo sends in the order in which it was asked to.
void GlooPeer::reap_all() try {
  while (!ends_) {
    Chunk* oldest = nullptr;
    {
      std::unique_lock<std::mutex> lock(sending_);
      has_sent_.wait(lock, [&] { return ends_ || !chunks_sent_.empty(); });
      if (ends_) return;
      oldest = &chunks_sent_.front();
    }
    if (!oldest->head_buffer->waitSend(nullptr, kForEver)) return;
    if (oldest->data_buffer != nullptr && !oldest->data_buffer->waitSend(nullptr, kForEver)) return;
    const std::lock_guard<std::mutex> lock(sending_);
    if (oldest->sent != nullptr) *oldest->sent = true;
    chunks_sent_.pop_front();
  }
} catch (const std::exception& e) {
  lose(e.what());
}

}  // namespace tandem::comm
