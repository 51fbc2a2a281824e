// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/nn/parameter.hpp"

namespace tandem::nn {

class Module;

/// Visits the direct members of a module in the order given to TANDEM_MODULE.
class MemberVisitor {
 public:
  /// Undefined tensors are not visited.
  ///
  /// @param name  for example "weight", or "masks.0" in a container
  virtual void visit_tensor(std::string_view name, Tensor& tensor, TensorKind kind) = 0;
  virtual void visit_module(std::string_view name, Module& module) = 0;

 protected:
  ~MemberVisitor() = default;
};

namespace detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_list = false;
template <class T, class A>
inline constexpr bool is_list<std::vector<T, A>> = true;
template <class T, std::size_t n>
inline constexpr bool is_list<std::array<T, n>> = true;
template <class T>
inline constexpr bool is_tuple = false;
template <class... Ts>
inline constexpr bool is_tuple<std::tuple<Ts...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;
template <class T>
inline constexpr bool is_name_map = false;
template <class T, class C, class A>
inline constexpr bool is_name_map<std::map<std::string, T, C, A>> = true;
template <class>
inline constexpr bool always_false = false;

/// "outer.inner", or only "inner" if `outer` is empty.
inline std::string join_names(std::string_view outer, std::string_view inner) {
  std::string joined(outer);
  if (!joined.empty()) joined += '.';
  return joined += inner;
}

template <class T>
void visit_member(MemberVisitor& visitor, std::string_view name, T& member) {
  if constexpr (std::derived_from<T, Module>) {
    visitor.visit_module(name, member);
  } else if constexpr (std::derived_from<T, Parameter>) {
    if (member.defined()) visitor.visit_tensor(name, member, TensorKind::parameter);
  } else if constexpr (std::derived_from<T, BufferTensor>) {
    if (member.defined()) visitor.visit_tensor(name, member, TensorKind::buffer);
  } else if constexpr (is_optional<T>) {
    if (member.has_value()) visit_member(visitor, name, *member);
  } else if constexpr (is_list<T>) {
    for (std::size_t i = 0; i < member.size(); ++i) {
      visit_member(visitor, join_names(name, std::to_string(i)), member[i]);
    }
  } else if constexpr (is_tuple<T>) {
    std::size_t i = 0;
    std::apply(
        [&](auto&... parts) {
          (visit_member(visitor, join_names(name, std::to_string(i++)), parts), ...);
        },
        member);
  } else if constexpr (is_name_map<T>) {
    for (auto& [key, part] : member)
      visit_member(visitor, join_names(name, key), part);
  } else {
    static_assert(!std::derived_from<T, Tensor>,
                  "TANDEM_MODULE: declare this Tensor as nn::Parameter (trained) or "
                  "nn::BufferTensor (not trained)");
    static_assert(
        std::derived_from<T, Tensor> || always_false<T>,
        "TANDEM_MODULE: list modules, nn::Parameter, nn::BufferTensor, and optional, "
        "vector, array, tuple, pair or map<string, ...> of them; leave other members out");
  }
}

/// Removes the first name from a list such as "a, b, c" and returns it.
inline std::string_view take_name(std::string_view& names) {
  const std::size_t comma = names.find(',');
  std::string_view name = names.substr(0, comma);
  names.remove_prefix(comma == std::string_view::npos ? names.size() : comma + 1);
  while (!name.empty() && name.front() == ' ')
    name.remove_prefix(1);
  while (!name.empty() && name.back() == ' ')
    name.remove_suffix(1);
  return name;
}

/// @param names  the names of `members`, as written in TANDEM_MODULE: "a, b"
template <class... Members>
void visit_members(MemberVisitor& visitor,
                   [[maybe_unused]] std::string_view names,
                   Members&... members) {
  (visit_member(visitor, take_name(names), members), ...);
}

}  // namespace detail
}  // namespace tandem::nn
