// SPDX-License-Identifier: Apache-2.0
#include "mpi/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

namespace coppice::executor {
namespace {

Error failure(ErrorCode code, const std::string& what, int reason) {
  return {.code = code,
          .message = what + ": " + std::system_category().message(reason),
          .fix = code == ErrorCode::limit ? "use smaller sizes or fewer ranks on this host" : ""};
}

}  // namespace

std::uint64_t randomWord() {
  std::uint64_t word = 0;
  while (::getrandom(&word, sizeof(word), 0) != static_cast<ssize_t>(sizeof(word))) {
  }
  return word;
}

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : m_data(std::exchange(other.m_data, nullptr)),
      m_size(std::exchange(other.m_size, 0)),
      m_address(std::exchange(other.m_address, {})) {}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  if (this != &other) {
    release();
    m_data = std::exchange(other.m_data, nullptr);
    m_size = std::exchange(other.m_size, 0);
    m_address = std::exchange(other.m_address, {});
  }
  return *this;
}

Result<SharedSegment> SharedSegment::map(int descriptor, std::int64_t bytes) {
  void* const mapped =
      ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) {
    return failure(ErrorCode::limit, "no " + std::to_string(bytes) + " bytes of shared memory", errno);
  }
  ::madvise(mapped, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);  // a wish; runs without it too
  SharedSegment segment;
  segment.m_data = static_cast<std::byte*>(mapped);
  segment.m_size = bytes;
  return segment;
}

Result<SharedSegment> SharedSegment::make(std::int64_t bytes, bool isNamed) {
  SegmentAddress address;
  address.pid = ::getpid();
  int descriptor = -1;
  if (isNamed) {
    for (int attempt = 0; attempt < 16 && descriptor < 0; ++attempt) {
      std::snprintf(address.name, sizeof(address.name), "/coppice-exec-%016" PRIx64, randomWord());
      descriptor = ::shm_open(address.name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
  } else {
    descriptor = ::memfd_create("coppice-exec", MFD_CLOEXEC);
    address.descriptor = descriptor;
  }
  if (descriptor < 0) {
    return failure(ErrorCode::unavailable, "no shared memory file", errno);
  }
  int reason = ::ftruncate(descriptor, bytes) == 0 ? 0 : errno;
  if (reason == 0 && isNamed) {
    // /dev/shm is often small; taking the room now turns a later SIGBUS into a message.
    reason = ::posix_fallocate(descriptor, 0, bytes);
  }
  Result<SharedSegment> segment =
      reason != 0 ? Result<SharedSegment>(
                        failure(ErrorCode::limit, "no " + std::to_string(bytes) + " bytes of shared memory", reason))
                  : map(descriptor, bytes);
  if (isNamed || !segment) {
    ::close(descriptor);
  }
  if (segment) {
    segment->m_address = address;
  } else if (isNamed) {
    ::shm_unlink(address.name);
  }
  return segment;
}

Result<SharedSegment> SharedSegment::open(const SegmentAddress& address, std::int64_t bytes) {
  int descriptor = -1;
  if (address.descriptor >= 0) {
    const std::string path = "/proc/" + std::to_string(address.pid) + "/fd/" + std::to_string(address.descriptor);
    descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  } else {
    descriptor = ::shm_open(address.name, O_RDWR | O_CLOEXEC, 0);
  }
  if (descriptor < 0) {
    return failure(ErrorCode::unavailable, "the shared memory of another process is not visible here", errno);
  }
  Result<SharedSegment> segment = map(descriptor, bytes);
  ::close(descriptor);
  return segment;
}

void SharedSegment::conceal() {
  if (m_address.descriptor >= 0) {
    ::close(m_address.descriptor);
  } else if (m_address.name[0] != '\0') {
    ::shm_unlink(m_address.name);
  }
  m_address = {};
}

void SharedSegment::release() {
  conceal();
  if (m_data != nullptr) {
    ::munmap(m_data, static_cast<std::size_t>(m_size));
    m_data = nullptr;
    m_size = 0;
  }
}

}  // namespace coppice::executor
