// SPDX-License-Identifier: Apache-2.0
#include "program/rooted.hpp"

namespace coppice::program {

bool isRooted(const Program& program) {
  if (!program.collectiveText.empty()) {
    return program.collectiveText == "gather" || program.collectiveText == "scatter";
  }
  return program.collective == Collective::broadcast || program.collective == Collective::reduce;
}

bool hangsOnNetwork(Collective collective, Protocol protocol) {
  return protocol == Protocol::simple && (collective == Collective::broadcast || collective == Collective::reduce);
}

std::string namedAfterRoot(std::string_view fileName, int root) {
  std::string name(fileName);
  const std::string tail = "-root" + std::to_string(root);
  const std::size_t slash = name.rfind('/');
  const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
  const std::size_t dot = name.rfind('.');
  const std::size_t end = dot == std::string::npos || dot <= start ? name.size() : dot;
  const bool saysIt = end >= start + tail.size() && name.compare(end - tail.size(), tail.size(), tail) == 0;
  return root < 0 || saysIt ? name : name.insert(end, tail);
}

std::string rootText(int root) {
  return "no runtime compares the root: a call with another root than rank " + std::to_string(root) +
         " also runs this program, and its data is wrong";
}

std::vector<Finding> rootedFindings(const Program& program, int root, Reach reach, std::string_view fileName) {
  std::vector<Finding> findings;
  if (!isRooted(program)) {
    return findings;
  }
  const std::string calls = std::string(collectiveName(program)) + " calls";
  if (root >= 0) {
    const std::string_view last = fileName.substr(fileName.rfind('/') + 1);
    const std::string now(last.ends_with(".xml") ? last : "name.xml");
    const std::string wanted = namedAfterRoot(now, root);
    findings.push_back({.severity = Severity::warning,
                        .code = ErrorCode::verification,
                        .text = rootText(root),
                        .fix = "load it only in jobs whose " + calls + " all have root " + std::to_string(root) +
                               (wanted == now ? "" : ", and keep the root in the file's name, for example " + wanted)});
  }
  if (reach != Reach::oneBox && program.collectiveText.empty() &&
      hangsOnNetwork(program.collective, program.protocol)) {
    findings.push_back(
        {.severity = Severity::warning,
         .code = ErrorCode::verification,
         .text = std::string(toString(program.collective)) +
                 " in Simple hangs on all runtimes where a message goes over the network: the host counts one step "
                 "for it and the kernel four",
         .fix = "use LL or LL128 between boxes; inside one box, Simple is right"});
  }
  return findings;
}

}  // namespace coppice::program
