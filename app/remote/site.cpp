// SPDX-License-Identifier: Apache-2.0
#include "remote/site.hpp"

#include "base/text.hpp"

namespace coppice::remote {

Error systemFault(const std::string& machine, const Facts& system, const ProgramNeeds& needs) {
  const std::string name = fact(system, "system");
  const std::string architecture = fact(system, "architecture");
  if (name.empty()) {
    return {ErrorCode::unavailable, machine + " does not run scripts: /bin/sh returned nothing",
            "check that its login allows commands: ssh " + machine + " uname"};
  }
  if (name != "Linux" || architecture != needs.architecture) {
    return {ErrorCode::unavailable,
            machine + " runs " + inQuotes(name + " " + architecture) + "; the executor here is built for Linux " +
                needs.architecture,
            "build coppice-exec there and use a launch bundle"};
  }
  return {};
}

Error libcFault(const std::string& machine, const Facts& system, const ProgramNeeds& needs) {
  const std::string libc = fact(system, "libc");
  if (needs.libc.empty()) {
    return {};
  }
  if (libc.find("glibc") == std::string::npos && libc.find("GLIBC") == std::string::npos &&
      libc.find("GNU libc") == std::string::npos) {
    return {ErrorCode::unavailable, machine + " has no GNU C library; it reports " + inQuotes(libc),
            "build coppice-exec on that machine"};
  }
  if (isOlder(libc.substr(libc.rfind(' ') + 1), needs.libc)) {
    return {ErrorCode::unavailable,
            "the C library of " + machine + " is " + inQuotes(libc) + "; the executor needs " + needs.libc,
            "build coppice-exec on a system as old as that machine"};
  }
  return {};
}

}  // namespace coppice::remote
