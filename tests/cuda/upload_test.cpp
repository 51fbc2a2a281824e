// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Copies from the host that run beside a GPU's other work.

#include "tandem/runtime/upload.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "cuda/gpus.hpp"
#include "thrown_text.hpp"

namespace tandem::cuda::test {
namespace {

constexpr int kUnknown = 999;  // cudaErrorUnknown

/// Numbers of the host: few that the driver takes at once, more that the GPU reads when it comes to
/// them, and many that are not pinned.
struct HostSource {
  std::int64_t count;
  Category category;
};
constexpr HostSource kSmall{100, Category::input}, kPinned{40'000, Category::input},
    kPageable{40'000, Category::activation};

Tensor host_tensor(const HostSource& source, const std::vector<double>& values) {
  const ContextScope scope([&](Context& c) { c.category = source.category; });
  return tensor_of(values, Device{});
}

std::vector<double> minus_ones(std::int64_t n) {
  return std::vector<double>(static_cast<std::size_t>(n), -1);
}

class UploadOrderTest : public GpusTest {
 protected:
  template <class F>
  void for_each_source(F f) {
    for (const HostSource& source : {kSmall, kPinned, kPageable}) {
      SCOPED_TRACE(std::to_string(source.count) + ' ' + name(source.category));
      for_each_seed([&](int s) {
        keep_busy(gpu(1));
        f(source, count_from(s, source.count));
      });
    }
  }
};

TEST_F(UploadOrderTest, LaterWorkOfTheGpuSeesTheBytes) {
  for_each_source([](const HostSource& source, const std::vector<double>& values) {
    const Tensor x = host_tensor(source, values);  // whose end waits for the copy
    EXPECT_EQ(add(x.to(gpu(1), NonBlocking::yes), 0).to_doubles(), values);
  });
}

TEST_F(UploadOrderTest, TheSourceMayChangeAtOnce) {
  for_each_source([](const HostSource& source, const std::vector<double>& values) {
    Tensor x = host_tensor(source, values);
    const Tensor there = x.to(gpu(1), NonBlocking::yes);
    x.fill_(-1);
    EXPECT_EQ(there.to_doubles(), values);
  });
}

TEST_F(UploadOrderTest, TheSourceMayGoAtOnce) {
  for_each_source([](const HostSource& source, const std::vector<double>& values) {
    Tensor x = host_tensor(source, values);
    const Tensor there = x.to(gpu(1), NonBlocking::yes);
    x = Tensor();
    const Tensor other = host_tensor(source, minus_ones(source.count));
    EXPECT_EQ(there.to_doubles(), values);
    EXPECT_EQ(other.to_doubles(), minus_ones(source.count));
  });
}

TEST_F(UploadOrderTest, TheTargetMayGoAtOnce) {
  for_each_source([](const HostSource& source, const std::vector<double>& values) {
    const Tensor x = host_tensor(source, values);
    x.to(gpu(1), NonBlocking::yes);
    const Tensor other = full({source.count}, -1, {.dtype = DType::f64, .device = gpu(1)});
    EXPECT_EQ(other.to_doubles(), minus_ones(source.count));
  });
}

TEST_F(UploadOrderTest, RowsOfOneTensorGoToSeveralGpus) {
  for_each_seed([](int s) {
    const std::vector<double> values = count_from(s, kPinned.count);
    Tensor x = host_tensor(kPinned, values);
    const std::int64_t half = kPinned.count / 2;
    const Tensor first = x.narrow(0, 0, half).to(gpu(0), NonBlocking::yes);
    const Tensor second = x.narrow(0, half, half).to(gpu(2), NonBlocking::yes);
    x.fill_(-1);
    std::vector<double> both = first.to_doubles();
    std::ranges::copy(second.to_doubles(), std::back_inserter(both));
    EXPECT_EQ(both, values);
  });
}

class FillTest : public GpusTest {
 protected:
  static BufferPart all_of(const Tensor& x) { return {&x.buffer(), 0, x.nbytes()}; }
  static Tensor tensor(std::shared_ptr<Buffer> buffer) {
    const auto n = static_cast<std::int64_t>(buffer->nbytes() / sizeof(double));
    return from_buffer(std::move(buffer), 0, {n}, {1}, DType::f64);
  }
};

TEST_F(FillTest, PartsOfAllDevicesComeAfterTheirWorkSoFar) {
  for_each_seed([](int s) {
    const std::vector<double> values = count_from(s, kPinned.count);
    std::vector<Tensor> sources{host_tensor(kPinned, values)};
    for (const int d : {0, 1, 2}) {
      keep_busy(gpu(d));
      sources.push_back(mul(tensor_of(values, gpu(d)), 2));
    }
    std::vector<BufferPart> parts;
    for (const Tensor& x : sources)
      parts.push_back(all_of(x));
    FillingBuffer filling = tandem::fill(parts, gpu(1));
    for (Tensor& x : sources)
      x.fill_(-1);  // waits for the copy
    const std::vector<double> found = tensor(filling.take()).to_doubles();
    const std::size_t n = values.size();
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i], values[i % n] * (i < n ? 1 : 2)) << i;
  });
}

TEST_F(FillTest, SourcesAndTargetMayGoAtOnce) {
  for_each_seed([](int s) {
    const std::vector<double> values = count_from(s, kPinned.count);
    for (const bool is_taken : {true, false}) {
      Tensor source = mul(tensor_of(values, gpu(0)), 1);
      const BufferPart part = all_of(source);
      std::optional<FillingBuffer> filling(tandem::fill(std::span(&part, 1), gpu(1)));
      source = Tensor();
      const Tensor other = full({kPinned.count}, -1, {.dtype = DType::f64, .device = gpu(0)});
      Tensor there;
      if (is_taken) there = tensor(filling->take());
      filling.reset();
      const Tensor next = full({kPinned.count}, -2, {.dtype = DType::f64, .device = gpu(1)});
      if (is_taken) {
        EXPECT_EQ(there.to_doubles(), values);
      }
      EXPECT_EQ(other.to_doubles(), minus_ones(kPinned.count));
      EXPECT_EQ(next.to_doubles(), std::vector<double>(values.size(), -2));
    }
  });
}

class UploadTest : public GpusTest {};

// A copy of a peer that does not end keeps the main stream busy.
TEST_F(UploadTest, NeitherTheHostNorTheCopyWaitsForTheMainStream) {
  EXPECT_TRUE(are_peers(0, 1));
  Tensor x = host_tensor(kPinned, count_from(0, kPinned.count));
  stand_in::set_peers(stand_in::Peers::hanging);
  const Tensor stuck = tensor_of({1, 2}, gpu(0)).to(gpu(2));
  const ContextScope late([](Context& c) { c.deadline = Deadline(std::chrono::milliseconds(50)); });
  const Tensor there = x.to(gpu(2), NonBlocking::yes);
  EXPECT_NO_THROW(x.fill_(-1));
  EXPECT_THROW(there.to_doubles(), Timeout);
}

TEST_F(UploadTest, UploadsOfOneSourceAreForgottenWhenTheyHaveEnded) {
  const Tensor x = host_tensor(kPinned, count_from(0, kPinned.count));
  x.to(gpu(1), NonBlocking::yes).to_doubles();
  EXPECT_TRUE(x.buffer().transits().any());
  stand_in::reset();
  x.to(gpu(1), NonBlocking::yes).to_doubles();
  auto counts = stand_in::call_counts();
  EXPECT_EQ(counts["cudaEventDestroy"], 1);
}

TEST_F(UploadTest, AFailureLeavesNothing) {
  const Tensor x = host_tensor(kPinned, count_from(0, kPinned.count));
  x.to(gpu(1), NonBlocking::yes).to_doubles();
  const std::size_t before = objects_in_use();
  const std::size_t nbytes = logical_device(gpu(1)).memory_stats().in_use;
  for (const char* const call : {"cudaMallocFromPoolAsync",
                                 "cudaMemcpyAsync",
                                 "cudaEventCreateWithFlags",
                                 "cudaEventRecord",
                                 "cudaStreamWaitEvent"}) {
    SCOPED_TRACE(call);
    stand_in::fail_call(call, 1, kUnknown);
    EXPECT_THROW(x.to(gpu(1), NonBlocking::yes), DeviceError);
    EXPECT_EQ(logical_device(gpu(1)).memory_stats().in_use, nbytes);
    EXPECT_LE(objects_in_use(), before);
  }
  EXPECT_EQ(x.to(gpu(1), NonBlocking::yes).to_doubles(), count_from(0, kPinned.count));
}

}  // namespace
}  // namespace tandem::cuda::test
