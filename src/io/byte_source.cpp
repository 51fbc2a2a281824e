// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "io/byte_source.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>
#include <vector>

#include <zlib.h>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

namespace tandem::detail {
namespace {

constexpr std::uint64_t kLeastGrant = 1 << 16;  // bytes that read_many takes at first

class PlainSource : public ByteSource {
 public:
  using ByteSource::ByteSource;

  void read(std::span<std::byte> out) override {
    file_.read_at(position_, out);
    position_ += out.size();
  }
  void expect_end() override {
    if (position_ == file_.size()) return;
    fail(position_,
         concat("the data ends here, but the file has ", file_.size() - position_, " more bytes"));
  }
  std::uint64_t most() const override { return file_.size(); }

 private:
  std::uint64_t position_ = 0;
};

class GzipSource : public ByteSource {
 public:
  explicit GzipSource(FileReader file) : ByteSource(std::move(file)), input_(kInput) {
    TANDEM_ASSERT(inflateInit2(&zlib_, 15 + 16) == Z_OK,
                  "zlib could not be started");  // + 16: gzip alone
  }
  ~GzipSource() override { inflateEnd(&zlib_); }

  void read(std::span<std::byte> out) override {
    const std::size_t got = inflate_into(out);
    if (got < out.size()) {
      fail(position_, concat("the data ends here, ", out.size() - got, " bytes too early"));
    }
  }
  void expect_end() override {
    std::byte extra{};
    if (inflate_into({&extra, 1}) != 0)
      fail(position_ - 1, "the data should end here, but they go on");
    const std::uint64_t used = fed_ - zlib_.avail_in;
    if (used == file_.size()) return;
    throw FileError(
        file_.path(),
        static_cast<std::int64_t>(used),
        concat("the gzip data ends here, but the file has ", file_.size() - used, " more bytes"));
  }
  std::uint64_t most() const override {
    return std::min(file_.size(), UINT64_MAX / kBestRatio) * kBestRatio;
  }

 private:
  const char* position_note() const override { return " (counted in the inflated data)"; }

  static constexpr std::size_t kInput = std::size_t{1} << 16;
  static constexpr std::size_t kMostPerCall = std::size_t{1} << 30;  // zlib counts in 32 bits
  // Deflate's densest code is one bit for a length of 258 and one for its distance: 258 bytes in 2
  // bits.
  static constexpr std::uint64_t kBestRatio = 1032;

  /// Bytes written to `out`: all of it, or less where the gzip data ends.
  std::size_t inflate_into(std::span<std::byte> out) {
    std::size_t done = 0;
    while (done < out.size() && !ended_) {
      if (zlib_.avail_in == 0) feed();
      const std::size_t room = std::min(out.size() - done, kMostPerCall);
      zlib_.next_out = reinterpret_cast<Bytef*>(out.data() + done);
      zlib_.avail_out = static_cast<uInt>(room);
      const int rc = inflate(&zlib_, Z_NO_FLUSH);
      done += room - zlib_.avail_out;
      ended_ = rc == Z_STREAM_END;
      if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) {
        throw FileError(
            file_.path(),
            static_cast<std::int64_t>(fed_ - zlib_.avail_in),
            concat("damaged gzip data (", zlib_.msg != nullptr ? zlib_.msg : zError(rc), ")"));
      }
    }
    position_ += done;
    return done;
  }

  void feed() {
    const std::uint64_t left = file_.size() - fed_;
    if (left == 0) {
      throw FileError(
          file_.path(), static_cast<std::int64_t>(fed_), "the gzip data is cut off here");
    }
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(left, kInput));
    file_.read_at(fed_, std::span(input_).first(n));
    fed_ += n;
    zlib_.next_in = reinterpret_cast<Bytef*>(input_.data());
    zlib_.avail_in = static_cast<uInt>(n);
  }

  std::vector<std::byte> input_;
  z_stream zlib_{};
  std::uint64_t fed_ = 0;       // bytes of the file handed to zlib
  std::uint64_t position_ = 0;  // bytes that came out
  bool ended_ = false;
};

}  // namespace

std::vector<std::byte> ByteSource::read_many(std::size_t count) {
  std::vector<std::byte> bytes;
  // More than a plain file has, and what most gzip files inflate to.
  std::uint64_t granted = std::max(kLeastGrant, file_.size() * 8);
  try {
    for (std::size_t done = 0; done < count; done = bytes.size(), granted = 2 * bytes.size()) {
      bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(granted, count)));
      read(std::span(bytes).subspan(done));
    }
  } catch (const std::bad_alloc&) {
    throw FileError(
        file_.path(),
        -1,
        concat("the data have ", count, " bytes, and there is not enough memory for them"));
  }
  return bytes;
}

void ByteSource::fail(std::uint64_t position, const std::string& problem) const {
  throw FileError(file_.path(), static_cast<std::int64_t>(position), problem + position_note());
}

std::unique_ptr<ByteSource> open_source(const std::string& path) {
  FileReader file(path);
  std::array<std::byte, 2> magic{};
  if (file.size() >= magic.size()) file.read_at(0, magic);
  if (magic[0] == std::byte{0x1f} && magic[1] == std::byte{0x8b})
    return std::make_unique<GzipSource>(std::move(file));
  return std::make_unique<PlainSource>(std::move(file));
}

}  // namespace tandem::detail
