// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// usage: ops_bench [--device=cuda:0] [Google Benchmark's options]
//
// On a GPU an iteration is 50 calls (roofline.hpp); of its threads and paths one each is enough:
// --benchmark_filter='threads:1/'.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "tandem/runtime/runtime.hpp"

#include "product_bench.hpp"
#include "roofline.hpp"

namespace {

constexpr std::string_view kDevice = "--device=";

/// Takes the device out of the arguments.
void set_device(int& argc, char** argv) {
  char** const end = argv + argc;
  char** const found = std::find_if(
      argv, end, [](const char* a) { return std::string_view(a).starts_with(kDevice); });
  if (found == end) return;
  const std::string_view list = std::string_view(*found).substr(kDevice.size());
  tandem::set_default_device(tandem::configure_devices(list).at(0));
  std::copy(found + 1, end, found);
  --argc;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    set_device(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ops_bench: %s\n", e.what());
    return 2;
  }
  tandem::bench::register_products(tandem::get_default_device());
  benchmark::AddCustomContext("device", tandem::to_string(tandem::get_default_device()));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
