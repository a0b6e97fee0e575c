// SPDX-License-Identifier: Apache-2.0
#include "remote/sha256.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/text.hpp"

namespace coppice::remote {
namespace {

constexpr std::size_t kBlock = 64;

/// FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRound{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

class Digest {
public:
  void add(std::string_view bytes) {
    m_length += bytes.size();
    while (!bytes.empty()) {
      const std::size_t taken = std::min(kBlock - m_filled, bytes.size());
      std::memcpy(m_block.data() + m_filled, bytes.data(), taken);
      m_filled += taken;
      bytes.remove_prefix(taken);
      if (m_filled == kBlock) {
        mix();
        m_filled = 0;
      }
    }
  }

  std::string finish() {
    const std::uint64_t bits = m_length * 8;
    add(std::string_view("\x80", 1));
    while (m_filled != kBlock - sizeof(bits)) {
      add(std::string_view("\0", 1));
    }
    std::array<char, sizeof(bits)> length{};
    for (std::size_t i = 0; i < length.size(); ++i) {
      length[i] = static_cast<char>((bits >> (56 - 8 * i)) & 0xffU);
    }
    add({length.data(), length.size()});
    std::string text;
    constexpr const char* kDigits = "0123456789abcdef";
    for (const std::uint32_t word : m_state) {
      for (int shift = 28; shift >= 0; shift -= 4) {
        text += kDigits[(word >> static_cast<unsigned>(shift)) & 0xfU];
      }
    }
    return text;
  }

private:
  /// FIPS 180-4, 6.2.2.
  void mix() {
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 16; ++i) {
      w[i] = std::uint32_t{m_block[4 * i]} << 24U | std::uint32_t{m_block[4 * i + 1]} << 16U |
             std::uint32_t{m_block[4 * i + 2]} << 8U | std::uint32_t{m_block[4 * i + 3]};
    }
    for (std::size_t i = 16; i < w.size(); ++i) {
      const std::uint32_t a = w[i - 15];
      const std::uint32_t b = w[i - 2];
      w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3U) + w[i - 7] +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10U);
    }
    auto [a, b, c, d, e, f, g, h] = m_state;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const std::uint32_t first =
          h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
      const std::uint32_t second =
          (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + first;
      d = c;
      c = b;
      b = a;
      a = first + second;
    }
    const std::array<std::uint32_t, 8> sums{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < sums.size(); ++i) {
      m_state[i] += sums[i];
    }
  }

  /// FIPS 180-4, 5.3.3.
  std::array<std::uint32_t, 8> m_state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, kBlock> m_block{};
  std::size_t m_filled = 0;
  std::uint64_t m_length = 0;
};

}  // namespace

std::string sha256(std::string_view bytes) {
  Digest digest;
  digest.add(bytes);
  return digest.finish();
}

Result<std::string> sha256OfFile(const std::filesystem::path& file) {
  const auto failed = [&] {
    return Error{ErrorCode::io, inQuotes(file.string()) + " cannot be read: " + std::strerror(errno),
                 "check the file and its permissions"};
  };
  struct Close {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };
  const std::unique_ptr<std::FILE, Close> stream(std::fopen(file.c_str(), "rbe"));
  if (!stream) {
    return failed();
  }
  Digest digest;
  std::string buffer(std::size_t{1} << 16, '\0');
  for (;;) {
    const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), stream.get());
    digest.add({buffer.data(), got});
    if (got < buffer.size()) {
      if (std::ferror(stream.get()) != 0) {
        return failed();
      }
      return digest.finish();
    }
  }
}

}  // namespace coppice::remote
