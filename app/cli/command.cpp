// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

namespace coppice::cli {

Exit exitFor(ErrorCode code) {
  switch (code) {
    case ErrorCode::infeasible:
    case ErrorCode::unbalanced:
    case ErrorCode::limit:
    case ErrorCode::verification:
      return Exit::negative;
    case ErrorCode::cancelled:
      return Exit::interrupted;
    case ErrorCode::badUsage:
    case ErrorCode::badInput:
    case ErrorCode::invalidFabric:
    case ErrorCode::overflow:
    case ErrorCode::io:
    case ErrorCode::unavailable:
    case ErrorCode::internal:
      break;
  }
  return Exit::badUsage;
}

CLI::App& addSubcommand(CLI::App& app, Invocation& invocation, const std::string& name, const std::string& description,
                        const std::string& examples) {
  CLI::App* sub = app.add_subcommand(name, description);
  sub->add_flag("--json", invocation.json, "Print one JSON object instead of text");
  sub->add_option("--memory-limit", invocation.memoryLimit,
                  "Abort when memory use exceeds this, for example 4G; default: the free memory");
  sub->footer("Examples:\n" + examples);
  return *sub;
}

}  // namespace coppice::cli
