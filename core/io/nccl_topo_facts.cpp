// SPDX-License-Identifier: Apache-2.0
#include "io/nccl_topo_facts.hpp"

#include <algorithm>
#include <vector>

#include "base/ascii.hpp"

namespace coppice::io {
namespace {

struct SmRate {
  std::int64_t fromSm;
  Bandwidth nccl;
  Bandwidth nominal;
};

}  // namespace

DeviceClass deviceClass(std::string_view text) {
  if (text.starts_with("0x068001")) {
    return DeviceClass::cpu;  // IBM's bridge stands for the CPU
  }
  if (text.starts_with("0x068000")) {
    return DeviceClass::nvSwitch;
  }
  if (text.starts_with("0x03") || text.starts_with("0x12")) {
    return DeviceClass::gpu;
  }
  return text.starts_with("0x02") ? DeviceClass::nic : DeviceClass::bridge;
}

Bandwidth nvlinkRate(std::int64_t sm, LinkRates rates) {
  const SmRate table[] = {{100, Bandwidth(401, 10), Bandwidth(50)}, {90, Bandwidth(206, 10), Bandwidth(25)},
                          {87, Bandwidth(20), Bandwidth(25)},       {86, Bandwidth(12), Bandwidth(225, 16)},
                          {80, Bandwidth(20), Bandwidth(25)},       {70, Bandwidth(20), Bandwidth(25)},
                          {60, Bandwidth(18), Bandwidth(20)}};
  for (const SmRate& row : table) {
    if (sm >= row.fromSm) {
      return rates == LinkRates::nccl ? row.nccl : row.nominal;
    }
  }
  return Bandwidth(rates == LinkRates::nccl ? 20 : 25);
}

Bandwidth xgmiRate(std::string_view architecture, LinkRates rates) {
  if (architecture.starts_with("gfx")) {
    architecture.remove_prefix(3);
  }
  if (architecture.starts_with("94") || architecture.starts_with("95")) {
    return Bandwidth(rates == LinkRates::nccl ? 48 : 64);
  }
  if (architecture.starts_with("90a") || architecture == "910") {
    return Bandwidth(rates == LinkRates::nccl ? 36 : 50);
  }
  return Bandwidth(rates == LinkRates::nccl ? 24 : 25);
}

std::optional<Bandwidth> laneRate(std::string_view speed, LinkRates rates) {
  struct Generation {
    std::string_view transfers;
    std::int64_t times;  // of the first generation
  };
  constexpr Generation kGenerations[] = {{"2.5", 1},  {"5", 2},   {"5.0", 2},   {"8", 4},   {"8.0", 4},  {"16", 8},
                                         {"16.0", 8}, {"32", 16}, {"32.0", 16}, {"64", 32}, {"64.0", 32}};
  const std::string_view number = speed.substr(0, speed.find(' '));
  if (speed.substr(number.size()).starts_with(" GT/s")) {
    for (const Generation& generation : kGenerations) {
      if (generation.transfers == number) {
        return (rates == LinkRates::nccl ? Bandwidth(3, 16) : Bandwidth(1, 4)) * Rational(generation.times);
      }
    }
  }
  return std::nullopt;
}

std::string canonicalBusId(std::string_view text) {
  while (!text.empty() && text.front() == ' ') {
    text.remove_prefix(1);
  }
  while (!text.empty() && text.back() == ' ') {
    text.remove_suffix(1);
  }
  std::vector<std::string> fields(1);
  std::size_t colons = 0;
  bool hasFunction = false;
  for (const char c : text) {
    const char digit = lowered(c);
    if (c == ':' && !hasFunction && ++colons <= 2) {
      fields.emplace_back();
    } else if (c == '.' && colons > 0 && !hasFunction) {
      hasFunction = true;
      fields.emplace_back();
    } else if ((digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f')) {
      fields.back() += digit;
    } else {
      return std::string(text);
    }
  }
  if (colons == 0 || std::any_of(fields.begin(), fields.end(), [](const std::string& f) { return f.empty(); })) {
    return std::string(text);
  }
  if (colons == 1) {
    fields.insert(fields.begin(), "0");
  }
  if (!hasFunction) {
    fields.emplace_back("0");
  }
  for (std::string& field : fields) {
    field.erase(0, std::min(field.find_first_not_of('0'), field.size() - 1));
  }
  return fields[0] + ":" + fields[1] + ":" + fields[2] + "." + fields[3];
}

bool isKnownVendor(const CpuModel& cpu) {
  return cpu.architecture != "x86_64" || cpu.vendor == "GenuineIntel" || cpu.vendor == "AuthenticAMD" ||
         cpu.vendor == "CentaurHauls" || cpu.vendor == "  Shanghai  ";
}

Bandwidth interCpuRate(const CpuModel& cpu) {
  if (cpu.architecture == "ppc64") {
    return Bandwidth(32);
  }
  if (cpu.architecture == "x86_64" && cpu.vendor == "GenuineIntel") {
    if (cpu.family != 6 || cpu.model < 0x55) {
      return Bandwidth(6);
    }
    return Bandwidth(cpu.model >= 0xCF ? 40 : (cpu.model >= 0x8F ? 22 : 10));
  }
  if (cpu.architecture == "x86_64" && cpu.vendor == "AuthenticAMD") {
    return Bandwidth(16);
  }
  if (cpu.architecture == "x86_64" && (cpu.vendor == "CentaurHauls" || cpu.vendor == "  Shanghai  ")) {
    return Bandwidth(cpu.family == 7 && cpu.model == 0x5B ? 9 : 6);
  }
  return Bandwidth(6);
}

}  // namespace coppice::io
