// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tandem/io/idx.hpp"
#include "tandem/io/safetensors.hpp"

#include "io/temp_dir.hpp"

namespace tandem {
namespace {

using testing::put;
using testing::TempDir;

struct Held {
  DType dtype;
  Shape shape;
  std::vector<std::byte> bytes;
};

Shape any_shape(int least_rank) {
  Shape shape;
  const int rank = *rc::gen::inRange(least_rank, 4);
  for (int i = 0; i < rank; ++i)
    shape.push_back(*rc::gen::inRange<std::int64_t>(0, 5));
  return shape;
}

Held any_tensor(const std::vector<DType>& types, int least_rank) {
  Held t{*rc::gen::elementOf(types), any_shape(least_rank), {}};
  const int most = t.dtype == DType::boolean ? 2 : 256;
  for (std::size_t i = 0; i < static_cast<std::size_t>(numel(t.shape)) * itemsize(t.dtype); ++i) {
    t.bytes.push_back(static_cast<std::byte>(*rc::gen::inRange(0, most)));
  }
  return t;
}

/// Text with the characters that JSON escapes, and some of more than one byte.
std::string any_text() {
  static const std::vector<std::string> kPieces{
      "a", "B", ".", "0", "\"", "\\", "\n", "\x01", "/", " ", "ä", "漢", "😀", "\x7f"};
  std::string out;
  for (const std::string& piece :
       *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kPieces)))
    out += piece;
  return out;
}

RC_GTEST_PROP(SafetensorsProperty, WhatIsWrittenIsReadBack, ()) {
  const std::vector<DType> types{DType::f32,
                                 DType::f64,
                                 DType::bf16,
                                 DType::f16,
                                 DType::i32,
                                 DType::i64,
                                 DType::u8,
                                 DType::boolean};
  std::map<std::string, Held> tensors;
  for (int n = *rc::gen::inRange(0, 6); n > 0; --n)
    tensors[any_text()] = any_tensor(types, 0);
  SafetensorsMetadata metadata;
  for (int n = *rc::gen::inRange(0, 3); n > 0; --n)
    metadata[any_text()] = any_text();

  const TempDir dir;
  std::vector<SafetensorsItem> items;
  for (const auto& [name, t] : tensors)
    items.push_back({.name = name, .dtype = t.dtype, .shape = t.shape, .bytes = t.bytes});
  write_safetensors(dir.file("x"), items, metadata);

  const SafetensorsFile file(dir.file("x"));
  RC_ASSERT(file.metadata() == metadata);
  RC_ASSERT(file.entries().size() == tensors.size());
  for (const auto& [name, t] : tensors) {
    const SafetensorsEntry* e = file.find(name);
    RC_ASSERT(e != nullptr);
    RC_ASSERT(e->dtype == t.dtype);
    RC_ASSERT(e->shape == t.shape);
    RC_ASSERT(e->offset % itemsize(e->dtype) == 0u);
    std::vector<std::byte> bytes(e->nbytes);
    file.read(*e, bytes);
    RC_ASSERT(bytes == t.bytes);
  }
}

RC_GTEST_PROP(IdxProperty, WhatIsEncodedIsReadBack, ()) {
  const Held t = any_tensor({DType::u8, DType::i32, DType::f32, DType::f64}, 1);
  const std::map<DType, char> codes{
      {DType::u8, 8}, {DType::i32, 12}, {DType::f32, 13}, {DType::f64, 14}};
  std::string content{'\0', '\0', codes.at(t.dtype), static_cast<char>(t.shape.size())};
  for (const std::int64_t size : t.shape)
    content += std::string(3, '\0') + static_cast<char>(size);
  // Big endian on disk: the bytes of each element in reverse.
  std::string data(reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size());
  const auto size = static_cast<std::ptrdiff_t>(itemsize(t.dtype));
  for (auto at = data.begin(); at != data.end(); at += size)
    std::reverse(at, at + size);

  const TempDir dir;
  put(dir.file("x"), content + data);
  const HostArray file = read_idx(dir.file("x"));
  RC_ASSERT(file.dtype == t.dtype);
  RC_ASSERT(file.shape == t.shape);
  RC_ASSERT(file.bytes == t.bytes);
}

}  // namespace
}  // namespace tandem
