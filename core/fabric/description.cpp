// SPDX-License-Identifier: Apache-2.0
#include "fabric/description.hpp"

#include <new>
#include <utility>

#include "base/checked.hpp"
#include "fabric/inspection.hpp"

namespace coppice::fabric {

std::string_view toString(NodeKind kind) {
  switch (kind) {
    case NodeKind::gpu:
      return "gpu";
    case NodeKind::nic:
      return "nic";
    case NodeKind::switchNode:
      return "switch";
  }
  return "?";
}

std::optional<NodeKind> parseNodeKind(std::string_view text) {
  for (const NodeKind kind : {NodeKind::gpu, NodeKind::nic, NodeKind::switchNode}) {
    if (toString(kind) == text) {
      return kind;
    }
  }
  return std::nullopt;
}

std::vector<Finding> validate(const Description& description) {
  try {
    return std::move(detail::inspect(description, true).findings);
  } catch (const OverflowError& error) {
    return {{Severity::error, ErrorCode::overflow, error.what(), "use bandwidths with fewer digits"}};
  } catch (const std::bad_alloc&) {
    return {{Severity::error, ErrorCode::limit, "not enough memory for this fabric", "use a smaller fabric"}};
  }
}

}  // namespace coppice::fabric
