// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <typeinfo>
#include <utility>

#include <gtest/gtest.h>

#include "tandem/core/error.hpp"

namespace tandem::testing {

/// What the `E` that `f` throws says; a failure of the test, and "", where it throws none.
template <class E = InvalidArgument, class F>
std::string thrown_text(F&& f) {
  try {
    std::forward<F>(f)();
  } catch (const E& e) {
    return e.what();
  } catch (const ::testing::AssertionException&) {
    throw;  // the test is skipped
  } catch (const std::exception& e) {
    ADD_FAILURE() << "expected " << typeid(E).name() << ", got " << typeid(e).name() << ": "
                  << e.what();
    return "";
  }
  ADD_FAILURE() << "expected " << typeid(E).name() << ", nothing was thrown";
  return "";
}

}  // namespace tandem::testing
