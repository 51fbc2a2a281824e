// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/tensor/tensor.hpp"

/// Makes a struct a nest: `struct Batch { Tensor x, y; int n; TANDEM_FIELDS(x, y, n) };`
///
/// Name every member that is to travel with the value. The struct stays an aggregate.
#define TANDEM_FIELDS(...)                  \
  auto tandem_fields() {                    \
    return std::tie(__VA_ARGS__);           \
  }                                         \
  auto tandem_fields() const {              \
    return std::tie(__VA_ARGS__);           \
  }                                         \
  static const char* tandem_field_names() { \
    return #__VA_ARGS__;                    \
  }

namespace tandem {

/// Whether T is a tensor of another library, which nests may hold in the place of Tensor. Who wants
/// such nests says so: `template <> inline constexpr bool is_foreign_tensor<at::Tensor> = true;`.
/// To scatter and gather them takes parallel::LeafOps<T> as well.
template <class T>
inline constexpr bool is_foreign_tensor = false;

/// A tensor in a nest: Tensor, a type derived from it, or a tensor of another library.
template <class T>
concept LeafTensor =
    std::derived_from<std::remove_cvref_t<T>, Tensor> || is_foreign_tensor<std::remove_cvref_t<T>>;

/// The type by which functions get a LeafTensor: Tensor, or the other library's.
template <LeafTensor T>
using LeafOf =
    std::conditional_t<is_foreign_tensor<std::remove_cvref_t<T>>, std::remove_cvref_t<T>, Tensor>;

namespace detail {

template <class T>
concept HasFields = requires(T& value) {
  value.tandem_fields();
};

/// Whether T is a nest without tensors in it: a number, an enumerator or a string.
template <class T>
inline constexpr bool is_constant =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, std::string>;

enum class NestKind { none, tensor, constant, fields, optional, sequence, tuple, map };

template <class T>
inline constexpr NestKind nest_kind = LeafTensor<T>    ? NestKind::tensor
                                      : is_constant<T> ? NestKind::constant
                                      : HasFields<T>   ? NestKind::fields
                                                       : NestKind::none;
template <class T>
inline constexpr NestKind nest_kind<std::optional<T>> = NestKind::optional;
template <class T, class A>
inline constexpr NestKind nest_kind<std::vector<T, A>> = NestKind::sequence;
template <class T, std::size_t n>
inline constexpr NestKind nest_kind<std::array<T, n>> = NestKind::sequence;
template <class... Ts>
inline constexpr NestKind nest_kind<std::tuple<Ts...>> = NestKind::tuple;
template <class A, class B>
inline constexpr NestKind nest_kind<std::pair<A, B>> = NestKind::tuple;
template <class K, class V, class C, class A>
inline constexpr NestKind nest_kind<std::map<K, V, C, A>> = NestKind::map;

// This also checks the elements of containers. It does not check fields, so that a struct may
// contain itself (in a vector, say).
template <class T>
inline constexpr bool is_nest = nest_kind<T> != NestKind::none;
template <class T>
inline constexpr bool is_nest<std::optional<T>> = is_nest<T>;
template <class T, class A>
inline constexpr bool is_nest<std::vector<T, A>> = is_nest<T>;
template <class T, std::size_t n>
inline constexpr bool is_nest<std::array<T, n>> = is_nest<T>;
template <class... Ts>
inline constexpr bool is_nest<std::tuple<Ts...>> = (is_nest<Ts> && ...);
template <class A, class B>
inline constexpr bool is_nest<std::pair<A, B>> = is_nest<A>&& is_nest<B>;
template <class K, class V, class C, class A>
inline constexpr bool is_nest<std::map<K, V, C, A>> = is_constant<K>&& is_nest<V>;

/// Calls `f` for every tensor and constant in `value`, in order of declaration.
template <class T, class F>
void visit_nest(T& value, F& f) {
  using U = std::remove_const_t<T>;
  constexpr NestKind kind = nest_kind<U>;
  static_assert(
      is_nest<U>,
      "this type is not a nest: use tensors, numbers, enums, std::string, optional, pair, tuple, "
      "array, vector, map, or a struct that names its members with TANDEM_FIELDS(a, b)");
  if constexpr (kind == NestKind::tensor || kind == NestKind::constant) {
    f(value);
  } else if constexpr (kind == NestKind::fields) {
    std::apply([&](auto&... members) { (visit_nest(members, f), ...); }, value.tandem_fields());
  } else if constexpr (kind == NestKind::optional) {
    if (value.has_value()) visit_nest(*value, f);
  } else if constexpr (std::same_as<U, std::vector<bool>>) {
    for (const bool element : value)
      f(element);
  } else if constexpr (kind == NestKind::sequence) {
    for (auto& element : value)
      visit_nest(element, f);
  } else if constexpr (kind == NestKind::tuple) {
    std::apply([&](auto&... members) { (visit_nest(members, f), ...); }, value);
  } else if constexpr (kind == NestKind::map) {
    for (auto& [key, element] : value) {
      f(key);
      visit_nest(element, f);
    }
  }
}

/// Which library a nest's tensors come from. Two that differ add up to OfTwo.
template <class Leaf>
struct Library {
  using type = Leaf;
};
struct OfNone {};
struct OfTwo {};
template <class A, class B>
constexpr auto operator+(Library<A>, Library<B>) {
  if constexpr (std::same_as<A, B> || std::same_as<B, OfNone>) {
    return Library<A>{};
  } else {
    return Library<std::conditional_t<std::same_as<A, OfNone>, B, OfTwo>>{};
  }
}

/// The library of the tensors in a T. @tparam Above  structs that hold it: one may contain itself.
template <class T, class... Above>
constexpr auto find_library() {
  constexpr NestKind kind = nest_kind<T>;
  [[maybe_unused]] const auto members = []<class... Ts>(const std::tuple<Ts...>*) {
    return (Library<OfNone>{} + ... + find_library<std::remove_cvref_t<Ts>, Above..., T>());
  };
  if constexpr (kind == NestKind::tensor) {
    return Library<LeafOf<T>>{};
  } else if constexpr (kind == NestKind::fields && !(std::same_as<T, Above> || ...)) {
    using Fields = decltype(std::declval<T&>().tandem_fields());
    return members(static_cast<const Fields*>(nullptr));
  } else if constexpr (kind == NestKind::tuple) {
    using Tuple = decltype(std::tuple_cat(std::declval<T>()));  // of a pair too
    return members(static_cast<const Tuple*>(nullptr));
  } else if constexpr (kind == NestKind::map) {
    return find_library<typename T::mapped_type, Above...>();
  } else if constexpr (kind == NestKind::sequence || kind == NestKind::optional) {
    return find_library<typename T::value_type, Above...>();
  } else {
    return Library<OfNone>{};
  }
}

template <class T>
struct NestLeafOf {
  using Found = typename decltype(find_library<std::remove_cv_t<T>>())::type;
  static_assert(!std::same_as<Found, OfTwo>,
                "this nest holds tensors of two libraries: convert those of one, or keep them in "
                "nests of their own");
  using type = std::conditional_t<std::same_as<Found, OfNone>, Tensor, Found>;
};

template <class T>
std::string constant_text(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<long long>(value));
  } else if constexpr (std::floating_point<T>) {
    std::ostringstream s;
    s.precision(std::numeric_limits<T>::max_digits10);
    s << value;
    return s.str();
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(value);
  } else {
    return value;
  }
}

}  // namespace detail

/// A value that can be scattered and gathered: tensors, numbers, enums, strings, optional, pair,
/// tuple, array, vector, map (with constants as keys) and structs with TANDEM_FIELDS, nested to any
/// depth.
template <class T>
concept TensorNest = detail::is_nest<std::remove_cvref_t<T>>;

/// The type of the tensors in a T, which are all of one library. If T has none, it is Tensor.
template <class T>
using NestLeaf = typename detail::NestLeafOf<T>::type;

/// Calls `f(Tensor&)` for every tensor in `value`, in order of declaration (`f(const Tensor&)` if
/// `value` is const). Undefined tensors are included.
///
/// @tparam Only  the type of tensors to visit, of those that `value` may hold; void: all.
template <class Only = void, class T, class F>
void for_each_leaf(T&& value, F&& f) {
  auto visit = [&f](auto& part) {
    using Part = std::remove_reference_t<decltype(part)>;
    if constexpr (LeafTensor<Part>) {
      using Leaf = LeafOf<Part>;
      if constexpr (std::is_void_v<Only> || std::same_as<Only, Leaf>)
        f(static_cast<std::conditional_t<std::is_const_v<Part>, const Leaf, Leaf>&>(part));
    }
  };
  detail::visit_nest(value, visit);
}

/// Calls `f(number)` for every number in `value`, with its own type. Keys of maps are included.
template <class T, class F>
void for_each_number(const T& value, F&& f) {
  auto visit = [&f](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(part)>>) f(part);
  };
  detail::visit_nest(value, visit);
}

/// The number of tensors in `value`.
template <class T>
std::size_t count_leaves(const T& value) {
  std::size_t n = 0;
  for_each_leaf(value, [&n](const auto&) { ++n; });
  return n;
}

/// The tensors in `value`.
template <class T>
std::vector<NestLeaf<T>> leaves(const T& value) {
  std::vector<NestLeaf<T>> all;
  for_each_leaf(value, [&all](const auto& x) { all.push_back(x); });
  return all;
}

/// The numbers, enums and strings in `value`, as texts that tell any two values apart. The
/// constants of two nests agree if the lists are equal (a NaN agrees with a NaN).
template <class T>
std::vector<std::string> constants(const T& value) {
  std::vector<std::string> all;
  auto visit = [&all](const auto& part) {
    using Part = std::remove_cvref_t<decltype(part)>;
    if constexpr (detail::is_constant<Part>) all.push_back(detail::constant_text(part));
  };
  detail::visit_nest(value, visit);
  return all;
}

/// A copy of `value` with every tensor `x` replaced by `f(x)`.
template <class T, class F>
T map_leaves(const T& value, F&& f) {
  T copy = value;
  for_each_leaf(copy, [&f](auto& x) { x = f(std::as_const(x)); });
  return copy;
}

/// `n` copies of `value`; in the i-th copy, every tensor `x` is replaced by `f(x)[i]`.
///
/// @param f  tensor -> n tensors.
/// @throws InvalidArgument  `f` returned another number of tensors.
template <class T, class F>
std::vector<T> scatter_leaves(const T& value, std::size_t n, F&& f) {
  if constexpr (detail::is_constant<T>) return std::vector<T>(n, value);
  std::vector<std::vector<NestLeaf<T>>> parts;
  for_each_leaf(value, [&](const auto& x) {
    parts.push_back(f(x));
    TANDEM_CHECK(parts.back().size() == n,
                 "scatter_leaves: got ",
                 parts.back().size(),
                 " parts for ",
                 n,
                 " copies");
  });
  std::vector<T> copies(n, value);
  for (std::size_t i = 0; i < n; ++i) {
    auto part = parts.begin();
    for_each_leaf(copies[i], [&](auto& x) { x = (*part++)[i]; });
  }
  return copies;
}

/// The first of `values`, with its k-th tensor replaced by `f` of the k-th tensors of all values.
///
/// @param values  at least one.
/// @param f       tensors, in the order of `values` -> tensor.
/// @throws InvalidArgument  `values` is empty, or the values hold different numbers of tensors.
template <class T, class F>
T gather_leaves(std::span<const T> values, F&& f) {
  TANDEM_CHECK(!values.empty(), "gather_leaves: there is nothing to gather");
  std::vector<std::vector<NestLeaf<T>>> columns(count_leaves(values[0]));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::vector<NestLeaf<T>> row = leaves(values[i]);
    TANDEM_CHECK(row.size() == columns.size(),
                 "gather: part ",
                 i,
                 " holds ",
                 row.size(),
                 " tensors, but part 0 holds ",
                 columns.size(),
                 "; forward must return the same number from every replica");
    for (std::size_t k = 0; k < row.size(); ++k)
      columns[k].push_back(row[k]);
  }
  T joined = values[0];
  auto column = columns.begin();
  for_each_leaf(joined, [&](auto& x) { x = f(std::as_const(*column++)); });
  return joined;
}

}  // namespace tandem
