// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "io/npy_header.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "tandem/core/check.hpp"

namespace tandem::detail {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kMagic = "\x93NUMPY"sv;
constexpr std::size_t kAlignment = 64;
constexpr std::uint64_t kMostText =
    1 << 16;  // more than any shape takes; numpy's own limit is 10,000

/// Names of NumPy without the sign of the byte order.
struct TypeName {
  DType dtype;
  std::string_view code;
};
constexpr std::array kTypes{TypeName{DType::f16, "f2"},
                            TypeName{DType::f32, "f4"},
                            TypeName{DType::f64, "f8"},
                            TypeName{DType::i32, "i4"},
                            TypeName{DType::i64, "i8"},
                            TypeName{DType::u8, "u1"},
                            TypeName{DType::boolean, "b1"}};

/// Walks over the text of a Python dictionary: strings, True and False, tuples of whole numbers.
class Parser {
 public:
  Parser(const ByteSource& source, std::string_view text, std::uint64_t begin)
      : source_(source), text_(text), begin_(begin) {}

  NpyHeader parse() {
    NpyHeader header;
    std::array<bool, 3> seen{};
    expect('{');
    while (!accept('}')) {
      const std::size_t at = at_;
      const std::string_view key = string();
      expect(':');
      const int field = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : 3;
      if (field == 3 || seen[static_cast<std::size_t>(field)])
        fail(at, concat("the header's key '", key, "' is unknown or appears twice"));
      seen[static_cast<std::size_t>(field)] = true;
      if (field == 0) type(header);
      if (field == 1) header.fortran_order = boolean();
      if (field == 2) header.shape = shape();
      if (!accept(',') && !at_end_of('}')) fail(at_, "the header needs ',' or '}' here");
    }
    blanks();
    if (at_ != text_.size()) fail(at_, "the header continues after its '}'");
    for (std::size_t f = 0; f < seen.size(); ++f) {
      constexpr std::array kNames{"descr", "fortran_order", "shape"};
      if (!seen[f]) fail(0, concat("the header has no '", kNames[f], "'"));
    }
    return header;
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& problem) const {
    source_.fail(begin_ + at, problem);
  }
  void blanks() {
    while (at_ < text_.size() && " \t\n"sv.find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool at_end_of(char c) {
    blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool accept(char c) {
    if (!at_end_of(c)) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(at_, concat("the header needs '", c, "' here"));
  }
  std::string_view string() {
    blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end = text_.find(quote, at_ + 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos)
      fail(at_, "the header needs a quoted string here");
    const std::string_view inner = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inner;
  }
  bool boolean() {
    blanks();
    for (const auto& [word, value] : {std::pair{"True"sv, true}, {"False"sv, false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    fail(at_, "the header needs True or False here");
  }
  void type(NpyHeader& header) {
    blanks();
    const std::size_t at = at_;
    if (at_ < text_.size() && text_[at_] == '[')
      fail(at, "the array holds structures, which tandem cannot read; save each field by itself");
    const std::string_view name = string();
    const char order = name.empty() ? '\0' : name.front();
    if ("<>|="sv.find(order) != std::string_view::npos) {
      for (const TypeName& known : kTypes) {
        if (name.substr(1) != known.code) continue;
        header.dtype = known.dtype;
        header.swapped = order == '>' && itemsize(known.dtype) > 1;
        return;
      }
    }
    fail(at,
         concat("dtype '",
                name,
                "' is not one that tandem reads (f2, f4, f8, i4, i8, u1, b1); convert it with "
                "numpy's astype"));
  }
  Shape shape() {
    const std::size_t at = at_;
    Shape sizes;
    expect('(');
    while (!accept(')')) {
      blanks();
      std::int64_t size = 0;
      const char* const first = text_.data() + at_;
      const auto [last, error] = std::from_chars(first, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0 || (*first == '0' && size > 0))
        fail(at_, "the header needs a size here");
      at_ += static_cast<std::size_t>(last - first);
      if (sizes.size() == kMaxDims)
        fail(at,
             concat("the array has more than the ", kMaxDims, " dimensions that tandem supports"));
      sizes.push_back(size);
      const bool comma = accept(',');
      if (!comma && !at_end_of(')')) fail(at_, "the header needs ',' or ')' here");
      if (!comma && sizes.size() == 1)
        fail(at_, "the header needs ',' here: one size in brackets is a number, not a shape");
    }
    return sizes;
  }

  const ByteSource& source_;
  std::string_view text_;
  std::uint64_t begin_;
  std::size_t at_ = 0;
};

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

}  // namespace

NpyHeader read_npy_header(ByteSource& source) {
  std::array<std::byte, 8> magic{};
  source.read(magic);
  if (std::string_view(reinterpret_cast<const char*>(magic.data()), kMagic.size()) != kMagic)
    source.fail(0, "is not a .npy file: it does not begin with \\x93NUMPY");
  const int version = std::to_integer<int>(magic[6]);
  const int minor = std::to_integer<int>(magic[7]);
  if (version < 1 || version > 3 || minor != 0)
    source.fail(
        6, concat(".npy version ", version, '.', minor, "; this tandem reads 1.0, 2.0 and 3.0"));
  std::array<std::byte, 4> raw{};
  const std::span<std::byte> length = std::span(raw).first(version == 1 ? 2 : 4);
  source.read(length);
  const std::uint64_t size = little_endian(length), begin = magic.size() + length.size();
  if (size > kMostText || begin + size > source.most())
    source.fail(8,
                concat("the header's length of ", size, " bytes is more than the file can hold"));
  std::string text(static_cast<std::size_t>(size), '\0');
  source.read(std::as_writable_bytes(std::span(text.data(), text.size())));
  NpyHeader header = Parser(source, text, begin).parse();
  header.nbytes = begin + size;
  return header;
}

std::string npy_header(DType dtype, const Shape& shape) {
  const TypeName* type = nullptr;
  for (const TypeName& known : kTypes)
    if (known.dtype == dtype) type = &known;
  TANDEM_CHECK(type != nullptr,
               "save_npy: NumPy has no dtype for ",
               dtype,
               "; convert the tensor with to(DType::f32)");
  std::string text = concat("{'descr': '",
                            itemsize(dtype) == 1 ? '|' : '<',
                            type->code,
                            "', 'fortran_order': False, 'shape': (");
  for (int d = 0; d < shape.size(); ++d)
    text += concat(shape[d], d + 1 < shape.size() ? ", " : shape.size() == 1 ? "," : "");
  text += "), }";
  constexpr std::size_t kHead = 10;
  text.append((kAlignment - (kHead + text.size() + 1) % kAlignment) % kAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header += '\1';
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace tandem::detail
