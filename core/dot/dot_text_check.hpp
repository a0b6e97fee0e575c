// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace coppice::dot {

/// Looks at the words of a DOT text before libcgraph does, and refuses what would upset it: unclosed strings, comments
/// and HTML values (libcgraph's scanner would stay in them), zero bytes, bytes that are not UTF-8, deep nesting (it
/// recurses), and very many attribute names (it keeps a slot for each in every node and edge). Not a full parse.
/// Errors: badInput with line and column, limit.
Outcome checkDotText(std::string_view text, const std::string& fileName);

}  // namespace coppice::dot
