// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels.hpp"

#include <array>
#include <cstring>
#include <type_traits>

#include "engine/half.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// The iterations of the loop that follows do not touch each other's data.
#if defined(__clang__)
#define COPPICE_NO_ALIAS_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define COPPICE_NO_ALIAS_LOOP _Pragma("GCC ivdep")
#endif

namespace coppice::executor {
namespace {

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kBlock = 2048;  // stays in the first cache between reduction and streaming

// ---- how words are read and written; Value is what is computed with

template <typename T>
struct Plain {
  using Word = T;
  using Value = T;
  [[gnu::always_inline]] static Value load(Word word) { return word; }
  [[gnu::always_inline]] static Word store(Value value) { return value; }
};

/// Signed integers; sums and products wrap around.
template <typename T>
struct Signed : Plain<T> {};

struct Half {
  using Word = std::uint16_t;
  using Value = float;
  [[gnu::always_inline]] static Value load(Word word) { return half::fromHalf(word); }
  [[gnu::always_inline]] static Word store(Value value) { return half::toHalf(value); }
};

struct Bfloat {
  using Word = std::uint16_t;
  using Value = float;
  [[gnu::always_inline]] static Value load(Word word) { return half::fromBfloat(word); }
  [[gnu::always_inline]] static Word store(Value value) { return half::toBfloat(value); }
};

template <typename T, bool isInteger = std::is_integral_v<T>>
struct Wrapping {
  using Type = std::make_unsigned_t<T>;
};
template <typename T>
struct Wrapping<T, false> {
  using Type = T;
};

struct Sum {
  template <typename T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    using U = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  }
};
struct Prod {
  template <typename T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    using U = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) * static_cast<U>(b)));
  }
};
struct Min {
  template <typename T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return b < a ? b : a;
  }
};
struct Max {
  template <typename T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return a < b ? b : a;
  }
};

struct Reduction {
  void (*cached)(std::byte*, const std::byte*, const std::byte*, std::int64_t count);
  void (*streamed)(std::byte*, const std::byte*, const std::byte*, std::int64_t bytes);
};

struct Kernels {
  std::array<std::array<Reduction, 4>, 8> reductions;  ///< by type and operation
  std::array<void (*)(std::byte*, std::int64_t count, int divisor), 8> divisions;
  void (*streamLines)(std::byte*, const std::byte*, std::int64_t bytes);
  const char* width;
};

namespace baseline {
#define COPPICE_TARGET
#define COPPICE_WIDTH "baseline"
#include "engine/kernels_body.inc"
#undef COPPICE_TARGET
#undef COPPICE_WIDTH
#if defined(__x86_64__)
void streamLines(std::byte* dst, const std::byte* src, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += kLine) {
    const auto* from = reinterpret_cast<const __m128i*>(src + at);
    auto* to = reinterpret_cast<__m128i*>(dst + at);
    const __m128i a = _mm_loadu_si128(from);
    const __m128i b = _mm_loadu_si128(from + 1);
    const __m128i c = _mm_loadu_si128(from + 2);
    const __m128i d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
}
#else
void streamLines(std::byte* dst, const std::byte* src, std::int64_t bytes) {
  std::memcpy(dst, src, static_cast<std::size_t>(bytes));
}
#endif
}  // namespace baseline

#if defined(__x86_64__)
namespace avx2 {
#define COPPICE_TARGET __attribute__((target("avx2")))
#define COPPICE_WIDTH "avx2"
#include "engine/kernels_body.inc"
COPPICE_TARGET void streamLines(std::byte* dst, const std::byte* src, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += kLine) {
    const auto* from = reinterpret_cast<const __m256i*>(src + at);
    auto* to = reinterpret_cast<__m256i*>(dst + at);
    const __m256i a = _mm256_loadu_si256(from);
    const __m256i b = _mm256_loadu_si256(from + 1);
    _mm256_stream_si256(to, a);
    _mm256_stream_si256(to + 1, b);
  }
}
#undef COPPICE_TARGET
#undef COPPICE_WIDTH
}  // namespace avx2

namespace avx512 {
// GCC takes vectors of 32 bytes unless it is asked for more; not every compiler knows the question.
#ifdef COPPICE_HAS_VECTOR_WIDTH
#define COPPICE_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")))
#else
#define COPPICE_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#endif
#define COPPICE_WIDTH "avx512"
#include "engine/kernels_body.inc"
COPPICE_TARGET void streamLines(std::byte* dst, const std::byte* src, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += kLine) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + at), _mm512_loadu_si512(src + at));
  }
}
#undef COPPICE_TARGET
#undef COPPICE_WIDTH
}  // namespace avx512
#endif

const Kernels& chooseKernels() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    return avx512::kKernels;
  }
  if (__builtin_cpu_supports("avx2")) {
    return avx2::kKernels;
  }
#endif
  return baseline::kKernels;
}

const Kernels& kernels() {
  static const Kernels& chosen = chooseKernels();
  return chosen;
}

void fenceStores() {
#if defined(__x86_64__)
  _mm_sfence();  // streaming stores are ordered by nothing weaker
#endif
}

/// Bytes before the first line of dst, whole elements; -1 if lines and elements do not meet.
std::int64_t headBytes(const std::byte* dst, std::int64_t element) {
  const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dst) % kLine);
  const std::int64_t head = (kLine - past) % kLine;
  return head % element == 0 ? head : -1;
}

}  // namespace

void copyBytes(std::byte* dst, const std::byte* src, std::int64_t bytes, Store store) {
  const std::int64_t head = headBytes(dst, 1);
  const std::int64_t lines = (bytes - head) / kLine * kLine;
  if (store == Store::cached || lines <= 0) {
    if (bytes > 0) {
      std::memcpy(dst, src, static_cast<std::size_t>(bytes));
    }
    return;
  }
  std::memcpy(dst, src, static_cast<std::size_t>(head));
  kernels().streamLines(dst + head, src + head, lines);
  std::memcpy(dst + head + lines, src + head + lines, static_cast<std::size_t>(bytes - head - lines));
  fenceStores();
}

void reduceBytes(DataType type, ReduceOp op, std::byte* dst, const std::byte* a, const std::byte* b, std::int64_t bytes,
                 Store store) {
  const ReduceOp stored = op == ReduceOp::avg ? ReduceOp::sum : op;
  const Reduction& reduction = kernels().reductions[static_cast<std::size_t>(type)][static_cast<std::size_t>(stored)];
  const std::int64_t element = elementBytes(type);
  const std::int64_t head = headBytes(dst, element);
  const std::int64_t lines = (bytes - head) / kLine * kLine;
  if (store == Store::cached || head < 0 || lines <= 0) {
    reduction.cached(dst, a, b, bytes / element);
    return;
  }
  reduction.cached(dst, a, b, head / element);
  reduction.streamed(dst + head, a + head, b + head, lines);
  const std::int64_t done = head + lines;
  reduction.cached(dst + done, a + done, b + done, (bytes - done) / element);
  fenceStores();
}

void divideBytes(DataType type, std::byte* data, std::int64_t bytes, int divisor) {
  kernels().divisions[static_cast<std::size_t>(type)](data, bytes / elementBytes(type), divisor);
}

const char* kernelWidth() {
  return kernels().width;
}

float halfToFloat(std::uint16_t bits) {
  return half::fromHalf(bits);
}
std::uint16_t floatToHalf(float value) {
  return half::toHalf(value);
}
float bfloatToFloat(std::uint16_t bits) {
  return half::fromBfloat(bits);
}
std::uint16_t floatToBfloat(float value) {
  return half::toBfloat(value);
}

}  // namespace coppice::executor
