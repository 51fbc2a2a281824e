// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "tandem/libtorch/data_parallel.hpp"

// The devices of the suites: virtual ones, or PyTorch's GPUs where the environment has
// TANDEM_TEST_DEVICE=cuda. The suites are the same for both.
namespace tandem::libtorch::test {

/// Makes the devices known to PyTorch, before a test asks for one of them.
void register_test_devices();
/// cpu:index or cuda:index.
Device test_device(int index);
/// The first ones.
std::vector<Device> test_devices(int count);
/// Their type in PyTorch.
c10::DeviceType torch_type();

/// Moves a module that the suite has left on the host to the first of the devices, if they are
/// GPUs.
///
/// @return whether its outputs go to the host, where the suite expects them. So they do for each
///         later wrapper of the module.
bool move_to_gpu(const std::shared_ptr<torch::nn::Module>& module,
                 const parallel::DataParallelOptions& options);

/// The wrapper of the suites, which finds a module of the host on GPUs too.
template <class M>
class DataParallel : public libtorch::DataParallel<M> {
 public:
  explicit DataParallel(const std::shared_ptr<M>& module,
                        const parallel::DataParallelOptions& options = {},
                        ModuleOptions<M> module_options = {})
      : DataParallel(move_to_gpu(module, options), module, options, std::move(module_options)) {}
  template <class Holder>
  requires std::convertible_to<decltype(std::declval<const Holder&>().ptr()), std::shared_ptr<M>>
  explicit DataParallel(const Holder& module,
                        const parallel::DataParallelOptions& options = {},
                        ModuleOptions<M> module_options = {})
      : DataParallel(std::shared_ptr<M>(module.ptr()), options, std::move(module_options)) {}

  template <parallel::Argument... Args>
  auto operator()(const Args&... arguments) {
    auto outputs = libtorch::DataParallel<M>::operator()(arguments...);
    if (is_for_host_)
      for_each_leaf(outputs, [](auto& x) {
        if (x.defined()) x = x.cpu();
      });
    return outputs;
  }

 private:
  DataParallel(bool is_for_host,
               std::shared_ptr<M> module,
               const parallel::DataParallelOptions& options,
               ModuleOptions<M> module_options)
      : libtorch::DataParallel<M>(std::move(module), options, std::move(module_options)),
        is_for_host_(is_for_host) {}

  bool is_for_host_;
};

template <detail::PointsToModule Holder>
using ModuleOf = std::remove_reference_t<decltype(*std::declval<const Holder&>().ptr())>;
template <detail::PointsToModule Holder>
DataParallel(const Holder&) -> DataParallel<ModuleOf<Holder>>;
template <detail::PointsToModule Holder>
DataParallel(const Holder&, parallel::DataParallelOptions) -> DataParallel<ModuleOf<Holder>>;
template <detail::PointsToModule Holder>
DataParallel(const Holder&, parallel::DataParallelOptions, ModuleOptions<ModuleOf<Holder>>)
    -> DataParallel<ModuleOf<Holder>>;

}  // namespace tandem::libtorch::test
