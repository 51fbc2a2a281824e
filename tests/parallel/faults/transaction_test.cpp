// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "tandem/optim/adam.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

// A call that fails has no effect, says where it failed, and the next one works.
namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;

struct AllState {
  Values values;
  std::map<std::string, std::vector<double>> state;
  std::uint64_t forwards;
  std::vector<std::size_t> in_use;

  friend bool operator==(const AllState&, const AllState&) = default;
};

AllState everything(nn::Module& net, optim::Optimizer& optimizer, int devices) {
  AllState all{values_of(net), {}, default_generator().forwards().load(), {}};
  for (const auto& [name, x] : optimizer.state_dict().tensors)
    all.state[name] = x.to_doubles();
  for (const auto& [name, number] : optimizer.state_dict().numbers)
    all.state[name] = {number};
  for (int d = 0; d < devices; ++d) {
    all.in_use.push_back(logical_device(testing::device(d)).memory_stats().in_use);
  }
  return all;
}

class TransactionTest : public ::testing::Test {
 protected:
  TransactionTest() {
    batch = make_batch(13, 2, DType::f64, false);
    dp.step(batch, kLoss, &optimizer);  // states and replicas are there
  }

  Cnn net;
  optim::AdamW optimizer{net.named_parameters(), {.lr = 0.01}};
  DataParallel<Cnn> dp{net, {.devices = devices(kDevices), .gpu0_bsz = 3}};
  Batch batch;
};

TEST_F(TransactionTest, AFailureInOneReplicaHasNoEffect) {
  for (const int failing : {0, 1, 2}) {
    optimizer.zero_grad();
    const AllState before = everything(net, optimizer, kDevices);
    try {
      dp.step(
          batch,
          [failing](Cnn& m, const Batch& b) {
            WeightedSum loss = cross_entropy_sum(m(b.x), b.labels);
            if (context().replica == failing) throw std::runtime_error("badness");
            return loss;
          },
          &optimizer);
      FAIL();
    } catch (const ReplicaError& e) {
      EXPECT_EQ(e.device.index, failing);
      EXPECT_EQ(e.replica, failing);
      EXPECT_EQ(e.rows, dp.plan(13)[static_cast<std::size_t>(failing)]);
      EXPECT_EQ(e.phase, Phase::forward);
      EXPECT_THAT(e.what(), HasSubstr("badness"));
      EXPECT_TRUE(e.others.empty());
      EXPECT_NE(find_cause<std::runtime_error>(e), nullptr);
    }
    EXPECT_EQ(everything(net, optimizer, kDevices), before) << "replica " << failing;
    dp.step(batch, kLoss, &optimizer);
  }
}

TEST_F(TransactionTest, ALossThatIsNoNumberStopsTheStep) {
  optimizer.zero_grad();
  Batch bad = batch;
  bad.x = batch.x.clone();
  bad.x.narrow(0, 12, 1).fill_(NAN);  // a row of the last device; batch norm spreads it
  const AllState before = everything(net, optimizer, kDevices);
  try {
    dp.step(bad, kLoss, &optimizer);
    FAIL();
  } catch (const ReplicaError& e) {
    EXPECT_THAT(e.what(),
                HasSubstr(std::string("the loss is nan on ") + name(testing::device_type())));
    EXPECT_EQ(e.phase, Phase::loss);
  }
  EXPECT_EQ(everything(net, optimizer, kDevices), before);
}

TEST_F(TransactionTest, ALabelOutOfRangeIsNamed) {
  Batch bad = batch;
  bad.labels = batch.labels.clone();
  bad.labels.narrow(0, 5, 1).fill_(7);
  try {
    dp.step(bad, kLoss, &optimizer);
    FAIL();
  } catch (const ReplicaError& e) {
    EXPECT_THAT(e.what(), HasSubstr("7"));
    EXPECT_NE(find_cause<InvalidArgument>(e), nullptr);
  }
}

}  // namespace
}  // namespace tandem::parallel::test
