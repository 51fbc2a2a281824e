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
#include "world/meeting_place.hpp"
#include "world/mpi_meeting.hpp"
#include "world/watch.hpp"
#include "world/watch_server.hpp"

namespace tandem::world {
namespace {

using tandem::detail::concat;

// How long the process that serves the store stays for the others, at the end and after an error.
constexpr std::chrono::seconds kGoodbye{10}, kShortGoodbye{2};
constexpr std::chrono::milliseconds kBetweenLooks{5};

std::string key(const char* what, int rank) {
  return concat(what, '/', rank);
}

/// Lines of NAME=VALUE: what a process is, and what all are to have alike.
std::string lines_of(const std::map<std::string, std::string>& values) {
  std::string text;
  for (const auto& [name, value] : values)
    text += concat(name, '=', value, '\n');
  return text;
}

std::map<std::string, std::string> read_lines(const std::string& text) {
  std::map<std::string, std::string> values;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) values[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return values;
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
    contract_ = options.contract;
    contract_["tandem"] = version;
    contract_["world size"] = std::to_string(launch_.size);
    open(options.timeout);
    come();
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
    store_->set(key(round.c_str(), launch_.rank), "");
    wait_for_all(round.c_str());
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
      if (launch_.rank == 0 && !launch_.launcher_serves && server_ == nullptr)
        server_ = std::make_unique<StoreServer>(*launch_.store);
      auto client = std::make_shared<TcpStore>(*launch_.store, timeout);
      host_ = client->local_host();
      store = std::move(client);
    }
    store_ =
        std::make_shared<PrefixStore>(concat("tandem/", launch_.run, '/', launch_.restart), store);
  }

  /// Says that this process is there.
  void come() {
    auto mine = contract_;
    mine["host"] = host_name();
    mine["pid"] = std::to_string(::getpid());
    mine["draw"] = std::to_string(std::random_device{}());  // two of one rank never say the same
    const std::string text = lines_of(mine);
    const std::string there = store_->compare_set(key("process", launch_.rank), "", text);
    if (there != text) {
      auto other = read_lines(there);
      throw Desync(concat("world: rank ",
                          launch_.rank,
                          " is there already: pid ",
                          other["pid"],
                          " on ",
                          other["host"],
                          ", and this is pid ",
                          mine["pid"],
                          " on ",
                          mine["host"],
                          path_.empty()
                              ? std::string("; give each process a rank of its own")
                              : concat("; give each process a rank of its own, or remove ",
                                       path_,
                                       " if it is of an earlier run")));
    }
  }

  void meet() {
    wait_for_all("process");
    for (int rank = 0; rank < launch_.size; ++rank)
      add_peer(rank, read_lines(store_->get(key("process", rank))));
    compare();
  }

  void start_watch() {
    if (host_.empty()) {  // a shared folder says nothing of how hosts reach each other
      const bool is_one_host =
          std::ranges::all_of(peers_, [&](const Peer& p) { return p.host == peers_[0].host; });
      host_ = is_one_host ? "127.0.0.1" : host_name();
    }
    if (launch_.rank == 0) {
      watch_server_ = std::make_unique<WatchServer>(host_, launch_.size);
      store_->set("watch", to_string(watch_server_->address()));
    }
    const Address server = parse_address(store_->get("watch"));
    watch_ = std::make_unique<Watch>(server, launch_.rank, store_->timeout());
    if (launch_.rank != 0) clock_offset_ = measure_clock_offset(server);
  }

  void add_peer(int rank, std::map<std::string, std::string> said) {
    peers_.push_back({rank, said["host"], std::stoi("0" + said["pid"])});
    if (rank == 0) run_ = concat(said["host"], '-', said["pid"], '-', said["draw"]);
    said.erase("host");
    said.erase("pid");
    said.erase("draw");
    contracts_.push_back(std::move(said));
  }

  /// All processes compare all, so that all of them say the same.
  void compare() const {
    const auto& first = contracts_.front();
    for (std::size_t r = 1; r < contracts_.size(); ++r) {
      const auto [a, b] = std::ranges::mismatch(first, contracts_[r]);
      if (a == first.end() && b == contracts_[r].end()) continue;
      const bool is_a = a != first.end() && (b == contracts_[r].end() || a->first <= b->first);
      const std::string name = is_a ? a->first : b->first;
      const auto value = [&](const auto& contract) {
        const auto found = contract.find(name);
        return found == contract.end() ? std::string("none") : '\'' + found->second + '\'';
      };
      throw Desync(concat("world: the processes differ in '",
                          name,
                          "': ",
                          value(first),
                          " in ",
                          peers_.front().describe(),
                          ", ",
                          value(contracts_[r]),
                          " in ",
                          peers_[r].describe(),
                          "; start all of them alike"));
    }
  }

  void wait_for_all(const char* what) {
    std::vector<std::string> keys;
    for (int rank = 0; rank < launch_.size; ++rank)
      keys.push_back(key(what, rank));
    try {
      store_->wait(keys);
    } catch (const Timeout&) {
      std::string missing;
      for (int rank = 0; rank < launch_.size; ++rank)
        if (!store_->check({keys[static_cast<std::size_t>(rank)]}))
          missing += concat(missing.empty() ? "" : ", ", rank);
      throw Timeout(
          concat("world: after ",
                 store_->timeout().count(),
                 " ms the processes of rank ",
                 missing,
                 " have not come; see what they print, and start as many as WORLD_SIZE says"));
    }
  }

  /// Who serves waits until all that have come have gone, and the last of all removes the file.
  void leave(std::chrono::seconds patience) noexcept try {
    store_->set_timeout(patience);
    if (store_->add("left", 1) == launch_.size && !path_.empty()) std::filesystem::remove(path_);
    if (server_ == nullptr) return;
    int came = 0;
    for (int rank = 0; rank < launch_.size; ++rank)
      came += store_->check({key("process", rank)}) ? 1 : 0;
    const auto deadline = std::chrono::steady_clock::now() + patience;
    const auto gone = [&] { return watch_ == nullptr ? 0 : watch_->lost(); };
    while (store_->add("left", 0) + gone() < came && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(kBetweenLooks);
  } catch (const std::exception&) {  // the store has gone: nobody is to be waited for
  }

  Launch launch_;
  std::string path_;
  std::map<std::string, std::string> contract_;
  std::unique_ptr<StoreServer> server_;
  std::shared_ptr<Store> store_;
  std::string host_;
  std::unique_ptr<WatchServer> watch_server_;
  std::unique_ptr<Watch> watch_;
  std::optional<ClockOffset> clock_offset_ = ClockOffset{};
  std::string run_;
  std::mutex keeping_;
  std::map<std::string, std::shared_ptr<void>> kept_;  // guarded by keeping_
  std::vector<Peer> peers_;
  std::vector<std::map<std::string, std::string>> contracts_;  // by rank
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
