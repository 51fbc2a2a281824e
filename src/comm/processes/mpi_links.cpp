// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// The plug-in libtandem-mpi.so: messages over MPI, and where processes meet that mpirun has
// started.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <mpi.h>

#include "comm/processes/links.hpp"
#include "world/mpi_meeting.hpp"

namespace tandem::comm {
namespace {

std::string text_of(int error) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int size = 0;
  MPI_Error_string(error, text, &size);
  return text;
}

void check(int error, const char* call) {
  if (error != MPI_SUCCESS) throw std::runtime_error(std::string(call) + ": " + text_of(error));
}

/// MPI itself, from the first use to the end of the process.
class Session {
 public:
  static Session& instance() {
    static Session session;
    return session;
  }
  int rank = 0, size = 1;
  bool has_failed = false;  // its end would wait for processes that may have gone

 private:
  Session() {
    int is_there = 0;
    MPI_Initialized(&is_there);
    if (is_there == 0) {
      // Where processes share cores, Open MPI would yield in each call that finds nothing, with the
      // mesh's lock held. Whoever waits here yields without it.
      setenv("OMPI_MCA_mpi_yield_when_idle", "0", 0);
      int provided = 0;
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
      owns_ = true;
      if (provided < MPI_THREAD_SERIALIZED)
        throw std::runtime_error("this MPI has no threads (MPI_THREAD_SERIALIZED)");
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  ~Session() {
    int has_ended = 0;
    MPI_Finalized(&has_ended);
    if (owns_ && has_ended == 0 && !has_failed) MPI_Finalize();
  }

  bool owns_ = false;
};

constexpr std::uint64_t kData = std::uint64_t{1} << 63;
/// Messages of data are told apart by as many communicators too, so that a million channels pass
/// until one comes again.
constexpr std::size_t kCommunicators = 16;

/// MPI's tags have 31 bits: of data, 16 of the channel and 14 of the number; of others, 28.
int tag_of(std::uint64_t tag) {
  constexpr std::uint64_t kAnnouncement = std::uint64_t{1} << 62;
  if ((tag & kData) == 0) return static_cast<int>((tag ^ tag >> 32) & 0xfffffff);
  if ((tag & kAnnouncement) != 0)
    return static_cast<int>((((tag & ~kData & ~kAnnouncement) ^ tag >> 32) & 0xfffffff) | 1U << 28);
  return static_cast<int>(1U << 30 | (tag >> 24 & 0xffff) << 14 | (tag & 0x3fff));
}

class MpiMessage final : public ProcessLinks::Message {
 public:
  enum class Way { send, receive };
  MpiMessage(int process, Way way) : process_(process), way_(way) {}
  ~MpiMessage() override {
    for (MPI_Request& request : requests_) {
      if (request == MPI_REQUEST_NULL) continue;
      // A receive that stayed would take a later message. What has begun to come is left alone.
      int is_over = 0;
      if (way_ == Way::receive && MPI_Cancel(&request) == MPI_SUCCESS)
        MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
  }
  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  bool done() override {
    int all = 0;
    const int error = MPI_Testall(
        static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE);
    if (error == MPI_SUCCESS) return all != 0;
    Session::instance().has_failed = true;
    throw ProcessLinks::Lost(process_, text_of(error));
  }

 private:
  int process_;
  Way way_;
  std::vector<MPI_Request> requests_;
};

/// MPI takes the collectives of a communicator in the same order everywhere.
struct NativeOrder {
  MPI_Comm communicator = MPI_COMM_NULL;
  std::uint32_t next = 0;
};

class MpiNative final : public ProcessLinks::Message {
 public:
  MpiNative(NativeOrder& order, const ProcessLinks::Native& call) : order_(order), call_(call) {
    start();
  }
  /// It cannot be taken back: its memory stays with who has begun it.
  ~MpiNative() override {
    if (request_ != MPI_REQUEST_NULL) Session::instance().has_failed = true;
  }
  bool done() override {
    if (!has_begun_) start();
    if (!has_begun_) return false;
    int is_over = 0;
    const int error = MPI_Test(&request_, &is_over, MPI_STATUS_IGNORE);
    if (error == MPI_SUCCESS) return is_over != 0;
    Session::instance().has_failed = true;
    throw std::runtime_error(text_of(error));
  }

 private:
  using Native = ProcessLinks::Native;

  void start() {
    if (order_.next != call_.number) return;
    has_begun_ = true;
    ++order_.next;
    const auto count = static_cast<int>(call_.count);
    if (call_.kind == Native::Kind::broadcast) {
      // Only the root has an input, which is not where the result goes.
      void* const data = call_.input != nullptr ? const_cast<void*>(call_.input) : call_.output;
      return check(MPI_Ibcast(data, count, type(), call_.root, order_.communicator, &request_),
                   "MPI_Ibcast");
    }
    const void* const input = call_.input == call_.output ? MPI_IN_PLACE : call_.input;
    if (call_.kind == Native::Kind::reduce)
      return check(
          MPI_Ireduce(
              input, call_.output, count, type(), op(), call_.root, order_.communicator, &request_),
          "MPI_Ireduce");
    check(MPI_Iallreduce(input, call_.output, count, type(), op(), order_.communicator, &request_),
          "MPI_Iallreduce");
  }
  MPI_Datatype type() const {
    switch (call_.type) {
      case Native::Type::f64:
        return MPI_DOUBLE;
      case Native::Type::i32:
        return MPI_INT32_T;
      case Native::Type::i64:
        return MPI_INT64_T;
      case Native::Type::u8:
        return MPI_UINT8_T;
      case Native::Type::f32:
        break;
    }
    return MPI_FLOAT;
  }
  MPI_Op op() const {
    switch (call_.op) {
      case Native::Op::product:
        return MPI_PROD;
      case Native::Op::min:
        return MPI_MIN;
      case Native::Op::max:
        return MPI_MAX;
      case Native::Op::sum:
        break;
    }
    return MPI_SUM;
  }

  NativeOrder& order_;
  const Native call_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool has_begun_ = false;
};

class MpiLinks final : public ProcessLinks {
 public:
  explicit MpiLinks(const ProcessLinksOptions& options) {
    const Session& session = Session::instance();
    if (session.rank != options.process || session.size != options.processes)
      throw std::runtime_error("MPI says that this is process " + std::to_string(session.rank) +
                               " of " + std::to_string(session.size) +
                               "; start the program by mpirun, or by srun --mpi=pmix");
    for (MPI_Comm& communicator : communicators_) {
      check(MPI_Comm_dup(MPI_COMM_WORLD, &communicator), "MPI_Comm_dup");
      MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
    }
  }

  std::unique_ptr<Message> send(int process,
                                std::uint64_t tag,
                                const void* data,
                                std::size_t nbytes) override {
    return in_chunks(process, Way::send, nbytes, [&](std::size_t begin, int n, MPI_Request* r) {
      return MPI_Isend(static_cast<const char*>(data) + begin,
                       n,
                       MPI_BYTE,
                       process,
                       tag_of(tag),
                       communicator_of(tag),
                       r);
    });
  }
  std::unique_ptr<Message> receive(int process,
                                   std::uint64_t tag,
                                   void* data,
                                   std::size_t nbytes) override {
    return in_chunks(process, Way::receive, nbytes, [&](std::size_t begin, int n, MPI_Request* r) {
      return MPI_Irecv(static_cast<char*>(data) + begin,
                       n,
                       MPI_BYTE,
                       process,
                       tag_of(tag),
                       communicator_of(tag),
                       r);
    });
  }
  bool has(const Native& call) const noexcept override {
    return call.count <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  }
  int open_order(std::chrono::milliseconds timeout) override {
    const auto end = std::chrono::steady_clock::now() + timeout;
    orders_.push_back(std::make_unique<NativeOrder>());
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Comm_idup(communicators_[0], &orders_.back()->communicator, &request),
          "MPI_Comm_idup");
    for (int is_over = 0; is_over == 0;) {
      check(MPI_Test(&request, &is_over, MPI_STATUS_IGNORE), "MPI_Test");
      if (is_over == 0 && std::chrono::steady_clock::now() > end)
        throw std::runtime_error("MPI_Comm_idup did not end");
    }
    MPI_Comm_set_errhandler(orders_.back()->communicator, MPI_ERRORS_RETURN);
    return static_cast<int>(orders_.size()) - 1;
  }
  std::unique_ptr<Message> start(const Native& call) override {
    return std::make_unique<MpiNative>(*orders_[static_cast<std::size_t>(call.order)], call);
  }
  bool takes_back() const noexcept override { return false; }
  bool tells() const noexcept override { return false; }

 private:
  using Way = MpiMessage::Way;

  MPI_Comm communicator_of(std::uint64_t tag) const {
    const std::uint64_t channel = (tag & ~kData) >> 24;
    return communicators_[(tag & kData) == 0 ? 0 : (channel >> 16) % kCommunicators];
  }
  /// MPI counts in ints.
  template <class F>
  static std::unique_ptr<Message> in_chunks(int process, Way way, std::size_t nbytes, F f) {
    constexpr std::size_t kChunk = std::size_t{1} << 30;
    auto message = std::make_unique<MpiMessage>(process, way);
    std::size_t begin = 0;
    do {
      const std::size_t n = std::min(kChunk, nbytes - begin);
      const int error = f(begin, static_cast<int>(n), message->add());
      if (error != MPI_SUCCESS) throw Lost(process, text_of(error));
      begin += n;
    } while (begin < nbytes);
    return message;
  }

  std::array<MPI_Comm, kCommunicators> communicators_{};
  std::vector<std::unique_ptr<NativeOrder>> orders_;
};

}  // namespace
}  // namespace tandem::comm

extern "C" tandem::comm::ProcessLinks* tandem_make_links(
    const tandem::comm::ProcessLinksOptions& options) {
  return new tandem::comm::MpiLinks(options);
}

extern "C" void tandem_mpi_identify(tandem::world::MpiIdentity& identity) {
  const auto& session = tandem::comm::Session::instance();
  identity.rank = session.rank;
  identity.size = session.size;
}

extern "C" void tandem_mpi_tell(char* bytes, int nbytes) {
  tandem::comm::check(MPI_Bcast(bytes, nbytes, MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
}
