// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Whoever reaches the port of a store can send what he likes. Those who mean well go on.

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tandem/core/error.hpp"
#include "tandem/world/store_server.hpp"
#include "tandem/world/tcp_store.hpp"

#include "world/socket.hpp"
#include "world/store_protocol.hpp"

namespace tandem::world::test {
namespace {

using namespace std::chrono_literals;

class HostileClientTest : public ::testing::Test {
 protected:
  Socket connect() const { return Socket::connect(server.address(), soon()); }
  static Deadline soon() { return std::chrono::steady_clock::now() + 20s; }

  /// Whether the server drops the connection.
  static bool is_dropped(const Socket& socket) {
    std::array<char, 1> byte{};
    try {
      for (;;)
        socket.receive(byte, soon());
    } catch (const Timeout&) {
      return false;
    } catch (const CommError&) {
      return true;
    }
  }
  static void send(const Socket& socket, std::string_view bytes) {
    try {
      socket.send(bytes, soon());
    } catch (const CommError&) {  // dropped already
    }
  }
  void expect_that_others_go_on() {
    TcpStore other(server.address(), 20s);
    EXPECT_EQ(other.add("n", 1), ++count);
  }

  StoreServer server{{"127.0.0.1", 0}};
  std::int64_t count = 0;
};

TEST_F(HostileClientTest, RandomBytesAreDropped) {
  std::mt19937 random(3);
  for (int i = 0; i < 50; ++i) {
    const Socket socket = connect();
    std::string bytes(1 + random() % 5000, '\0');
    for (char& c : bytes)
      c = static_cast<char>(random());
    bytes[0] = static_cast<char>(1 + random() % 200);  // not the first message of a client
    send(socket, bytes + std::string(64, '\xff'));
    ::shutdown(socket.fd(), SHUT_WR);
    EXPECT_TRUE(is_dropped(socket));
  }
  expect_that_others_go_on();
}

TEST_F(HostileClientTest, AnImpossibleLengthIsDropped) {
  for (const std::uint64_t length : {std::uint64_t{1} << 63, kMostBytes + 1, ~std::uint64_t{0}}) {
    const Socket socket = connect();
    MessageWriter message(Query::validate);
    message.u32(kMagic).byte(static_cast<std::uint8_t>(Query::set)).u64(length);
    send(socket, message.bytes());
    EXPECT_TRUE(is_dropped(socket));
  }
  expect_that_others_go_on();
}

TEST_F(HostileClientTest, AWrongFirstMessageIsDropped) {
  for (const auto& first :
       {MessageWriter(Query::validate).u32(1), MessageWriter(Query::num_keys)}) {
    const Socket socket = connect();
    send(socket, first.bytes());
    EXPECT_TRUE(is_dropped(socket));
  }
  expect_that_others_go_on();
}

TEST_F(HostileClientTest, OneByteAtATimeIsServed) {
  const Socket socket = connect();
  const std::string bytes = MessageWriter(Query::validate).u32(kMagic).bytes() +
                            MessageWriter(Query::ping).u32(99).bytes();
  for (const char c : bytes) {
    socket.send({&c, 1}, soon());
    std::this_thread::sleep_for(1ms);
  }
  std::string echo(4, '\0');
  socket.receive(echo, soon());
  EXPECT_EQ(MessageReader(echo).u32(), 99u);
  expect_that_others_go_on();
}

TEST_F(HostileClientTest, AResetInTheMiddleOfAMessageIsForgotten) {
  for (int i = 0; i < 20; ++i) {
    const Socket socket = connect();
    send(socket, MessageWriter(Query::validate).u32(kMagic).byte(1).u64(100).bytes());
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  expect_that_others_go_on();
}

TEST_F(HostileClientTest, AThousandThatSayNothingAreNoHindrance) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const rlimit before = files;
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 4096);
  ::setrlimit(RLIMIT_NOFILE, &files);
  {
    // Both ends are this process's.
    const auto room = static_cast<int>((files.rlim_cur - 64) / 2);
    std::vector<Socket> idle;
    for (int i = 0; i < std::min(1000, room); ++i)
      idle.push_back(connect());
    expect_that_others_go_on();
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
}

// Each holds back the last byte of a message of 8 MiB; together they may not hold all of it.
TEST_F(HostileClientTest, HalvesOfLongMessagesAreHeldUpTo64MiB) {
  std::vector<Socket> holding;
  const std::string long_message(std::size_t{8} << 20, 'x');
  for (int i = 0; i < 16; ++i) {
    holding.push_back(connect());
    send(holding.back(), MessageWriter(Query::validate).u32(kMagic).byte(1).u64(1).bytes());
    send(holding.back(), "k" + MessageWriter().u64(long_message.size() + 1).bytes() + long_message);
    expect_that_others_go_on();
  }
}

}  // namespace
}  // namespace tandem::world::test
