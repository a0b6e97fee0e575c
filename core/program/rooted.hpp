// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "program/program.hpp"

/// What broadcast, reduce, gather and scatter need beside a right program, on every runtime.
namespace coppice::program {

/// Where the ranks of a program are.
enum class Reach {
  unknown,
  oneBox,       ///< no message leaves the box
  severalBoxes  ///< some messages go over the network
};

/// One rank gives or gets the whole.
[[nodiscard]] bool isRooted(const Program& program);

/// Broadcast and reduce in Simple: the host's proxy counts one FIFO step for each message and the kernel four (formats
/// note, 1.6), so a message over the network never completes. LL and LL128 count one on both sides.
[[nodiscard]] bool hangsOnNetwork(Collective collective, Protocol protocol);

/// "bcast.xml" -> "bcast-root3.xml"; unchanged where the name says it already, or where root is -1.
[[nodiscard]] std::string namedAfterRoot(std::string_view fileName, int root);

/// "no runtime compares the root …". @pre root >= 0
[[nodiscard]] std::string rootText(int root);

/// The warnings about the root (-1 = not known) and the protocol. Empty for collectives without a root.
/// @param fileName of the program, for the name that it should have; may be empty
[[nodiscard]] std::vector<Finding> rootedFindings(const Program& program, int root, Reach reach,
                                                  std::string_view fileName = {});

}  // namespace coppice::program
