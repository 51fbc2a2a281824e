// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Files of events as TensorBoard reads them: TFRecords of a protocol buffer, Event {1: wall_time
// (double), 2: step (int64), 3: file_version (string), 5: Summary {1: Value {1: tag (string), 2:
// simple_value (float)}}}.
// Source: tensorflow/core/util/event.proto, core/framework/summary.proto,
// core/lib/io/record_writer.h

#include "tandem/train/tensorboard.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <unistd.h>

#include "tandem/core/check.hpp"

#include "core/host_name.hpp"
#include "train/stream_file.hpp"

namespace tandem::training {
namespace {

static_assert(std::endian::native == std::endian::little, "the records' numbers are little-endian");

/// CRC-32C (Castagnoli), reflected, of a byte.
constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    table[i] = crc;
  }
  return table;
}();

/// A record's checksum: turned and shifted, so that one of data that hold checksums is none of
/// these.
std::uint32_t masked_crc(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char c : bytes)
    crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return std::rotr(~crc, 15) + 0xA282EAD8U;
}

template <class T>
void put_bytes(std::string& out, const T& value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

/// The types of a field on the wire.
enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void put_key(std::string& out, int field, Wire wire) {
  put_varint(out, static_cast<std::uint64_t>(field << 3 | static_cast<int>(wire)));
}

void put_string(std::string& out, int field, std::string_view text) {
  put_key(out, field, Wire::bytes);
  put_varint(out, text.size());
  out.append(text);
}

std::string event(double wall_time) {
  std::string out;
  put_key(out, 1, Wire::fixed64);
  put_bytes(out, wall_time);
  return out;
}

class TensorBoardMetrics final : public MetricsWriter {
 public:
  explicit TensorBoardMetrics(const std::string& path) : file_(path, StreamStart::refuse) {
    std::string first = event(seconds_now());
    put_string(first, 3, "brain.Event:2");
    write_record(first);
  }
  void add_scalar(std::string_view tag, double value, std::int64_t step) override {
    std::string number;
    put_string(number, 1, tag);
    put_key(number, 2, Wire::fixed32);
    put_bytes(number, static_cast<float>(value));
    std::string summary;
    put_string(summary, 1, number);
    std::string out = event(seconds_now());
    put_key(out, 2, Wire::varint);
    put_varint(out, static_cast<std::uint64_t>(step));
    put_string(out, 5, summary);
    write_record(out);
  }

 private:
  void write_record(std::string_view data) {
    std::string record;
    put_bytes(record, static_cast<std::uint64_t>(data.size()));
    put_bytes(record, masked_crc(record));
    record.append(data);
    put_bytes(record, masked_crc(data));
    file_.write(record);
  }

  StreamFile file_;
};

}  // namespace

std::unique_ptr<MetricsWriter> tensorboard_metrics(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    throw FileError(directory, -1, "is not a directory and cannot be created: " + error.message());
  const std::string name = tandem::detail::concat("events.out.tfevents.",
                                                  static_cast<std::int64_t>(seconds_now()),
                                                  '.',
                                                  host_name(),
                                                  '.',
                                                  getpid());
  return std::make_unique<TensorBoardMetrics>((std::filesystem::path(directory) / name).string());
}

}  // namespace tandem::training
