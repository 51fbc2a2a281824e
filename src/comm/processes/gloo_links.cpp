// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// The plug-in libtandem-gloo.so: messages over gloo's connections (TCP).

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <sched.h>

#include "comm/processes/gloo_native.hpp"
#include "comm/processes/gloo_peer.hpp"
#include "comm/processes/links.hpp"
#include "comm/processes/no_pipe_signal.hpp"

namespace tandem::comm {
namespace {

/// The store of the world, as gloo asks for it.
class Store final : public gloo::rendezvous::Store {
 public:
  explicit Store(const ProcessLinksOptions& options) : options_(options) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    options_.set(key, {data.begin(), data.end()});
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = options_.get(key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys)
      options_.get(key);
  }

 private:
  const ProcessLinksOptions& options_;
};

/// gloo's thread inherits the policy of the thread that makes its device. Under SCHED_BATCH it does
/// not push another thread from its core when it wakes: that thread may just hold the lock of a
/// connection, for which gloo's would spin until its time is over.
std::shared_ptr<gloo::transport::Device> make_device(const std::string& host) {
  std::shared_ptr<gloo::transport::Device> device;
  std::exception_ptr error;
  std::thread maker([&]() noexcept {
    const sched_param any{};
    sched_setscheduler(0, SCHED_BATCH, &any);  // else it is only slower
    try {
      device = gloo::transport::tcp::CreateDevice(host.c_str());
    } catch (...) {
      error = std::current_exception();
    }
  });
  maker.join();
  if (error != nullptr) std::rethrow_exception(error);
  return device;
}

class GlooLinks final : public ProcessLinks {
 public:
  explicit GlooLinks(const ProcessLinksOptions& options)
      : moved_(options.moved),
        context_(std::make_shared<gloo::rendezvous::Context>(options.process, options.processes)) {
    const NoPipeSignal no_signal;  // also for gloo's thread and those of the peers
    device_ = make_device(options.host);
    // It waits up to five times as long for a process that stops between its address and its call.
    context_->setTimeout(options.timeout / 5);
    Store store(options);
    context_->connectFullMesh(store, device_);
    for (int process = 0; process < options.processes; ++process)
      peers_.push_back(process == options.process
                           ? nullptr
                           : std::make_unique<GlooPeer>(*context_, process, moved_));
  }

  std::unique_ptr<Message> send(int process,
                                std::uint64_t tag,
                                const void* data,
                                std::size_t nbytes) override {
    return peers_[static_cast<std::size_t>(process)]->send(tag, data, nbytes);
  }
  std::unique_ptr<Message> receive(int process,
                                   std::uint64_t tag,
                                   void* data,
                                   std::size_t nbytes) override {
    return peers_[static_cast<std::size_t>(process)]->receive(tag, data, nbytes);
  }
  bool has(const Native&) const noexcept override { return true; }
  int open_order(std::chrono::milliseconds) override { return 0; }  // it tells them apart by tags
  std::unique_ptr<Message> start(const Native& call) override {
    const GlooNative::Connections connections{
        .check = [this] { check_peers(); }, .close = [this] { close_peers(); }, .moved = moved_};
    return std::make_unique<GlooNative>(context_, call, connections);
  }
  bool takes_back() const noexcept override { return true; }
  bool tells() const noexcept override { return true; }

 private:
  void check_peers() const {
    for (const auto& peer : peers_)
      if (peer != nullptr) peer->check();
  }
  void close_peers() {
    for (const auto& peer : peers_)
      if (peer != nullptr) peer->lose("a collective of gloo's own was given up");
  }

  std::function<void()> moved_;
  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::vector<std::unique_ptr<GlooPeer>> peers_;  // by process; null for this one
};

}  // namespace
}  // namespace tandem::comm

extern "C" tandem::comm::ProcessLinks* tandem_make_links(
    const tandem::comm::ProcessLinksOptions& options) {
  return new tandem::comm::GlooLinks(options);
}
