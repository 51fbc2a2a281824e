// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What streams do to each other's data, with tasks in many orders: a wait that is missing shows as
// other data in some of them.

#include <algorithm>
#include <memory>

#include <gmock/gmock.h>

#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/event.hpp"

#include "cuda/gpus.hpp"
#include "parallel/nets.hpp"

namespace tandem::cuda::test {
namespace {

using parallel::DataParallel;

constexpr std::int64_t kCount = 100;

std::vector<double> times(double factor, std::vector<double> values) {
  for (double& v : values)
    v *= factor;
  return values;
}

/// Fills memory of the kind that was just freed.
Tensor overwrite(Device device) {
  return full({kCount}, -1, {.dtype = DType::f64, .device = device});
}

/// From the first device to the second: the same one, another on the same GPU, on another GPU.
class CopyOrderTest : public GpusTest {
 protected:
  template <class F>
  void for_each_way(F f) {
    for (const auto& [from, to] : {std::pair{0, 0}, {0, 1}, {0, 2}, {3, 0}, {3, 2}}) {
      SCOPED_TRACE("from " + std::to_string(from) + " to " + std::to_string(to));
      for_each_seed([&, from = from, to = to](int s) { f(gpu(from), gpu(to), s); });
    }
  }
};

TEST_F(CopyOrderTest, HostToGpuToGpuToHost) {
  for_each_way([](Device from, Device to, int s) {
    const std::vector<double> values = count_from(s, kCount);
    keep_busy(from);
    keep_busy(to);
    const Tensor x = mul(tensor_of(values, from), 2);
    const Tensor there = mul(x.to(to), 3);
    const Tensor back = there.to(from);
    EXPECT_EQ(back.to(Device{}).to_doubles(), times(6, values));
    EXPECT_EQ(there.to_doubles(), times(6, values));
  });
}

TEST_F(CopyOrderTest, TheSourceMayGoOrChangeAtOnce) {
  for_each_way([](Device from, Device to, int s) {
    const std::vector<double> values = count_from(s, kCount);
    keep_busy(to);
    Tensor x = mul(tensor_of(values, from), 2);
    const Tensor first = add(x.to(to), 0);
    x.fill_(-1);
    x.copy_(tensor_of(values, from));
    const Tensor second = add(x.to(to), 0);
    x = Tensor();
    const Tensor other = overwrite(from);
    EXPECT_EQ(first.to_doubles(), times(2, values));
    EXPECT_EQ(second.to_doubles(), values);
    EXPECT_EQ(other.to_doubles(), std::vector<double>(kCount, -1));
  });
}

TEST_F(CopyOrderTest, TheTargetMayGoAtOnce) {
  for_each_way([](Device from, Device to, int s) {
    const Tensor x = tensor_of(count_from(s, kCount), from);
    keep_busy(from);
    keep_busy(to);
    x.to(to);
    EXPECT_EQ(overwrite(to).to_doubles(), std::vector<double>(kCount, -1));
  });
}

// With the event after the copy refused nothing tells the source's stream when it may free.
TEST_F(CopyOrderTest, TheSourceOfACopyThatFailsStaysUntilItIsRead) {
  EXPECT_TRUE(are_peers(0, 1));  // the trial of it records events too
  for_each_way([](Device from, Device to, int s) {
    if (from == to) return;
    Tensor x = tensor_of(count_from(s, kCount), from);
    keep_busy(to);
    stand_in::fail_call("cudaEventRecord", 2, 999);
    EXPECT_THROW(x.to(to), DeviceError);
    x = Tensor();
    logical_device(from).stream().synchronize();
    logical_device(to).stream().synchronize();
    EXPECT_EQ(overwrite(to).to_doubles(), std::vector<double>(kCount, -1));
  });
}

TEST_F(CopyOrderTest, TheHostMayChangeWhatItGave) {
  for (const std::int64_t n : {kCount, std::int64_t{40'000}}) {  // the second is pinned
    for_each_seed([n](int s) {
      const std::vector<double> values = count_from(s, n);
      const ContextScope inputs([](Context& c) { c.category = Category::input; });
      Tensor x = tensor_of(values, Device{});
      keep_busy(gpu(1));
      const Tensor there = x.to(gpu(1));
      x.fill_(-1);
      EXPECT_EQ(there.to_doubles(), values);
    });
  }
}

class SharedPageTablesTest : public BareTest {
 protected:
  SharedPageTablesTest() {
    stand_in::set_host_page_tables(true);
    configure_devices("cuda:0,cuda:1");
  }
};

// GPUs that share the host's page tables read pageable memory as late as pinned memory.
TEST_F(SharedPageTablesTest, TheHostMayChangeWhatItGave) {
  for_each_seed([](int s) {
    const std::vector<double> values = count_from(s, kCount);
    Tensor x = tensor_of(values, Device{});
    keep_busy(gpu(1));
    const Tensor there = x.to(gpu(1));
    x.fill_(-1);
    EXPECT_EQ(there.to_doubles(), values);
  });
}

/// Counts to `n` on a stream, one kernel a step.
void count_on(Stream& stream, int* counter, int n) {
  stream.logical_device().gpu()->activate();
  for (int i = 0; i < n; ++i)
    stand_in::launch(stream.native()->cuda(), [counter] { ++*counter; });
}

class EventTest : public GpusTest {};

TEST_F(EventTest, AStreamWaitsForAnothers) {
  for (const int other : {0, 1, 2}) {
    SCOPED_TRACE("cuda:" + std::to_string(other));
    for_each_seed([other](int) {
      Stream& first = logical_device(gpu(0)).stream();
      Stream& then = logical_device(gpu(other)).side_stream();
      int counter = 0, seen = 0;
      count_on(first, &counter, 10);
      Event event;
      event.record(first);
      event.wait(then, "test");
      then.logical_device().gpu()->activate();
      stand_in::launch(then.native()->cuda(), [&] { seen = counter; });
      count_on(first, &counter, 10);
      then.synchronize();
      EXPECT_GE(seen, 10);
      event.wait("test");
      EXPECT_TRUE(event.query());
      first.synchronize();
      EXPECT_EQ(counter, 20);
    });
  }
}

TEST_F(EventTest, TheHostWaitsForItAndForAStream) {
  for_each_seed([](int) {
    int counter = 0, side = 0;
    Event event;  // recorded on two GPUs in turn
    for (const int device : {0, 2}) {
      Stream& stream = logical_device(gpu(device)).stream();
      count_on(stream, &counter, 5);
      event.record(stream);
      event.wait("test");
      EXPECT_EQ(counter % 5, 0);
      count_on(logical_device(gpu(device)).side_stream(), &side, 5);
      logical_device(gpu(device)).side_stream().synchronize();
      EXPECT_EQ(side % 5, 0);
    }
    EXPECT_EQ(counter + side, 20);
  });
}

TEST_F(EventTest, WhoReadsABufferWaitsUntilItIsReady) {
  for_each_seed([](int s) {
    const std::vector<double> values = count_from(s, kCount);
    const Tensor source = tensor_of(values, gpu(1));
    for (int way = 0; way < 5; ++way) {
      SCOPED_TRACE("way " + std::to_string(way));
      Tensor x = empty({kCount}, {.dtype = DType::f64, .device = gpu(0)});
      Stream& main = logical_device(gpu(0)).stream();
      Stream& side = logical_device(gpu(0)).side_stream();
      Event allocated;
      allocated.record(main);
      allocated.wait(side, "test");
      keep_busy(gpu(0));
      side.logical_device().gpu()->activate();
      auto* const to = static_cast<double*>(x.data());
      for (std::int64_t i = 0; i < kCount; ++i)
        stand_in::launch(side.native()->cuda(), [=] { to[i] = 2; });
      const auto ready = std::make_shared<Event>();
      ready->record(side);
      x.buffer().transits().add(
          {0, x.nbytes(), Transit::Way::in, [&] { ready->wait(main, "test"); }});
      std::vector<double> expected(kCount, 2);
      if (way == 0) {  // a read of the host
        EXPECT_EQ(x.to_doubles(), expected);
      } else if (way == 1) {  // a kernel
        EXPECT_EQ(mul(x, 2).to_doubles(), times(2, expected));
      } else if (way == 2) {  // a copy from it
        EXPECT_EQ(x.to(gpu(1)).to_doubles(), expected);
      } else if (way == 3) {  // a write of the host
        write(values.data(), x.buffer(), 0, source.nbytes());
        side.synchronize();
        EXPECT_EQ(x.to_doubles(), values);
      } else {  // a copy to it
        copy_bytes(source.buffer(), 0, x.buffer(), 0, source.nbytes());
        side.synchronize();
        EXPECT_EQ(x.to_doubles(), values);
      }
      EXPECT_FALSE(x.buffer().transits().any());
    }
  });
}

/// Five steps on one device of the host: the oracle.
parallel::test::Values train_alone(parallel::test::Cnn net) {
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  for (std::uint64_t step = 0; step < 5; ++step) {
    const auto batch = parallel::test::make_batch(9, step, DType::f64, false);
    optimizer.zero_grad();
    cross_entropy(net(batch.x), batch.labels).backward();
    optimizer.step();
  }
  return parallel::test::values_of(net);
}

parallel::test::Values train_parallel(parallel::test::Cnn net, const std::vector<Device>& devices) {
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  DataParallel dp(net, {.devices = devices, .exchange = {.bucket_nbytes = 256}});
  for (std::uint64_t step = 0; step < 5; ++step)
    dp.step(
        parallel::test::make_batch(9, step, DType::f64, false), parallel::test::kLoss, &optimizer);
  return parallel::test::values_of(net);
}

class TrainingOrderTest : public GpusTest {
 protected:
  static void check(const std::vector<Device>& devices) {
    manual_seed(7);
    const parallel::test::Cnn host;
    const auto alone = train_alone(nn::clone(host));
    for_each_seed([&](int) {
      manual_seed(7);
      set_default_device(gpu(0));
      parallel::test::Cnn net;
      net.load_state_dict(host.state_dict());
      set_default_device(Device{});  // batches come from the host
      EXPECT_LE(parallel::test::difference(train_parallel(net, devices), alone), 1e-12);
    });
  }
};

TEST_F(TrainingOrderTest, OnOneGpu) {
  check({gpu(0), gpu(1)});
}
TEST_F(TrainingOrderTest, OnTwoGpus) {
  check({gpu(0), gpu(2)});
}
TEST_F(TrainingOrderTest, OnAll) {
  check({gpu(0), gpu(1), gpu(2), gpu(3)});
}

}  // namespace
}  // namespace tandem::cuda::test
