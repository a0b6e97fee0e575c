// SPDX-License-Identifier: Apache-2.0
#include "unwrap.hpp"

#include <algorithm>

#include "base/error_names.hpp"

namespace coppice::python {
namespace {

/// "file:3:7" or the element, whichever there is.
std::string whereOf(const Place& place) {
  const Error only{ErrorCode::internal, {}, {}, place};
  const std::string text = describe(only);
  return text.substr(0, text.rfind(": "));
}

/// Options are arguments here: --max-height is max_height.
Error inPython(Error error) {
  if (const ElementPart* option = error.where.element.as(RefKind::option)) {
    std::string name = option->name;
    name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
    std::replace(name.begin(), name.end(), '-', '_');
    error.where.element = ElementRef(RefKind::field, std::move(name));
  }
  return error;
}

}  // namespace

py::object fraction(const Rational& value) {
  static const py::handle type = py::object(py::module_::import("fractions").attr("Fraction")).release();
  return type(value.numerator(), value.denominator());
}

void raise(const Error& given) {
  const Error error = inPython(given);
  const py::object type = py::module_::import("coppice.errors").attr("Error");
  const py::object value = type(error.message, error.fix, nameOf(error.code), whereOf(error.where), describe(error));
  PyErr_SetObject(type.ptr(), value.ptr());
  throw py::error_already_set();
}

py::list findingsOf(const std::vector<Finding>& findings) {
  py::list list;
  for (const Finding& finding : findings) {
    py::dict entry;
    entry["severity"] = finding.severity == Severity::error     ? "error"
                        : finding.severity == Severity::warning ? "warning"
                                                                : "note";
    entry["text"] = finding.text;
    entry["fix"] = finding.fix;
    entry["where"] = whereOf(finding.where);
    list.append(std::move(entry));
  }
  return list;
}

void Waiting::tell(const py::object& listener) {
  if (PyErr_CheckSignals() != 0) {
    throw py::error_already_set();
  }
  if (listener.is_none()) {
    return;
  }
  std::string stage;
  double fraction = 0;
  {
    const std::lock_guard lock(m_mutex);
    stage = m_stage;
    fraction = m_fraction;
  }
  if (!stage.empty()) {
    listener(stage, fraction);
  }
}

workflow::ConcurrentText groupsText(const std::string& groups, const std::string& mesh, const std::string& axes,
                                    const std::string& collective, bool relay) {
  return {.file = groups.empty() ? "" : "-",
          .ranks = {},
          .mesh = mesh,
          .axes = axes,
          .demand = {.collective = collective},
          .relay = relay,
          .standardInput = [&groups](std::size_t) -> Result<std::string> { return groups; }};
}

}  // namespace coppice::python
