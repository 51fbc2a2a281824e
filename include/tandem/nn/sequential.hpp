// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

#include "tandem/nn/module.hpp"

namespace tandem::nn {

/// Calls its modules in order, each with the result of the one before. They are named "0", "1", ...
///
///     nn::Sequential body{nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 3)};
///
/// A member of a class must spell out the types: `nn::Sequential<nn::Linear, nn::ReLU> body{...};`.
/// For a list of one type, a `std::vector<Block>` member is enough.
template <std::derived_from<Module>... Layers>
class Sequential : public Module {
 public:
  explicit Sequential(Layers... layers) : layers_(std::move(layers)...) {}

  template <class... Args>
  auto forward(Args&&... args) {
    return run<0>(std::forward<Args>(args)...);
  }
  template <std::size_t i>
  auto& get() noexcept {
    return std::get<i>(layers_);
  }
  static constexpr std::size_t size() noexcept { return sizeof...(Layers); }

  const char* type_name() const noexcept override { return "Sequential"; }
  void visit_members(MemberVisitor& visitor) override {
    detail::visit_member(visitor, "", layers_);
  }
  template <class... Args>
  auto operator()(Args&&... args) {
    return detail::call(*this, std::forward<Args>(args)...);
  }

 private:
  template <std::size_t i, class... Args>
  auto run(Args&&... args) {
    static_assert(size() > 0, "a Sequential has at least one layer");
    if constexpr (i + 1 == size()) {
      return get<i>()(std::forward<Args>(args)...);
    } else {
      return run<i + 1>(get<i>()(std::forward<Args>(args)...));
    }
  }

  std::tuple<Layers...> layers_;
};

}  // namespace tandem::nn
