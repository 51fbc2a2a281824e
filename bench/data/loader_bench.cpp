// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Batches of images that a DataLoader gives out: 60,000 of 28 x 28 bytes, shuffled, converted to
// f32, in batches of 256, as Fashion-MNIST's. Roofline: memory; a batch reads 0.2 MB of bytes and
// writes 0.8 MB of floats twice (in the worker, and into the batch's tensor).
//
// workers 0: next() prepares the batch itself. Run with --benchmark_out=FILE
// --benchmark_out_format=json for JSON.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "tandem/data/data_loader.hpp"
#include "tandem/data/idx_dataset.hpp"

namespace {

using namespace tandem;

constexpr std::int64_t kSamples = 60'000, kSide = 28;

void write_idx(const std::string& path, const std::vector<std::uint32_t>& shape, int values) {
  std::ofstream file(path, std::ios::binary);
  file.write("\0\0\x08", 3);
  file.put(static_cast<char>(shape.size()));
  std::size_t count = 1;
  for (const std::uint32_t size : shape) {
    for (const int shift : {24, 16, 8, 0})
      file.put(static_cast<char>(size >> shift));
    count *= size;
  }
  std::mt19937 random(1);
  std::string bytes(count, '\0');
  for (char& byte : bytes)
    byte = static_cast<char>(random() % static_cast<unsigned>(values));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::shared_ptr<const datasets::IdxDataset> make_images() {
  std::string dir = (std::filesystem::temp_directory_path() / "tandem-bench-XXXXXX").string();
  if (mkdtemp(dir.data()) == nullptr) throw std::runtime_error("no temporary directory");
  write_idx(dir + "/images", {kSamples, kSide, kSide}, 256);
  write_idx(dir + "/labels", {kSamples}, 10);
  auto set = std::make_shared<const datasets::IdxDataset>(dir + "/images", dir + "/labels");
  std::filesystem::remove_all(dir);
  return set;
}

/// One epoch.
void BM_Loader(benchmark::State& state) {
  const auto set = make_images();
  datasets::DataLoader loader(set,
                              {.batch_size = state.range(1),
                               .sampler = datasets::random_sampler(kSamples, 1),
                               .workers = static_cast<int>(state.range(0))});
  for (auto _ : state) {
    std::int64_t rows = 0;
    while (const auto batch = loader.next())
      rows += batch->at(0).size(0);
    if (rows != kSamples) state.SkipWithError("an epoch has lost rows");
  }
  state.SetItemsProcessed(state.iterations() * kSamples);
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"workers", "batch"})
      ->ArgsProduct({{0, 1, 2, 4}, {256, 8192, kSamples}})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

BENCHMARK(BM_Loader)->Apply(sizes);

}  // namespace
