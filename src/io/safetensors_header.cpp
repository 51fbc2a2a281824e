// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "io/safetensors_header.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include <nlohmann/json.hpp>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

namespace tandem::detail {
namespace {

using Json = nlohmann::json;

/// A cursor over the text that tells how far the parser is; copies share the place.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }
  friend bool operator!=(const Cursor& a, const Cursor& b) { return a.at_ != b.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

/// Takes the parser's events and accepts only what a safetensors header may hold: no value of
/// another kind is entered, so nothing nests deeper than tensor -> shape. An event that returns
/// false stops the parser.
class HeaderHandler : public nlohmann::json_sax<Json> {
 public:
  Header header;
  std::string problem;

  bool start_object(std::size_t) override {
    switch (state_) {
      case State::start:
        return go(State::file);
      case State::metadata_value:
        return go(State::metadata);
      case State::tensor_value:
        seen_fields_.clear();
        return go(State::tensor);
      default:
        return unexpected("an object");
    }
  }

  bool end_object() override {
    if (state_ == State::tensor && !end_tensor()) return false;
    return go(state_ == State::file ? State::end : State::file);
  }

  bool start_array(std::size_t) override {
    if (state_ == State::shape_value) return go(State::shape);
    if (state_ == State::offsets_value) return go(State::offsets);
    return unexpected("an array");
  }

  bool end_array() override {
    if (state_ == State::offsets && offset_count_ != 2)
      return fail(where() + "data_offsets needs two numbers");
    return go(State::tensor);
  }

  bool key(std::string& text) override {
    if (state_ == State::file) return file_key(text);
    if (state_ == State::metadata) {
      metadata_key_ = text;
      return header.metadata.contains(text) ? fail("the metadata key '" + text + "' appears twice")
                                            : go(State::metadata_text);
    }
    return tensor_key(text);
  }

  bool string(std::string& text) override {
    if (state_ == State::metadata_text) {
      header.metadata.emplace(metadata_key_, text);
      return go(State::metadata);
    }
    if (state_ != State::dtype_value) return unexpected("a string");
    const StoredType* type = stored_type(text);
    if (type == nullptr)
      return fail(where() + "dtype '" + text + "' is not part of the format; tandem reads " +
                  read_types());
    tensor().type = *type;
    return go(State::tensor);
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (state_ == State::shape) return shape_number(value);
    if (state_ != State::offsets) return unexpected("a number");
    if (offset_count_ >= 2) return fail(where() + "data_offsets needs two numbers");
    (offset_count_++ == 0 ? tensor().begin : tensor().end) = value;
    return true;
  }

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    return unexpected("a number that is not a 64-bit integer");
  }
  bool binary(binary_t&) override { return unexpected("binary data"); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return fail("the header is not valid JSON");
  }

 private:
  enum class State {
    start,
    file,
    metadata_value,
    metadata,
    metadata_text,
    tensor_value,
    tensor,
    dtype_value,
    shape_value,
    shape,
    offsets_value,
    offsets,
    end
  };

  bool go(State next) {
    state_ = next;
    return true;
  }
  bool fail(std::string text) {
    if (problem.empty()) problem = std::move(text);
    return false;
  }
  bool unexpected(const char* what) {
    const bool inside = state_ >= State::tensor_value && state_ != State::end;
    return fail((inside ? where() : std::string()) + what + " is not allowed here");
  }
  HeaderTensor& tensor() { return header.tensors.back(); }
  std::string where() const { return "tensor '" + header.tensors.back().name + "': "; }

  bool file_key(const std::string& text) {
    if (!seen_names_.insert(text).second) return fail("the key '" + text + "' appears twice");
    if (text == kSafetensorsMetadataKey) return go(State::metadata_value);
    header.tensors.push_back({.name = text});
    return go(State::tensor_value);
  }

  bool tensor_key(const std::string& text) {
    const State next = text == "dtype"          ? State::dtype_value
                       : text == "shape"        ? State::shape_value
                       : text == "data_offsets" ? State::offsets_value
                                                : State::end;
    if (next == State::end)
      return fail(where() + "the field '" + text + "' is not one of dtype, shape, data_offsets");
    if (!seen_fields_.insert(next).second)
      return fail(where() + "the field '" + text + "' appears twice");
    if (next == State::offsets_value) offset_count_ = 0;
    return go(next);
  }

  bool shape_number(number_unsigned_t value) {
    if (tensor().shape.size() == kMaxDims) {
      return fail(where() + "has more than " + std::to_string(kMaxDims) + " dimensions");
    }
    if (value > static_cast<number_unsigned_t>(INT64_MAX))
      return fail(where() + "has a size above 2^63 - 1");
    tensor().shape.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool end_tensor() {
    if (seen_fields_.size() != 3) return fail(where() + "needs dtype, shape and data_offsets");
    const HeaderTensor& t = tensor();
    const std::optional<std::uint64_t> nbytes = stored_nbytes(t.type, t.shape);
    if (!nbytes) {
      return fail(concat(where(),
                         "shape ",
                         t.shape,
                         " of ",
                         t.type.name,
                         " overflows 63 bits, or is not a whole number of bytes"));
    }
    if (t.begin <= t.end && t.end - t.begin == *nbytes) return true;
    return fail(concat(where(),
                       t.type.name,
                       ' ',
                       t.shape,
                       " takes ",
                       *nbytes,
                       " bytes, but data_offsets are ",
                       t.begin,
                       " and ",
                       t.end));
  }

  State state_ = State::start;
  std::set<std::string> seen_names_;
  std::set<State> seen_fields_;
  std::string metadata_key_;
  int offset_count_ = 0;
};

}  // namespace

Header parse_header(std::string_view text, const std::string& path, std::uint64_t offset) {
  const auto fail = [&](std::size_t at, const std::string& problem) {
    throw FileError(path, static_cast<std::int64_t>(offset + at), "safetensors: " + problem);
  };
  if (!text.starts_with('{')) fail(0, "the header must begin with '{'");
  // The parser takes a NUL for the end, and any white space for padding.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos)
    fail(nul, "the header contains a NUL byte");
  const std::size_t last = text.find_last_not_of(' ');
  if (text[last] != '}') fail(last, "the header must end with '}', which only blanks may follow");

  const char* furthest = text.data();
  HeaderHandler handler;
  const char* end = text.data() + last + 1;
  if (!Json::sax_parse(Cursor(text.data(), &furthest), Cursor(end, &furthest), &handler)) {
    const auto read = static_cast<std::size_t>(furthest - text.data());
    fail(read == 0 ? 0 : read - 1, handler.problem);
  }
  return std::move(handler.header);
}

std::string format_header(const Header& header) try {
  // Written piece by piece: a JSON object of the library would sort the tensors by name.
  std::string text = "{";
  const auto member = [&text](const std::string& key, const std::string& value) {
    if (text.size() > 1) text += ',';
    text += Json(key).dump() + ':' + value;
  };
  if (!header.metadata.empty()) member(kSafetensorsMetadataKey, Json(header.metadata).dump());
  for (const HeaderTensor& t : header.tensors) {
    // to_string, never a stream: that would follow the program's locale ("1.024").
    std::string shape;
    for (const std::int64_t size : t.shape) {
      if (!shape.empty()) shape += ',';
      shape += std::to_string(size);
    }
    std::string value = R"({"dtype":")";
    value.append(t.type.name).append(R"(","shape":[)").append(shape);
    value.append(R"(],"data_offsets":[)").append(std::to_string(t.begin)).append(",");
    value.append(std::to_string(t.end)).append("]}");
    member(t.name, value);
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
} catch (const Json::type_error& e) {  // what dump() throws for text that is not UTF-8
  throw InvalidArgument(concat("safetensors: names and metadata must be UTF-8 (", e.what(), ")"));
}

std::size_t sum_digits_at(std::string_view text) {
  const std::string key = std::string("\"") + kSafetensorsSumKey + "\":\"";
  const std::size_t at = text.find(key);
  return at == std::string_view::npos ? at : at + key.size();
}

}  // namespace tandem::detail
