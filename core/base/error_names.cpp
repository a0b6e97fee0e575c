// SPDX-License-Identifier: Apache-2.0
#include "base/error_names.hpp"

namespace coppice {

std::string_view nameOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::badUsage:
      return "bad_usage";
    case ErrorCode::badInput:
      return "bad_input";
    case ErrorCode::invalidFabric:
      return "invalid_fabric";
    case ErrorCode::infeasible:
      return "infeasible";
    case ErrorCode::unbalanced:
      return "unbalanced";
    case ErrorCode::overflow:
      return "overflow";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::limit:
      return "limit";
    case ErrorCode::verification:
      return "verification";
    case ErrorCode::io:
      return "io";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

}  // namespace coppice
