// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cuda/device_plan.hpp"

/// How the lanes of a block move and combine data together: 16 bytes at a time where addresses agree, with single
/// elements before and after.
namespace coppice::executor::cuda {

#ifdef __CUDACC__
#define COPPICE_UNROLL _Pragma("unroll")
#define COPPICE_KEEP_LOOP _Pragma("unroll 1")
#else
#define COPPICE_UNROLL
#define COPPICE_KEEP_LOOP
#endif

struct Lanes {
  unsigned lane = 0;
  unsigned lanes = 1;
};

struct alignas(16) Vector {
  std::uint32_t words[4];
};

/// 16 bytes at a time fill 32 registers; narrower items have more addresses than data.
template <typename T>
inline constexpr unsigned kCopyUnroll = sizeof(T) == sizeof(Vector) ? 8 : 4;
/// Narrow elements are unpacked into many registers.
template <typename Value>
inline constexpr unsigned kCombineUnroll = sizeof(Value) == 1   ? 1
                                           : sizeof(Value) == 2 ? 2
                                                                : 4;

/// Tells the compiler that an address that came through shared memory is one of global memory (device, peer or host).
#ifdef __CUDACC__
#define COPPICE_ASSUME_GLOBAL(address) __builtin_assume(__isGlobal(address))
#else
#define COPPICE_ASSUME_GLOBAL(address) static_cast<void>(address)
#endif

template <typename T>
COPPICE_GPU inline T loadAt(const unsigned char* at) {
#ifdef __CUDACC__
  return *reinterpret_cast<const T*>(at);
#else
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
#endif
}

template <typename T>
COPPICE_GPU inline void storeAt(unsigned char* at, T value) {
#ifdef __CUDACC__
  *reinterpret_cast<T*>(at) = value;
#else
  std::memcpy(at, &value, sizeof(T));
#endif
}

#ifdef __CUDACC__
// One instruction each, whatever the optimiser thinks of the struct.
template <>
COPPICE_GPU inline Vector loadAt<Vector>(const unsigned char* at) {
  const uint4 value = *reinterpret_cast<const uint4*>(at);
  return {{value.x, value.y, value.z, value.w}};
}
template <>
COPPICE_GPU inline void storeAt<Vector>(unsigned char* at, Vector value) {
  *reinterpret_cast<uint4*>(at) = make_uint4(value.words[0], value.words[1], value.words[2], value.words[3]);
}
#endif

COPPICE_GPU inline unsigned misalignment(const unsigned char* a, const unsigned char* b) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(a) ^ reinterpret_cast<std::uintptr_t>(b));
}

/// Bytes before the first multiple of `unit`, a power of two.
COPPICE_GPU inline std::uint32_t headOf(const unsigned char* at, unsigned unit, std::uint32_t bytes) {
  const auto head =
      static_cast<std::uint32_t>((0U - static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at))) & (unit - 1U));
  return head < bytes ? head : bytes;
}

/// @pre the addresses agree in their place within a T
template <typename T>
COPPICE_GPU inline void copyAs(Lanes lanes, unsigned char* dst, unsigned char* second, const unsigned char* src,
                               std::uint32_t bytes) {
  constexpr auto kBytes = static_cast<std::uint32_t>(sizeof(T));
  const std::uint32_t head = headOf(dst, sizeof(T), bytes);
  const std::uint32_t items = (bytes - head) / kBytes;
  const std::uint32_t tail = head + items * kBytes;
  if (sizeof(T) > 1) {
    for (std::uint32_t at = lanes.lane; at < head + bytes - tail; at += lanes.lanes) {
      const std::uint32_t place = at < head ? at : at - head + tail;
      const unsigned char value = src[place];
      dst[place] = value;
      if (second != nullptr) {
        second[place] = value;
      }
    }
  }
  COPPICE_ASSUME_GLOBAL(dst);
  COPPICE_ASSUME_GLOBAL(src);
  const std::uint32_t width = lanes.lanes;
  const std::size_t stride = std::size_t{width} * sizeof(T);
  const std::size_t begin = head + std::size_t{lanes.lane} * sizeof(T);
  const unsigned char* from = src + begin;
  unsigned char* to = dst + begin;
  unsigned char* also = second != nullptr ? second + begin : nullptr;
  std::uint32_t item = lanes.lane;
  COPPICE_KEEP_LOOP
  for (; item + (kCopyUnroll<T> - 1) * width < items; item += kCopyUnroll<T> * width) {
    T values[kCopyUnroll<T>];
    COPPICE_UNROLL
    for (T& value : values) {
      value = loadAt<T>(from);
      from += stride;
    }
    COPPICE_UNROLL
    for (const T& value : values) {
      storeAt<T>(to, value);
      to += stride;
    }
    if (also != nullptr) {
      COPPICE_ASSUME_GLOBAL(also);
      COPPICE_UNROLL
      for (const T& value : values) {
        storeAt<T>(also, value);
        also += stride;
      }
    }
  }
  COPPICE_KEEP_LOOP
  for (; item < items; item += width) {
    const T value = loadAt<T>(from);
    storeAt<T>(to, value);
    from += stride;
    to += stride;
    if (also != nullptr) {
      storeAt<T>(also, value);
      also += stride;
    }
  }
}

/// dst = second = src, without `second` if it is null. Nothing overlaps.
COPPICE_GPU inline void copyBytes(Lanes lanes, unsigned char* dst, unsigned char* second, const unsigned char* src,
                                  std::uint32_t bytes) {
  const unsigned mismatch = misalignment(dst, src) | (second != nullptr ? misalignment(dst, second) : 0U);
  if ((mismatch & 15U) == 0) {
    copyAs<Vector>(lanes, dst, second, src, bytes);
  } else if ((mismatch & 3U) == 0) {
    copyAs<std::uint32_t>(lanes, dst, second, src, bytes);
  } else {
    copyAs<unsigned char>(lanes, dst, second, src, bytes);
  }
}

/// T holds whole elements. @pre the addresses agree in their place within a T
template <typename Element, Combine kCombine, typename T>
COPPICE_GPU inline T combined(T a, T b) {
  using Value = typename Element::Stored;
  constexpr int kValues = sizeof(T) / sizeof(Value);
  Value left[kValues];
  Value right[kValues];
  std::memcpy(left, &a, sizeof(T));
  std::memcpy(right, &b, sizeof(T));
  COPPICE_UNROLL
  for (int i = 0; i < kValues; ++i) {
    left[i] = Element::template apply<kCombine>(left[i], right[i]);
  }
  std::memcpy(&a, left, sizeof(T));
  return a;
}

template <typename Element, Combine kCombine, typename T, unsigned kUnroll>
COPPICE_GPU inline void combineItems(Lanes lanes, unsigned char* dst, unsigned char* second, const unsigned char* a,
                                     const unsigned char* b, std::uint32_t items) {
  const std::uint32_t width = lanes.lanes;
  const std::size_t stride = std::size_t{width} * sizeof(T);
  const std::size_t begin = std::size_t{lanes.lane} * sizeof(T);
  COPPICE_ASSUME_GLOBAL(a);
  COPPICE_ASSUME_GLOBAL(b);
  COPPICE_ASSUME_GLOBAL(dst);
  a += begin;
  b += begin;
  dst += begin;
  second = second != nullptr ? second + begin : nullptr;
  std::uint32_t item = lanes.lane;
  COPPICE_KEEP_LOOP
  for (; item + (kUnroll - 1) * width < items; item += kUnroll * width) {
    T left[kUnroll];
    T right[kUnroll];
    COPPICE_UNROLL
    for (unsigned i = 0; i < kUnroll; ++i) {
      left[i] = loadAt<T>(a);
      right[i] = loadAt<T>(b);
      a += stride;
      b += stride;
    }
    COPPICE_UNROLL
    for (unsigned i = 0; i < kUnroll; ++i) {
      left[i] = combined<Element, kCombine>(left[i], right[i]);
      storeAt<T>(dst, left[i]);
      dst += stride;
    }
    if (second != nullptr) {
      COPPICE_ASSUME_GLOBAL(second);
      COPPICE_UNROLL
      for (const T& value : left) {
        storeAt<T>(second, value);
        second += stride;
      }
    }
  }
  COPPICE_KEEP_LOOP
  for (; kUnroll > 1 && item < items; item += width) {
    const T value = combined<Element, kCombine>(loadAt<T>(a), loadAt<T>(b));
    storeAt<T>(dst, value);
    a += stride;
    b += stride;
    dst += stride;
    if (second != nullptr) {
      storeAt<T>(second, value);
      second += stride;
    }
  }
}

template <typename Element, Combine kCombine>
COPPICE_GPU inline void combineAs(Lanes lanes, unsigned char* dst, unsigned char* second, const unsigned char* a,
                                  const unsigned char* b, std::uint32_t bytes) {
  using Value = typename Element::Stored;
  constexpr auto kBytes = static_cast<std::uint32_t>(sizeof(Value));
  const unsigned mismatch =
      misalignment(dst, a) | misalignment(dst, b) | (second != nullptr ? misalignment(dst, second) : 0U);
  std::uint32_t done = 0;
  if ((mismatch & 15U) == 0) {
    const std::uint32_t head = headOf(dst, sizeof(Vector), bytes);
    const std::uint32_t vectors = (bytes - head) / static_cast<std::uint32_t>(sizeof(Vector));
    const std::uint32_t tail = head + vectors * static_cast<std::uint32_t>(sizeof(Vector));
    combineItems<Element, kCombine, Value, 1>(lanes, dst, second, a, b, head / kBytes);
    combineItems<Element, kCombine, Vector, kCombineUnroll<Value>>(
        lanes, dst + head, second != nullptr ? second + head : nullptr, a + head, b + head, vectors);
    done = tail;
  }
  combineItems<Element, kCombine, Value, 1>(lanes, dst + done, second != nullptr ? second + done : nullptr, a + done,
                                            b + done, (bytes - done) / kBytes);
}

/// dst = second = a op b by elements, without `second` if it is null; dst may be a or b, but nothing overlaps
/// otherwise. `Element` names the Stored type and applies the operation to two of them, rounding once.
template <typename Element>
COPPICE_GPU inline void combineBytes(Lanes lanes, Combine combine, unsigned char* dst, unsigned char* second,
                                     const unsigned char* a, const unsigned char* b, std::uint32_t bytes) {
  switch (combine) {
    case Combine::sum:
      combineAs<Element, Combine::sum>(lanes, dst, second, a, b, bytes);
      break;
    case Combine::prod:
      combineAs<Element, Combine::prod>(lanes, dst, second, a, b, bytes);
      break;
    case Combine::min:
      combineAs<Element, Combine::min>(lanes, dst, second, a, b, bytes);
      break;
    case Combine::max:
      combineAs<Element, Combine::max>(lanes, dst, second, a, b, bytes);
      break;
  }
}

}  // namespace coppice::executor::cuda
