// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/parallel/combine.hpp"
#include "tandem/tensor/nest.hpp"

// Marks say how an argument is divided and how an output is joined, if not by the rows of the
// batch. A mark wraps an argument, `dp(x, replicate(table))`, or is the type of a field: `struct
// Batch { Tensor x; Replicated<Tensor> table; TANDEM_FIELDS(x, table) };`
namespace tandem::parallel {

struct Replica;

/// An argument that every replica gets whole: `dp(x, replicate(table))`. It may have any type that
/// can be copied; tensors in it are copied to the replica's device.
template <class T>
struct Replicated {
  T value;
  TANDEM_FIELDS(value)
};
template <class T>
Replicated<T> replicate(T value) {
  return {std::move(value)};
}

/// An argument that is split along its own dimension: `dp(x, split(mask, 1))`. An output with this
/// mark is joined along that dimension.
template <TensorNest T>
struct Split {
  T value;
  int dim = 0;
  TANDEM_FIELDS(value)
};
template <TensorNest T>
Split<T> split(T value, int dim) {
  return {std::move(value), dim};
}

/// An argument with one element per row of the batch: `dp(x, rows(texts))`. A replica gets the
/// elements of its rows. Tensors in them may have any shape and are copied to the replica's device.
template <class T>
struct Rows {
  std::vector<T> value;
  TANDEM_FIELDS(value)
};
template <class T>
Rows<T> rows(std::vector<T> value) {
  return {std::move(value)};
}

/// An argument that the user's function divides; see scatter_by.
template <class T, class F>
struct ScatterBy {
  T value;
  F scatter;
  std::optional<std::int64_t> rows;
};
/// An argument for which `scatter(value, replica)` returns each replica's part. Tensors of the part
/// are moved to the replica's device if they are elsewhere. Gradients go back through what
/// `scatter` did.
///
///     dp(scatter_by(edges, [](const Edges& e, const Replica& r) { return e.between(r.rows); }), x)
///
/// @param scatter  (const T&, const Replica&) -> part; called for every replica that has rows, on
///                 the thread that called dp(...), or in step() on the replica's own.
/// @param rows     the rows of the batch, if this argument has them; needed if no other argument
///                 has.
template <class T, std::invocable<const T&, const Replica&> F>
ScatterBy<T, F> scatter_by(T value, F scatter, std::optional<std::int64_t> rows = std::nullopt) {
  return {std::move(value), std::move(scatter), rows};
}

/// An output that is combined in its own way: a scalar, a tensor that has the same shape in every
/// replica, or a number: `struct Out { Tensor y; Combined<int, Combine::sum> hits; ... };`
template <class T, Combine how>
struct Combined {
  static_assert(how == Combine::sum || std::floating_point<T> || !std::is_arithmetic_v<T>,
                "integers have no mean, and cannot be stacked: return a tensor, or take the sum");
  static_assert(how != Combine::stack || !std::is_arithmetic_v<T>,
                "numbers cannot be stacked: return a tensor");
  static constexpr Combine kHow = how;
  T value;
  TANDEM_FIELDS(value)
};

namespace detail {

template <class T>
inline constexpr bool is_replicated = false;
template <class T>
inline constexpr bool is_replicated<Replicated<T>> = true;
template <class T>
inline constexpr bool is_split = false;
template <class T>
inline constexpr bool is_split<Split<T>> = true;
template <class T>
inline constexpr bool is_rows = false;
template <class T>
inline constexpr bool is_rows<Rows<T>> = true;
template <class T>
inline constexpr bool is_scatter_by = false;
template <class T, class F>
inline constexpr bool is_scatter_by<ScatterBy<T, F>> = true;
template <class T>
inline constexpr bool is_combined = false;
template <class T, Combine how>
inline constexpr bool is_combined<Combined<T, how>> = true;

/// What the marks around a leaf say.
struct LeafRule {
  int dim = 0;
  bool whole = false;  // every replica gets all of it
  bool own = false;    // of `whole`: it was made for this replica, no other one gets it
  std::optional<Combine> combine = std::nullopt;
};

/// The path to a part of an argument. It is converted to text only for messages.
struct LeafPath {
  const LeafPath* up = nullptr;      // null: this is the argument itself
  std::size_t index = 0;             // of the argument, or within `up`
  const char* fields = nullptr;      // comma-separated names of the fields of `up`
  const std::string* key = nullptr;  // in a map with string keys
};
/// "argument 1.labels", "argument 0.parts[2]".
std::string to_string(const LeafPath& path);

template <class T, class F>
void visit_marked(T& value, LeafRule rule, const LeafPath& path, F& f);

template <class T, class F>
void visit_members(T& value, const LeafRule& rule, const LeafPath& path, F& f) {
  const char* names = nullptr;
  if constexpr (requires { std::remove_const_t<T>::tandem_field_names(); }) {
    names = std::remove_const_t<T>::tandem_field_names();
  }
  std::size_t index = 0;
  const auto visit = [&](auto&... members) {
    (visit_marked(members, rule, {&path, index++, names}, f), ...);
  };
  if constexpr (tandem::detail::HasFields<T>) {
    std::apply(visit, value.tandem_fields());
  } else {
    std::apply(visit, value);
  }
}

template <class T, class F>
void visit_elements(T& value, const LeafRule& rule, const LeafPath& path, F& f) {
  std::size_t index = 0;
  if constexpr (std::same_as<std::remove_const_t<T>, std::vector<bool>>) {
    for (const bool element : value)
      f(element, rule, LeafPath{&path, index++});
  } else if constexpr (requires { typename T::mapped_type; }) {
    for (auto& [key, element] : value) {
      f(key, LeafRule{}, LeafPath{&path, index});
      LeafPath below{&path, index++};
      if constexpr (std::same_as<typename std::remove_const_t<T>::key_type, std::string>)
        below.key = &key;
      visit_marked(element, rule, below, f);
    }
  } else {
    for (auto& element : value)
      visit_marked(element, rule, {&path, index++}, f);
  }
}

/// Calls `f(part, rule, path)` for every tensor, constant and Rows of `value`, in the order of
/// for_each_leaf. It does not descend into Rows; `f` does that.
template <class T, class F>
void visit_marked(T& value, LeafRule rule, const LeafPath& path, F& f) {
  using U = std::remove_const_t<T>;
  using tandem::detail::NestKind;
  constexpr NestKind kind = tandem::detail::nest_kind<U>;
  if constexpr (is_replicated<U>) {
    rule.whole = true;
    // A value that is not a nest is copied as it is.
    if constexpr (TensorNest<decltype(value.value)>) visit_marked(value.value, rule, path, f);
  } else if constexpr (is_split<U>) {
    rule.dim = value.dim;
    visit_marked(value.value, rule, path, f);
  } else if constexpr (is_combined<U>) {
    rule.combine = U::kHow;
    visit_marked(value.value, rule, path, f);
  } else if constexpr (is_rows<U> || kind == NestKind::tensor || kind == NestKind::constant) {
    f(value, rule, path);
  } else if constexpr (kind == NestKind::fields || kind == NestKind::tuple) {
    visit_members(value, rule, path, f);
  } else if constexpr (kind == NestKind::optional) {
    if (value.has_value()) visit_marked(*value, rule, path, f);
  } else if constexpr (kind == NestKind::sequence || kind == NestKind::map) {
    visit_elements(value, rule, path, f);
  } else {
    static_assert(
        tandem::detail::is_nest<U>,
        "this type is not a nest: use tensors, numbers, enums, std::string, optional, pair, tuple, "
        "array, vector, map, or a struct that names its members with TANDEM_FIELDS(a, b); or wrap "
        "it in replicate(...), rows(...) or scatter_by(...)");
  }
}

/// The type of an argument's part, which the module's forward gets.
template <class T>
struct PartType {
  using type = T;
};
template <class T>
struct PartType<Replicated<T>> {
  using type = T;
};
template <class T>
struct PartType<Split<T>> {
  using type = T;
};
template <class T>
struct PartType<Rows<T>> {
  using type = std::vector<T>;
};
template <class T, class F>
struct PartType<ScatterBy<T, F>> {
  using type = std::decay_t<std::invoke_result_t<const F&, const T&, const Replica&>>;
};
template <class T>
using PartOf = typename PartType<T>::type;

}  // namespace detail

/// What dp(...) and step() accept: a nest, or a marked value.
template <class T>
concept Argument = TensorNest<T> || detail::is_rows<std::remove_cvref_t<T>> ||
    detail::is_replicated<std::remove_cvref_t<T>> || detail::is_scatter_by<std::remove_cvref_t<T>>;

}  // namespace tandem::parallel
