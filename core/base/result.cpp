// SPDX-License-Identifier: Apache-2.0
#include "base/result.hpp"

#include <algorithm>

namespace coppice {
namespace {

std::string describePlace(const Place& where) {
  std::string text = where.file;
  if (where.line > 0) {
    text += (text.empty() ? "line " : ":") + std::to_string(where.line);
    if (where.column > 0) {
      text += ":" + std::to_string(where.column);
    }
  }
  if (!where.element.empty()) {
    text += (text.empty() ? "" : ": ") + toText(where.element);
  }
  return text;
}

std::string join(const Place& where, const std::string& message, const std::string& fix) {
  std::string text = describePlace(where);
  text += (text.empty() ? "" : ": ") + message;
  if (!fix.empty()) {
    text += "; " + fix;
  }
  return text;
}

}  // namespace

std::string describe(const Error& error) {
  return join(error.where, error.message, error.fix);
}

std::string describe(const Finding& finding) {
  const char* word = finding.severity == Severity::error     ? "error: "
                     : finding.severity == Severity::warning ? "warning: "
                                                             : "note: ";
  return word + join(finding.where, finding.text, finding.fix);
}

bool hasErrors(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::error; });
}

}  // namespace coppice
