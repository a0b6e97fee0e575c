// SPDX-License-Identifier: Apache-2.0
#include "nccl/search_speeds.hpp"

#include <initializer_list>

#include "base/failure.hpp"

namespace coppice::nccl {

std::vector<Rational> searchSpeeds(int computeCapability, bool isAlone) {
  const auto list = [](std::initializer_list<const char*> texts) {
    std::vector<Rational> speeds;
    for (const char* text : texts) {
      speeds.push_back(orThrow(Rational::parse(text)));
    }
    return speeds;
  };
  if (computeCapability >= 100) {
    return isAlone ? list({"90", "80", "70", "60", "50", "45", "40", "30", "24", "20", "19", "18"})
                   : list({"96", "48", "45.1", "42", "40", "30", "24", "22", "20", "17.5", "15", "12", "6", "3", "2.4",
                           "1.2", "0.24", "0.12"});
  }
  if (computeCapability >= 90) {
    return isAlone ? list({"60", "50", "40", "30", "24", "20", "15", "12", "11", "6", "3"})
                   : list({"48", "45", "42", "40", "30", "24", "22", "20", "17.5", "15", "12", "6", "3", "2.4", "1.2",
                           "0.24", "0.12"});
  }
  return isAlone ? list({"40", "30", "20", "18", "15", "12", "10", "9", "7", "6", "5", "4", "3"})
                 : list({"48", "30", "28", "24", "20", "18", "15", "12", "10", "9", "7", "6", "5", "4", "3", "2.4",
                         "1.2", "0.24", "0.12"});
}

}  // namespace coppice::nccl
