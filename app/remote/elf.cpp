// SPDX-License-Identifier: Apache-2.0
#include "remote/elf.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace coppice::remote {
namespace {

constexpr std::size_t kMaxLibraries = 256;

template <typename T>
std::optional<T> at(std::string_view file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) {
    return std::nullopt;
  }
  T value;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

std::string textAt(std::string_view file, std::uint64_t offset) {
  if (offset >= file.size()) {
    return {};
  }
  const std::string_view rest = file.substr(offset, 256);
  return std::string(rest.substr(0, rest.find('\0')));
}

std::string newest(std::string_view file, std::string_view prefix) {
  std::string best;
  for (std::size_t i = file.find(prefix); i != std::string_view::npos; i = file.find(prefix, i + 1)) {
    const std::size_t from = i + prefix.size();
    std::size_t end = from;
    while (end < file.size() && end - from < 16 && ((file[end] >= '0' && file[end] <= '9') || file[end] == '.')) {
      ++end;
    }
    const std::string version(file.substr(from, end - from));
    if (!version.empty() && version.back() != '.' && (best.empty() || isOlder(best, version))) {
      best = version;
    }
  }
  return best;
}

std::string architectureOf(unsigned machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86_64";
    case EM_AARCH64:
      return "aarch64";
    case EM_PPC64:
      return "ppc64le";
    case EM_RISCV:
      return "riscv64";
    default:
      return "unknown";
  }
}

}  // namespace

bool isOlder(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const auto take = [](std::string_view& text) {
      long number = 0;
      std::size_t i = 0;
      for (; i < text.size() && text[i] != '.'; ++i) {
        if (text[i] >= '0' && text[i] <= '9' && number < 1'000'000) {
          number = number * 10 + (text[i] - '0');
        }
      }
      text.remove_prefix(std::min(text.size(), i + 1));
      return number;
    };
    const long x = take(a);
    const long y = take(b);
    if (x != y) {
      return x < y;
    }
  }
  return false;
}

Result<ProgramNeeds> programNeeds(std::string_view file) {
  const Error wrong{ErrorCode::badInput, "this is not a 64-bit little-endian ELF program",
                    "build coppice-exec for Linux"};
  const auto header = at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return wrong;
  }
  ProgramNeeds needs;
  needs.architecture = architectureOf(header->e_machine);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(file, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) {
      return wrong;
    }
    if (section->sh_type != SHT_DYNAMIC) {
      continue;
    }
    const auto names = at<Elf64_Shdr>(file, header->e_shoff + section->sh_link * sizeof(Elf64_Shdr));
    if (!names) {
      return wrong;
    }
    for (std::uint64_t offset = 0; offset + sizeof(Elf64_Dyn) <= section->sh_size; offset += sizeof(Elf64_Dyn)) {
      const auto entry = at<Elf64_Dyn>(file, section->sh_offset + offset);
      if (!entry || entry->d_tag == DT_NULL || needs.libraries.size() == kMaxLibraries) {
        break;
      }
      if (entry->d_tag == DT_NEEDED) {
        needs.libraries.push_back(textAt(file, names->sh_offset + entry->d_un.d_val));
      }
    }
  }
  needs.libc = newest(file, "GLIBC_");
  needs.libstdcxx = newest(file, "GLIBCXX_");
  return needs;
}

}  // namespace coppice::remote
