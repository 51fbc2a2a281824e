// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/parameter_broadcast.hpp"

#include <utility>

#include "tandem/runtime/context.hpp"
#include "tandem/tensor/access.hpp"

namespace tandem::parallel {

void note_transit(const Tensor& values, Transit::Way way, std::shared_ptr<comm::Handle> handle) {
  const auto [begin, end] = byte_range(values);
  values.buffer().transits().add(
      {begin, end, way, [handle = std::move(handle), bucket = context().bucket] {
         const ContextScope scope([&](Context& c) {
           c.phase = Phase::replicate;
           c.bucket = bucket;
         });
         handle->wait();
       }});
}

void ParameterBroadcast::start(const optim::Arena& values,
                               const std::vector<Bucket>& buckets,
                               comm::Communicator& group) {
  drop();
  blocks_ = values.params();
  const auto way = group.rank() == 0 ? Transit::Way::out : Transit::Way::in;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const Bucket& bucket = buckets[b];
    const ContextScope scope([&](Context& c) { c.bucket = static_cast<int>(b); });
    const Tensor part = range(blocks_[static_cast<std::size_t>(bucket.block)], bucket.range());
    note_transit(part, way, std::make_shared<comm::Handle>(group.start_broadcast(part, 0)));
  }
}

void ParameterBroadcast::finish() {
  for (const Tensor& block : blocks_)
    block.buffer().transits().await(0, block.buffer().nbytes(), Direction::write);
  blocks_.clear();
}

void ParameterBroadcast::drop() noexcept {
  for (const Tensor& block : blocks_)
    block.buffer().transits().clear();
  blocks_.clear();
}

}  // namespace tandem::parallel
