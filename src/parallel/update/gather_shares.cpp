// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/gather_shares.hpp"

#include <memory>

#include "tandem/runtime/context.hpp"

#include "parallel/reduce/parameter_broadcast.hpp"

namespace tandem::parallel {

void gather_shares(const optim::Arena& arena,
                   const std::vector<Bucket>& buckets,
                   comm::Communicator& group) {
  std::vector<std::shared_ptr<comm::Handle>> handles(buckets.size());
  const auto for_each_bucket = [&](const auto& f) {
    for (std::size_t b = buckets.size(); b-- > 0;) {
      const ContextScope scope([&](Context& c) { c.bucket = static_cast<int>(b); });
      f(buckets[b], handles[b]);
    }
  };
  for_each_bucket([&](const Bucket& bucket, std::shared_ptr<comm::Handle>& handle) {
    const Tensor& values = arena.params(bucket.block);
    handle = std::make_shared<comm::Handle>(
        group.start({comm::Collective::Kind::all_gather,
                     range(values, share_of(bucket, group.rank(), group.size())),
                     range(values, bucket.range())}));
  });
  for_each_bucket([&](const Bucket& bucket, const std::shared_ptr<comm::Handle>& handle) {
    handle->settle();
    note_transit(range(arena.params(bucket.block), bucket.range()), Transit::Way::in, handle);
  });
}

}  // namespace tandem::parallel
