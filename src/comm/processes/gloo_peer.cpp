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

constexpr std::uint64_t kHeadSlot = 1, kFirstDataSlot = 2;
constexpr std::size_t kInline = std::size_t{256} << 10;  // bytes that go with the head
constexpr std::size_t kHeads = 8;                        // that gloo may receive at once

}  // namespace

/// A message that is being sent from memory which is somebody else's.
class GlooPeer::Sent final : public ProcessLinks::Message {
 public:
  Sent(GlooPeer& peer, std::shared_ptr<std::atomic<bool>> sent)
      : peer_(peer), sent_(std::move(sent)) {}
  ~Sent() override { peer_.release(*sent_, "it does not take what was sent"); }
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
    if (!incoming_->done) peer_.give_up(tag_, incoming_);
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

GlooPeer::GlooPeer(gloo::Context& context, int process, std::function<void()> moved)
    : context_(context),
      process_(process),
      moved_(std::move(moved)),
      heads_(kHeads),
      slot_(kFirstDataSlot) {
  for (Place& place : heads_) {
    place.bytes.resize(sizeof(Head) + kInline);
    place.buffer = context_.createUnboundBuffer(place.bytes.data(), place.bytes.size());
    post(place);
  }
  head_receiver_ = std::thread([this] { receive_heads(); });
  data_receiver_ = std::thread([this] { receive_data(); });
  reaper_ = std::thread([this] { reap(); });
}

GlooPeer::~GlooPeer() {
  ends_ = true;
  for (Place& place : heads_)
    place.buffer->abortWaitRecv();
  head_receiver_.join();
  {
    const std::scoped_lock lock(receiving_, sending_);
    for (const Arrival& arrival : arrivals_)
      arrival.buffer->abortWaitRecv();
    for (const Outgoing& message : outgoing_) {
      message.head_buffer->abortWaitSend();
      if (message.data_buffer != nullptr) message.data_buffer->abortWaitSend();
    }
  }
  has_arrival_.notify_all();
  has_sent_.notify_all();
  data_receiver_.join();
  reaper_.join();
}

void GlooPeer::post(Place& place) const {
  place.buffer->recv(process_, kHeadSlot, 0, place.bytes.size());
}

void GlooPeer::check() const {
  if (is_lost_) throw ProcessLinks::Lost(process_, why_);
}

void GlooPeer::lose(const std::string& why) {
  const std::scoped_lock lock(sending_);
  if (is_lost_) return;
  why_ = why;
  is_lost_ = true;
  moved_();
  try {
    context_.getPair(process_)->close();
  } catch (const std::exception&) {  // it is closed already
  }
}

void GlooPeer::release(const std::atomic<bool>& done, const char* why) {
  const auto end = std::chrono::steady_clock::now() + kLeaves;
  while (!done && !is_lost_ && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(1ms);
  if (!done) lose(why);
}

void GlooPeer::receive_heads() try {
  for (std::size_t i = 0; !ends_; i = (i + 1) % kHeads) {
    Place& place = heads_[i];
    if (!place.buffer->waitRecv(nullptr, kForEver)) return;
    Head head;
    std::memcpy(&head, place.bytes.data(), sizeof head);
    take(head, place.bytes.data() + sizeof head);
    post(place);
  }
} catch (const std::exception& e) {
  lose(e.what());
}

/// Finds or makes the message of a head, and has its data come.
void GlooPeer::take(const Head& head, const char* data) {
  const std::scoped_lock lock(receiving_);
  auto& queue = incoming_[head.tag];
  const auto awaited = std::ranges::find_if(queue, [](const auto& m) { return !m->has_head; });
  const auto message =
      awaited != queue.end() ? *awaited : queue.emplace_back(std::make_shared<Incoming>());
  message->has_head = true;
  message->is_direct = message->target != nullptr && head.nbytes <= message->room;
  if (!message->is_direct) message->kept.resize(head.nbytes);
  char* const to = message->is_direct ? message->target : message->kept.data();
  if (head.slot == 0) {
    if (head.nbytes > 0) std::memcpy(to, data, head.nbytes);
    return finish(head.tag, message);
  }
  Arrival& arrival = arrivals_.emplace_back(
      Arrival{head.tag, context_.createUnboundBuffer(to, head.nbytes), message});
  arrival.buffer->recv(process_, head.slot, 0, head.nbytes);
  has_arrival_.notify_one();
}

// gloo sends data in the order in which it is asked for them.
void GlooPeer::receive_data() try {
  for (;;) {
    Arrival* next = nullptr;
    {
      std::unique_lock<std::mutex> lock(receiving_);
      has_arrival_.wait(lock, [&] { return ends_ || !arrivals_.empty(); });
      if (ends_) return;
      next = &arrivals_.front();
    }
    if (!next->buffer->waitRecv(nullptr, kForEver)) return;
    const std::scoped_lock lock(receiving_);
    finish(next->tag, next->message);
    arrivals_.pop_front();
  }
} catch (const std::exception& e) {
  lose(e.what());
}

/// With receiving_ held: a message's data are here. It stays until somebody has asked for it.
void GlooPeer::finish(std::uint64_t tag, const std::shared_ptr<Incoming>& message) {
  message->has_data = true;
  if (message->target == nullptr) return;
  if (!message->is_direct)
    std::memcpy(
        message->target, message->kept.data(), std::min(message->room, message->kept.size()));
  message->done = true;
  const auto queue = incoming_.find(tag);
  std::erase(queue->second, message);
  if (queue->second.empty()) incoming_.erase(queue);
  moved_();
}

std::unique_ptr<ProcessLinks::Message> GlooPeer::receive(std::uint64_t tag,
                                                         void* data,
                                                         std::size_t nbytes) {
  const std::scoped_lock lock(receiving_);
  auto& queue = incoming_[tag];
  const auto early =
      std::ranges::find_if(queue, [](const auto& m) { return m->target == nullptr; });
  const auto message =
      early != queue.end() ? *early : queue.emplace_back(std::make_shared<Incoming>());
  message->target = static_cast<char*>(data);
  message->room = nbytes;
  if (message->has_data) finish(tag, message);
  return std::make_unique<Received>(*this, tag, message);
}

void GlooPeer::give_up(std::uint64_t tag, const std::shared_ptr<Incoming>& message) {
  {
    const std::scoped_lock lock(receiving_);
    if (message->done) return;
    if (!message->is_direct) {  // its data may still come, and are dropped
      message->room = 0;
      if (message->has_head) return;
      const auto queue = incoming_.find(tag);
      std::erase(queue->second, message);
      if (queue->second.empty()) incoming_.erase(queue);
      return;
    }
  }
  release(message->done, "what it began to send does not come");
}

std::unique_ptr<ProcessLinks::Message> GlooPeer::send(std::uint64_t tag,
                                                      const void* data,
                                                      std::size_t nbytes) {
  auto sent = std::make_shared<std::atomic<bool>>(nbytes <= kInline);  // a copy is sent
  check();
  try {
    put(tag, data, nbytes, sent);
  } catch (const std::exception& e) {
    lose(e.what());
    check();
  }
  has_sent_.notify_one();
  return std::make_unique<Sent>(*this, std::move(sent));
}

void GlooPeer::put(std::uint64_t tag,
                   const void* data,
                   std::size_t nbytes,
                   std::shared_ptr<std::atomic<bool>> sent) {
  const NoPipeSignal no_signal;
  const std::scoped_lock lock(sending_);
  const bool is_inline = nbytes <= kInline;
  const Head head{tag, nbytes, is_inline ? 0 : slot_++};
  Outgoing& message = outgoing_.emplace_back();
  message.sent = std::move(sent);
  message.head.resize(sizeof head + (is_inline ? nbytes : 0));
  std::memcpy(message.head.data(), &head, sizeof head);
  if (is_inline && nbytes > 0) std::memcpy(message.head.data() + sizeof head, data, nbytes);
  message.head_buffer = context_.createUnboundBuffer(message.head.data(), message.head.size());
  message.head_buffer->send(process_, kHeadSlot, 0, message.head.size());
  if (is_inline) return;
  message.data_buffer = context_.createUnboundBuffer(const_cast<void*>(data), nbytes);
  message.data_buffer->send(process_, head.slot, 0, nbytes);
}

// gloo sends in the order in which it was asked to.
void GlooPeer::reap() try {
  for (;;) {
    Outgoing* oldest = nullptr;
    {
      std::unique_lock<std::mutex> lock(sending_);
      has_sent_.wait(lock, [&] { return ends_ || !outgoing_.empty(); });
      if (ends_) return;
      oldest = &outgoing_.front();
    }
    if (!oldest->head_buffer->waitSend(nullptr, kForEver)) return;
    if (oldest->data_buffer != nullptr && !oldest->data_buffer->waitSend(nullptr, kForEver)) return;
    const std::scoped_lock lock(sending_);
    if (!oldest->sent->exchange(true)) moved_();
    outgoing_.pop_front();
  }
} catch (const std::exception& e) {
  lose(e.what());
}

}  // namespace tandem::comm
