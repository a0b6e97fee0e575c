// SPDX-License-Identifier: Apache-2.0
#include "lowering/protocol.hpp"

#include <string>

namespace coppice::lowering {

program::Reach reachOf(const fabric::Fabric& fabric) {
  const std::string* first = nullptr;
  bool allHaveOne = true;
  for (const fabric::NodeIndex gpu : fabric.gpus()) {
    const std::string& box = fabric.nodes()[gpu].box;
    if (box.empty()) {
      allHaveOne = false;
    } else if (first == nullptr) {
      first = &box;
    } else if (box != *first) {
      return program::Reach::severalBoxes;
    }
  }
  return allHaveOne || fabric.gpuCount() < 2 ? program::Reach::oneBox : program::Reach::unknown;
}

Result<program::Protocol> chooseProtocol(const fabric::Fabric& fabric, Collective collective,
                                         std::optional<program::Protocol> asked, program::Runtime runtime) {
  if (runtime == program::Runtime::mscclpp && asked == program::Protocol::ll128) {
    return Error{ErrorCode::badUsage, "MSCCL++ has no LL128", "use Simple or LL"};
  }
  const bool isNetworked = runtime != program::Runtime::mscclpp && reachOf(fabric) == program::Reach::severalBoxes;
  if (!asked) {
    const bool hangs = isNetworked && program::hangsOnNetwork(collective, program::Protocol::simple);
    return hangs ? program::Protocol::ll : program::Protocol::simple;
  }
  if (isNetworked && program::hangsOnNetwork(collective, *asked)) {
    return Error{ErrorCode::badUsage,
                 std::string(toString(collective)) +
                     " in Simple hangs between boxes on all runtimes: for a message over the network, the host counts "
                     "one step and the kernel four",
                 "use LL or LL128"};
  }
  return *asked;
}

}  // namespace coppice::lowering
