// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/local.hpp"

#include <algorithm>
#include <utility>

#include "tandem/config.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/access.hpp"

#include "comm/local_group.hpp"
#include "runtime/copy_times.hpp"

namespace tandem::comm {
namespace {

/// The output, where the collective writes it on this rank.
Tensor written(const Collective& c, int rank) {
  const bool is_root = rank == c.root;
  if (c.kind == Collective::Kind::broadcast && is_root) return {};
  if (c.kind == Collective::Kind::reduce && !is_root) return {};
  return c.output;
}

Work work_of(const Collective& c, AccessList accesses) {
  const DType dtype = signature_of(c).dtype;
  return {.kind = Work::Kind::custom, .name = name(c.kind), .dtype = dtype, .accesses = accesses};
}

/// The work of `stream` so far.
std::shared_ptr<const Event> recorded(const Stream& stream) {
  auto event = std::make_shared<Event>();
  event->record(stream);
  return event;
}

class LocalPending final : public Handle::Pending {
 public:
  LocalPending(std::shared_ptr<LocalGroup> group, int rank, Collective collective)
      : group_(std::move(group)), rank_(rank), collective_(std::move(collective)) {
    const Work work = work_of(collective_, accesses({collective_.input}, {}));
    // No dispatch: it ends with a look at the GPU, and nothing may fail here once the others count
    // on this rank. For the same reason a barrier asks the GPU for nothing.
    const tandem::detail::WorkScope scope(stream(), work);
    Part part = part_of(collective_);
    if (group_->on_gpus() && collective_.kind != Collective::Kind::barrier)
      part.ready = recorded(stream());
    operation_ = group_->arrive(rank_, signature_of(collective_), std::move(part));
  }
  ~LocalPending() override {
    if (operation_ == nullptr) return;
    group_->leave(*operation_, rank_);
    try {
      follow();
    } catch (...) {  // the memory goes back in the main stream's order
      if constexpr (has_cuda) drain_gpus(*group_);
    }
  }
  LocalPending(const LocalPending&) = delete;
  LocalPending& operator=(const LocalPending&) = delete;

  void wait(std::chrono::milliseconds timeout) override {
    const Tensor output = written(collective_, rank_);
    {
      const Work work = work_of(collective_, accesses({}, {output}));
      const tandem::detail::WorkScope scope(stream(), work);
      group_->wait(*operation_, rank_, timeout);
      follow();
    }
    if (!output.defined()) return;
    const Plan& plan = operation_->plan;
    for (int from = 0; from < group_->size(); ++from) {
      const std::size_t nbytes = bytes_between(plan.signature, operation_->parts, from, rank_);
      count_copy(group_->device(from), output.buffer(), nbytes, operation_->times);
    }
  }
  bool done() const noexcept override {
    return operation_->state.load(std::memory_order_acquire) == Operation::State::complete;
  }

 private:
  /// On GPUs the work is queued when the operation is complete: what this rank does next comes
  /// after it.
  void follow() const {
    if (operation_->state.load(std::memory_order_acquire) != Operation::State::complete) return;
    for (const auto& ended : operation_->ended)
      ended->wait(stream(), name(collective_.kind));
  }
  Stream& stream() const { return logical_device(group_->device(rank_)).stream(); }

  std::shared_ptr<LocalGroup> group_;
  int rank_;
  Collective collective_;  // keeps the memory that the operation points to
  std::shared_ptr<Operation> operation_;
};

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<LocalGroup> group, int rank) noexcept
      : group_(std::move(group)), rank_(rank) {}
  ~LocalCommunicator() override { group_->abort(group_->rank_name(rank_) + " was destroyed"); }
  LocalCommunicator(const LocalCommunicator&) = delete;
  LocalCommunicator& operator=(const LocalCommunicator&) = delete;

  int size() const noexcept override { return group_->size(); }
  int rank() const noexcept override { return rank_; }
  Device device() const noexcept override { return group_->device(rank_); }
  void abort(const std::string& reason) noexcept override { group_->abort(reason); }
  void reset() override { group_->reset(); }

 protected:
  Handle launch(Collective collective) override {
    try {
      return Handle(std::make_unique<LocalPending>(group_, rank_, std::move(collective)));
    } catch (const std::exception& e) {
      // The others would wait for a rank that never comes; no effect where they know already.
      group_->abort(group_->rank_name(rank_) + " failed: " + e.what());
      throw;
    }
  }

 private:
  std::shared_ptr<LocalGroup> group_;
  int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_local(std::span<const Device> devices,
                                                      LocalOptions options) {
  TANDEM_CHECK(!devices.empty(), "make_local: no device is named; a group has at least one");
  TANDEM_CHECK(options.timeout.count() > 0,
               "make_local: timeout is ",
               options.timeout.count(),
               " ms; expected more than zero");
  for (auto d = devices.begin(); d != devices.end(); ++d) {
    logical_device(*d);  // refuses what is no device of this build
    TANDEM_CHECK(std::find(devices.begin(), d, *d) == d,
                 "make_local: ",
                 *d,
                 " is listed twice; each rank has a device of its own");
    TANDEM_CHECK(d->type == devices.front().type,
                 "make_local: ",
                 devices.front(),
                 " and ",
                 *d,
                 " are of two kinds; use cpu devices alone, or cuda devices alone");
  }
  const auto group = std::make_shared<LocalGroup>(
      std::vector<Device>(devices.begin(), devices.end()), options.timeout);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int r = 0; r < group->size(); ++r)
    ranks.push_back(std::make_unique<LocalCommunicator>(group, r));
  return ranks;
}

}  // namespace tandem::comm
