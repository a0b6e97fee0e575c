// SPDX-License-Identifier: Apache-2.0
#include "io/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <new>
#include <ostream>
#include <streambuf>
#include <system_error>
#include <utility>
#include <vector>

#include "base/failure.hpp"
#include "base/text.hpp"

namespace coppice::io {
namespace {

const char* fixFor(int number) {
  switch (number) {
    case ENOSPC:
    case EDQUOT:
      return "free some space there, or choose another folder";
    case EROFS:
      return "choose a folder that is not read-only";
    case EIO:
      return "check the disk, or choose another folder";
    default:
      return "check the path and its permissions";
  }
}

Error ioError(const std::filesystem::path& path, const char* what, int number) {
  return Error{ErrorCode::io,
               std::string(what) + ": " + std::generic_category().message(number),
               fixFor(number),
               {.file = path.string()}};
}

/// Closes on scope exit; close() reports what the destructor must swallow.
class Descriptor {
public:
  explicit Descriptor(int descriptor) : m_descriptor(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (m_descriptor >= 0) {
      ::close(m_descriptor);
    }
  }
  [[nodiscard]] bool isOpen() const { return m_descriptor >= 0; }
  [[nodiscard]] int get() const { return m_descriptor; }
  /// 0 or an errno value.
  int close() { return ::close(std::exchange(m_descriptor, -1)) == 0 ? 0 : errno; }

private:
  int m_descriptor;
};

/// 0 or an errno value.
int writeAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return written < 0 ? errno : EIO;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Creates a new file with a name of its own in the folder; `name` tells it. The process's umask applies.
int createBeside(const std::filesystem::path& target, std::string& name) {
  static std::atomic<unsigned> counter{0};
  constexpr int kAttempts = 1000;
  for (int i = 0; i < kAttempts; ++i) {
    name =
        (target.parent_path() / (".coppice-" + std::to_string(::getpid()) + "-" + std::to_string(counter++))).string();
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) {
      return descriptor;
    }
  }
  return -1;
}

/// A stream's way into a descriptor; remembers why it failed.
class DescriptorBuffer : public std::streambuf {
public:
  explicit DescriptorBuffer(int descriptor) : m_descriptor(descriptor), m_block(std::size_t{1} << 16) {
    setp(m_block.data(), m_block.data() + m_block.size());
  }
  /// 0 or an errno value.
  [[nodiscard]] int failure() const { return m_failure; }

protected:
  int_type overflow(int_type letter) override {
    if (sync() != 0) {
      return traits_type::eof();
    }
    if (!traits_type::eq_int_type(letter, traits_type::eof())) {
      sputc(traits_type::to_char_type(letter));
    }
    return traits_type::not_eof(letter);
  }
  int sync() override {
    if (m_failure == 0) {
      m_failure = writeAll(m_descriptor, {pbase(), static_cast<std::size_t>(pptr() - pbase())});
    }
    setp(m_block.data(), m_block.data() + m_block.size());
    return m_failure == 0 ? 0 : -1;
  }

private:
  int m_descriptor;
  int m_failure = 0;
  std::vector<char> m_block;
};

using Write = std::function<Outcome(std::ostream&)>;

/// Lets `write` fill the file. Errors of the file come before those of `write`, which may only follow from them.
Outcome fill(int descriptor, const std::filesystem::path& path, const Write& write) {
  DescriptorBuffer buffer(descriptor);
  std::ostream stream(&buffer);
  Outcome written = write(stream);
  stream.flush();
  return buffer.failure() != 0 ? Outcome(ioError(path, "cannot write", buffer.failure())) : written;
}

Outcome writeDirectly(const std::filesystem::path& path, const Write& write) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.isOpen()) {
    return ioError(path, "cannot open for writing", errno);
  }
  const Outcome written = fill(file.get(), path, write);
  if (!written) {
    return written.error();
  }
  const int failure = file.close();
  return failure == 0 ? Outcome(Done{}) : ioError(path, "cannot write", failure);
}

/// Removes the file again unless it is kept.
class Temporary {
public:
  explicit Temporary(std::string name) : m_name(std::move(name)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!m_name.empty()) {
      ::unlink(m_name.c_str());
    }
  }
  void keep() { m_name.clear(); }

private:
  std::string m_name;
};

}  // namespace

Result<std::string> readFile(const std::filesystem::path& path, std::size_t maxBytes) {
  return guarded(
      [&]() -> Result<std::string> {
        Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (!file.isOpen()) {
          return ioError(path, "cannot open", errno);
        }
        struct stat status {};
        if (::fstat(file.get(), &status) != 0) {
          return ioError(path, "cannot read", errno);
        }
        const auto tooLong = [&] {
          return Error{ErrorCode::limit,
                       "the file is longer than " + std::to_string(maxBytes) + " bytes",
                       "check that it is the right file",
                       {.file = path.string()}};
        };
        std::string text;
        if (S_ISREG(status.st_mode)) {
          if (std::cmp_greater(status.st_size, maxBytes)) {
            return tooLong();
          }
          text.reserve(status.st_size);
        }
        std::array<char, 65536> block;
        for (;;) {
          const ssize_t count = ::read(file.get(), block.data(), block.size());
          if (count < 0 && errno == EINTR) {
            continue;
          }
          if (count < 0) {
            return ioError(path, "cannot read", errno);
          }
          if (count == 0) {
            return text;
          }
          if (text.size() + static_cast<std::size_t>(count) > maxBytes) {
            return tooLong();
          }
          text.append(block.data(), static_cast<std::size_t>(count));
        }
      },
      {.memory = "not enough memory to read the file", .memoryFix = "free memory", .where = {.file = path.string()}});
}

Outcome saveFile(const std::filesystem::path& path, std::string_view text) {
  return saveFile(path, [&](std::ostream& out) -> Outcome {
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    return Done{};
  });
}

Outcome saveFile(const std::filesystem::path& path, const std::function<Outcome(std::ostream&)>& write) {
  return guarded(
      [&]() -> Outcome {
        struct stat status {};
        const bool exists = ::stat(path.c_str(), &status) == 0;
        if (exists && S_ISDIR(status.st_mode)) {
          return ioError(path, "cannot write", EISDIR);
        }
        if (exists && !S_ISREG(status.st_mode)) {
          return writeDirectly(path, write);
        }
        std::error_code problem;
        std::filesystem::path target = path;
        if (exists) {
          target = std::filesystem::canonical(path, problem);
          if (problem) {
            return ioError(path, "cannot write", problem.value());
          }
          if (::access(target.c_str(), W_OK) != 0) {
            return ioError(path, "cannot write", errno);
          }
        }
        std::string temporary;
        Descriptor file(createBeside(target, temporary));
        if (!file.isOpen()) {
          return ioError(path, "cannot write", errno);
        }
        Temporary unfinished(temporary);
        int failure = exists && ::fchmod(file.get(), status.st_mode & 07777) != 0 ? errno : 0;
        if (failure == 0) {
          const Outcome written = fill(file.get(), path, write);
          if (!written) {
            return written.error();
          }
        }
        if (failure == 0 && ::fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS) {
          failure = errno;
        }
        const int closing = file.close();
        failure = failure == 0 ? closing : failure;
        if (failure == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) {
          failure = errno;
        }
        if (failure != 0) {
          return ioError(path, "cannot write", failure);
        }
        unfinished.keep();
        return Done{};
      },
      {.memory = "not enough memory to write the file", .memoryFix = "free memory", .where = {.file = path.string()}});
}

Outcome makeFolder(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return Error{ErrorCode::io,
                 "the folder " + inQuotes(folder.string()) + " could not be created: " + failed.message(),
                 "choose another folder"};
  }
  return Done{};
}

}  // namespace coppice::io
