// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/world/world.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include <unistd.h>

#include "tandem/config.hpp"
#include "tandem/core/check.hpp"
#include "tandem/world/file_store.hpp"
#include "tandem/world/prefix_store.hpp"
#include "tandem/world/store_server.hpp"
#include "tandem/world/tcp_store.hpp"

#include "core/host_name.hpp"
#include "world/clock_offset.hpp"
#include "world/introduction.hpp"
#include "world/meeting_place.hpp"
#include "world/mpi_meeting.hpp"
#include "world/socket.hpp"
#include "world/store_opening.hpp"
#include "world/watch.hpp"
#include "world/watch_server.hpp"

namespace tandem::world {
namespace {

using tandem::detail::concat;

// How long the process that serves the store stays for the others, at the end and after an error.
constexpr std::chrono::seconds kGoodbye{10}, kShortGoodbye{2};
constexpr std::chrono::milliseconds kBetweenLooks{5};

/// A word that nobody guesses.
std::string draw_word() {
  std::random_device source;
  std::string word;
  for (int i = 0; i < 4; ++i)
    word += concat(source(), '-');
  return word;
}

}  // namespace

std::string Peer::describe() const {
  return concat("process ", rank, " on ", host, ", pid ", pid);
}

class World::Impl {
 public:
  Impl(MeetingPlace place, const WorldOptions& options)
      : launch_(std::move(place.launch)), path_(std::move(place.path)) {
    if (place.by_mpi) ask_mpi();
    auto contract = options.contract;
    contract["tandem"] = version;
    contract["world size"] = std::to_string(launch_.size);
    open(options.timeout);
    come(std::move(contract));
    try {
      meet();
      if (launch_.size > 1) start_watch();
    } catch (const Error&) {
      leave(kShortGoodbye);
      throw;
    }
  }
  ~Impl() {
    kept_.clear();
    const bool has_failed = watch_ != nullptr && watch_->has_words();
    leave(has_failed ? kShortGoodbye : kGoodbye);
  }

  void barrier() {
    const std::string round = concat("barrier/", ++barriers_);
    store_->set(key_of(round, launch_.rank), "");
    wait_for_all(*store_, round, launch_.size);
  }

  const Launch& launch() const { return launch_; }
  const std::vector<Peer>& peers() const { return peers_; }
  Store& store() const { return *store_; }
  const std::string& host() const { return host_; }
  Watch* watch() const { return watch_.get(); }
  const std::string& run() const { return run_; }
  const std::optional<ClockOffset>& clock_offset() const { return clock_offset_; }
  std::shared_ptr<void> keep(const std::string& name,
                             const std::function<std::shared_ptr<void>()>& make) {
    const std::scoped_lock lock(keeping_);
    std::shared_ptr<void>& kept = kept_[name];
    if (kept == nullptr) kept = make();
    return kept;
  }

 private:
  void ask_mpi() {
    const MpiIdentity identity = identify_by_mpi();
    if (launch_.launcher == "nobody") launch_.launcher = "mpirun";
    launch_.rank = identity.rank;
    launch_.size = identity.size;
    const bool is_one_host = launch_.local_size == launch_.size;
    const std::string host = is_one_host ? "127.0.0.1" : host_name();
    if (launch_.rank == 0) server_ = std::make_unique<StoreServer>(Address{host, 0});
    launch_.store =
        parse_address(tell_by_mpi(server_ == nullptr ? "" : to_string(server_->address())));
    launch_.other_ports.clear();
  }

  void open(Store::Milliseconds timeout) {
    std::shared_ptr<Store> store;
    if (!path_.empty()) {
      store = std::make_shared<FileStore>(path_, timeout);
    } else if (launch_.size == 1 && !launch_.launcher_serves) {
      server_ = std::make_unique<StoreServer>(Address{"127.0.0.1", 0});
      store = std::make_shared<TcpStore>(server_->address(), timeout);
    } else {
      TANDEM_CHECK(
          launch_.store.has_value(),
          "world: ",
          launch_.describe(),
          ", but nothing says where the processes meet; set MASTER_ADDR and MASTER_PORT, or "
          "give tcp://HOST:PORT or file:///PATH");
      OpenStore opened = open_store(launch_, std::move(server_), timeout);
      server_ = std::move(opened.server);
      host_ = opened.client->local_host();
      store_host_ = opened.client->server_host();
      store = std::move(opened.client);
    }
    store_ =
        std::make_shared<PrefixStore>(concat("tandem/", launch_.run, '/', launch_.restart), store);
  }

  /// Says that this process is there.
  void come(std::map<std::string, std::string> contract) {
    const Introduction mine{.peer = {launch_.rank, host_name(), ::getpid()},
                            .draw = std::to_string(std::random_device{}()),
                            .store_host = store_host_,
                            .contract = std::move(contract)};
    const std::string text = mine.text();
    const std::string there = store_->compare_set(key_of("process", launch_.rank), "", text);
    if (there == text) return;
    const Peer other = Introduction::read(launch_.rank, there).peer;
    throw Desync(concat("world: rank ",
                        launch_.rank,
                        " is there already: pid ",
                        other.pid,
                        " on ",
                        other.host,
                        ", and this is pid ",
                        mine.peer.pid,
                        " on ",
                        mine.peer.host,
                        path_.empty() ? std::string("; give each process a rank of its own")
                                      : concat("; give each process a rank of its own, or remove ",
                                               path_,
                                               " if it is of an earlier run")));
  }

  void meet() {
    const std::vector<Introduction> all = meet_all(*store_, launch_.size);
    run_ = all.front().run();
    for (const Introduction& one : all)
      peers_.push_back(one.peer);
    // Note [Own names]: a host's own name may be 127.0.1.1 to itself. Those that reach the store by
    // such an address are on its host, whose address is the one by which the others reach it.
    const auto is_outer = [](const Introduction& one) {
      return !one.store_host.empty() && !is_loopback(one.store_host);
    };
    const auto outer = std::ranges::find_if(all, is_outer);
    if (is_loopback(host_) && outer != all.end()) host_ = outer->store_host;
  }

  void start_watch() {
    const bool by_folder = host_.empty();  // it says nothing of how hosts reach each other
    const bool is_one_host =
        std::ranges::all_of(peers_, [&](const Peer& p) { return p.host == peers_[0].host; });
    if (by_folder) host_ = is_one_host ? "127.0.0.1" : host_name();
    if (launch_.rank == 0) {
      const std::string word = draw_word();
      watch_server_ = std::make_unique<WatchServer>(host_, launch_.size, word);
      store_->set("watch word", word);
      store_->set("watch", to_string(watch_server_->address()));
    }
    const Address server = parse_address(store_->get("watch"));
    watch_ =
        std::make_unique<Watch>(server, launch_.rank, store_->timeout(), store_->get("watch word"));
    if (launch_.rank != 0) clock_offset_ = measure_clock_offset(server);
    if (by_folder && !is_one_host) host_ = host_by_watch();
  }

  /// By which address other hosts reach this one; see Note [Own names].
  std::string host_by_watch() {
    store_->set(key_of("watch host", launch_.rank), watch_->server_host());
    std::string own = watch_->own_host();
    if (!is_loopback(own)) return own;
    const auto other =
        std::ranges::find_if(peers_, [](const Peer& peer) { return peer.host != host_name(); });
    return store_->get(key_of("watch host", other->rank));
  }

  /// Who serves waits until all that have come have gone, and the last of all removes the file.
  void leave(std::chrono::seconds patience) noexcept try {
    store_->set_timeout(patience);
    if (store_->add("left", 1) == launch_.size && !path_.empty()) std::filesystem::remove(path_);
    if (server_ == nullptr) return;
    int came = 0;
    for (int rank = 0; rank < launch_.size; ++rank)
      came += store_->check({key_of("process", rank)}) ? 1 : 0;
    const auto deadline = std::chrono::steady_clock::now() + patience;
    const auto gone = [&] { return watch_ == nullptr ? 0 : watch_->lost(); };
    while (store_->add("left", 0) + gone() < came && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(kBetweenLooks);
  } catch (const std::exception&) {  // the store has gone: nobody is to be waited for
  }

  Launch launch_;
  std::string path_;
  std::unique_ptr<StoreServer> server_;
  std::shared_ptr<Store> store_;
  std::string host_;
  std::string store_host_;  // as this host knows it; "": a folder is the store
  std::unique_ptr<WatchServer> watch_server_;
  std::unique_ptr<Watch> watch_;
  std::optional<ClockOffset> clock_offset_ = ClockOffset{};
  std::string run_;
  std::mutex keeping_;
  std::map<std::string, std::shared_ptr<void>> kept_;  // guarded by keeping_
  std::vector<Peer> peers_;
  int barriers_ = 0;
};

World::World(World&&) noexcept = default;
World& World::operator=(World&&) noexcept = default;
World::~World() = default;

World World::from_environment(const WorldOptions& options) {
  return World("env://", options);
}

World::World(const std::string& url, const WorldOptions& options)
    : impl_(std::make_unique<Impl>(read_url(url, read_launch()), options)) {}

int World::rank() const noexcept {
  return impl_->launch().rank;
}

int World::size() const noexcept {
  return impl_->launch().size;
}

const Launch& World::launch() const noexcept {
  return impl_->launch();
}

const std::vector<Peer>& World::peers() const noexcept {
  return impl_->peers();
}

Store& World::store() const noexcept {
  return impl_->store();
}

const std::string& World::host() const noexcept {
  return impl_->host();
}

Watch* World::watch() const noexcept {
  return impl_->watch();
}

const std::string& World::run() const noexcept {
  return impl_->run();
}

std::optional<ClockOffset> World::clock_offset() const noexcept {
  return impl_->clock_offset();
}

std::shared_ptr<void> World::keep(const std::string& name,
                                  const std::function<std::shared_ptr<void>()>& make) {
  return impl_->keep(name, make);
}

void World::barrier() {
  impl_->barrier();
}

std::string World::describe() const {
  return impl_->launch().describe();
}

}  // namespace tandem::world
