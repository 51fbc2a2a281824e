// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/ranks/rank_calls.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::parallel {
namespace {

using comm::Communicator;
using tandem::detail::concat;

constexpr std::size_t kAnnouncementWords = 3;  // of an Announcement
// No all_gather of the caller's own has it, so none is taken for an announcement.
constexpr const char* kPurpose = "calls of Rank";

constexpr std::array<const char*, 3> kCallNames{
    "gather_for_metrics", "gather_objects", "broadcast_object"};

std::string call_of(std::span<const std::int64_t> words) {
  const auto call = static_cast<RankCall>(words[0]);
  return call == RankCall::broadcast_object ? concat(name(call), " from root ", words[1])
                                            : name(call);
}

/// @throws Desync  a rank's call or root differs from rank 0's.
void check_calls(int ranks, std::span<const std::int64_t> all) {
  const auto of = [&](int rank) {
    return all.subspan(static_cast<std::size_t>(rank) * kAnnouncementWords, kAnnouncementWords);
  };
  for (int rank = 1; rank < ranks; ++rank) {
    if (std::ranges::equal(of(rank).first(2), of(0).first(2))) continue;
    throw Desync(concat("the ranks are in different calls: rank 0 is in ",
                        call_of(of(0)),
                        ", and rank ",
                        rank,
                        " in ",
                        call_of(of(rank)),
                        "; make the same calls in the same order on all ranks"));
  }
}

Tensor bytes_of(std::string_view text, Device device) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(text.data());
  return from_host(std::span(data, text.size()), {static_cast<std::int64_t>(text.size())}, device);
}

Tensor empty_bytes(std::int64_t count, Device device) {
  return empty({count}, {.dtype = DType::u8, .device = device});
}

}  // namespace

const char* name(RankCall call) noexcept {
  return kCallNames[static_cast<std::size_t>(call)];
}

std::vector<std::int64_t> announce(Communicator& comm, const Announcement& own) {
  const std::vector<std::int64_t> all = freeing_others(comm, [&] {
    const ContextScope kept([](Context& c) { c.keeps_data = true; });
    const std::array<std::int64_t, kAnnouncementWords> words{
        static_cast<std::int64_t>(own.call), own.root, own.nbytes};
    const Tensor mine =
        from_host(std::span<const std::int64_t>(words), {kAnnouncementWords}, comm.device());
    const Tensor whole = empty({comm.size() * static_cast<std::int64_t>(kAnnouncementWords)},
                               {.dtype = DType::i64, .device = comm.device()});
    auto gather = comm::Collective::all_gather(mine, whole);
    gather.purpose = kPurpose;
    comm.start(std::move(gather)).wait();
    return whole.to_host<std::int64_t>();
  });
  check_calls(comm.size(), all);
  std::vector<std::int64_t> nbytes;
  for (std::size_t at = kAnnouncementWords - 1; at < all.size(); at += kAnnouncementWords)
    nbytes.push_back(all[at]);
  return nbytes;
}

std::vector<std::string> gather_texts(Communicator& comm, RankCall call, std::string_view own) {
  const std::vector<std::int64_t> nbytes =
      announce(comm, {.call = call, .nbytes = static_cast<std::int64_t>(own.size())});
  return freeing_others(comm, [&] {
    const ContextScope kept([](Context& c) { c.keeps_data = true; });
    const std::int64_t sum = std::reduce(nbytes.begin(), nbytes.end());
    const Tensor whole = empty_bytes(sum, comm.device());
    comm.all_gather(bytes_of(own, comm.device()), whole);
    const std::vector<std::uint8_t> bytes = whole.to_host<std::uint8_t>();
    std::vector<std::string> texts;
    auto at = bytes.begin();
    for (const std::int64_t count : nbytes) {
      texts.emplace_back(at, at + count);
      at += count;
    }
    return texts;
  });
}

std::string broadcast_text(Communicator& comm, std::string_view own, int root) {
  const std::vector<std::int64_t> nbytes =
      announce(comm, {.call = RankCall::broadcast_object, .root = root, .nbytes = std::ssize(own)});
  TANDEM_CHECK(root >= 0 && root < comm.size(),
               "broadcast_object: root is ",
               root,
               "; it must be one of the ",
               comm.size(),
               " ranks, 0 to ",
               comm.size() - 1);
  return freeing_others(comm, [&] {
    const ContextScope kept([](Context& c) { c.keeps_data = true; });
    const Tensor all = comm.rank() == root
                           ? bytes_of(own, comm.device())
                           : empty_bytes(nbytes[static_cast<std::size_t>(root)], comm.device());
    comm.broadcast(all, root);
    const std::vector<std::uint8_t> bytes = all.to_host<std::uint8_t>();
    return std::string(bytes.begin(), bytes.end());
  });
}

}  // namespace tandem::parallel
