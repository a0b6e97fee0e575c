// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/element_ref.hpp"

namespace coppice {

/// What went wrong, for code to branch on. Texts are for people and may change.
enum class ErrorCode {
  badUsage,       ///< the caller asked for something that does not exist (unknown preset, bad option)
  badInput,       ///< a file or text that does not follow its format
  invalidFabric,  ///< the fabric breaks a rule (see fabric::validate)
  infeasible,     ///< the mathematics says no: unreachable GPUs, nothing to send
  unbalanced,     ///< ingress and egress differ at a switch and no exact answer is known
  overflow,       ///< a number left the range in which the result is proven exact
  cancelled,      ///< the caller asked to stop; neither failure nor success
  limit,          ///< a limit of the target (threadblocks, steps, channels, memory) is exceeded
  verification,   ///< an independent check rejected a result
  io,             ///< a file or process could not be read, written or started
  unavailable,    ///< an optional part (Z3, Graphviz helper) is not built or not installed
  internal        ///< a broken invariant of our own
};

/// Where in the input: a file with line and column, or an element (node, link, rank, tree).
struct Place {
  std::string file = {};
  int line = 0;    ///< 1-based; 0 = unknown
  int column = 0;  ///< 1-based; 0 = unknown
  ElementRef element = {};

  friend bool operator==(const Place&, const Place&) = default;
};

/// One failure: what happened (for a person), how to fix it, and where.
struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;
  std::string fix = {};
  Place where = {};
};

/// "file:3:7: message; fix" on one line, leaving out what is empty.
std::string describe(const Error& error);

/// Value or Error, as std::expected (absent in C++20).
template <typename T>
class [[nodiscard]] Result {
public:
  Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : m_state(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool hasValue() const { return m_state.index() == 0; }
  explicit operator bool() const { return hasValue(); }

  /// @pre hasValue()
  [[nodiscard]] T& value() & { return std::get<0>(m_state); }
  [[nodiscard]] const T& value() const& { return std::get<0>(m_state); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(m_state)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// @pre !hasValue()
  [[nodiscard]] const Error& error() const { return std::get<1>(m_state); }

private:
  std::variant<T, Error> m_state;
};

/// Result of an action that returns nothing.
struct Done {};
using Outcome = Result<Done>;

enum class Severity { note, warning, error };

/// One of many findings (validation, import, verifier).
struct Finding {
  Severity severity = Severity::error;
  ErrorCode code = ErrorCode::badInput;
  std::string text;
  std::string fix = {};
  Place where = {};
};

/// "error: where: text; fix" on one line.
std::string describe(const Finding& finding);

[[nodiscard]] bool hasErrors(const std::vector<Finding>& findings);

}  // namespace coppice
