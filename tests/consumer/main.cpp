// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <iostream>
#include <string>

#include "tandem/comm/group.hpp"
#include "tandem/config.hpp"
#include "tandem/data/known_datasets.hpp"
#include "tandem/io/idx.hpp"
#include "tandem/nn/activation.hpp"
#include "tandem/nn/conv2d.hpp"
#include "tandem/nn/flatten.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/nn/sequential.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"
#include "tandem/world/world.hpp"

int own_names();

namespace {

// The gradient of the last bias is the number of rows. Convolution and matrix product call the
// libraries that a static libtandem leaves to be linked here.
bool gradient_is_right() {
  using namespace tandem;
  nn::Sequential net{nn::Conv2d(1, 4, 3), nn::ReLU(), nn::Flatten(), nn::Linear(4 * 6 * 6, 1)};
  net(ones({5, 1, 8, 8})).sum().backward();
  const double gradient = net.get<3>().bias.grad().item();
  std::cout << "tandem " << version << ": gradient " << gradient << ", expected 5\n";
  return gradient == 5.0;
}

// An error keeps its type on the way through the library's border.
bool error_has_its_type() {
  try {
    tandem::read_idx("no such file.gz");
  } catch (const tandem::FileError& error) {
    std::cout << error.what() << '\n';
    return true;
  }
  return false;
}

// The data sets of the installation are read, and not those of the sources: `file` of them is
// spoilt.
bool reads_installed_data(const std::string& file) {
  try {
    tandem::datasets::load_digits(tandem::datasets::Split::test);
  } catch (const tandem::FileError& error) {
    std::cout << error.what() << '\n';
    return std::string(error.what()).find(file) != std::string::npos;
  }
  return false;
}

// The plug-ins of the installation are found from a program in a folder of its own.
bool finds_plugins() {
  tandem::world::World world("env://", {.timeout = std::chrono::seconds(60)});
  const auto group =
      tandem::comm::make_group(tandem::configure_devices("cpu:1"), {.world = &world});
  const tandem::Tensor sum = tandem::ones({3});
  group.front()->all_reduce(sum);
  return sum.to_host<float>().front() == static_cast<float>(world.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--plugins") return finds_plugins() ? 0 : 1;
  if (argc > 1) return reads_installed_data(argv[1]) ? 0 : 1;
  return gradient_is_right() && error_has_its_type() && own_names() == 0 ? 0 : 1;
}
