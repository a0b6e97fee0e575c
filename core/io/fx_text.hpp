// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

/// The text of graphs of torch.fx, as torch prints them.
namespace coppice::io::fx {

struct TensorType {
  std::vector<std::int64_t> sizes;
  int bits = 16;  ///< of an element
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// An argument of a call.
struct Value {
  enum class Kind { name, number, word, list };
  Kind kind = Kind::word;
  std::string text = {};          ///< of a name, or what stands there
  std::int64_t number = 0;        ///< whole numbers
  std::vector<Value> items = {};  ///< of a list or a tuple
  std::optional<int> part = {};   ///< of a name: the place in what it has several of
};

struct Call {
  enum class Kind { placeholder, function, output };
  Kind kind = Kind::function;
  std::string name;
  std::string target = {};  ///< "mm" of torch.ops.aten.mm.default, and so on
  std::vector<Value> arguments = {};
  std::vector<std::pair<std::string, Value>> named = {};
  std::optional<TensorType> type = {};
  int line = 0;
  int graph = 0;  ///< of several in one text, forward and backward
};

/// Reads what print_readable() and TORCH_LOGS=aot_graphs write, and the plain form of str(graph), whose tensors have
/// no sizes: lines such as "# primals_1: bf16[1024, 2048]" beside it say them, for what is read from outside. Prefixes
/// of logs and comments do not matter. Errors: badInput with the line.
[[nodiscard]] Result<std::vector<Call>> readCalls(std::string_view text, const std::string& fileName);

/// Whether a text looks like such a graph, to tell it from JSON.
[[nodiscard]] bool isFxText(std::string_view text);

}  // namespace coppice::io::fx
