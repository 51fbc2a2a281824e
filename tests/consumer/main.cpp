// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <iostream>

#include "tandem/config.hpp"
#include "tandem/core/shape.hpp"

// Exits 0 if a call into the library gives what its header says.
int main() {
  const tandem::Shape shape = tandem::broadcast_shapes({4, 1}, {3}, "consumer");
  std::cout << "tandem " << tandem::version << ": " << shape << '\n';
  return shape == tandem::Shape{4, 3} ? 0 : 1;
}
