// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "io/fx_builder.hpp"

namespace coppice::io::fx {

/// The fix where a text is cut off or was changed.
inline constexpr const char* kAsPrinted = "give the graph as torch prints it";

template <std::size_t Count>
bool isOneOf(const std::array<std::string_view, Count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Tensors by the names of torch's nodes; several where an operation makes several.
using Values = std::map<std::string, std::vector<Tensor>, std::less<>>;

/// The arguments of a call, as the operation wants them.
class Arguments {
public:
  Arguments(Builder& builder, const Values& values, const Call& call)
      : m_builder(builder), m_values(values), m_call(call) {}

  [[nodiscard]] const Value* argument(std::size_t place, std::string_view name = {}) const {
    if (place < m_call.arguments.size()) {
      return &m_call.arguments[place];
    }
    for (const auto& [key, value] : m_call.named) {
      if (key == name) {
        return &value;
      }
    }
    return nullptr;
  }
  [[nodiscard]] const Value& need(std::size_t place, std::string_view name = {}) const {
    const Value* found = argument(place, name);
    if (found == nullptr) {
      m_builder.refuse(m_call.target + " lacks an argument", kAsPrinted);
    }
    return *found;
  }
  [[nodiscard]] Tensor tensorOf(const Value& value) const {
    const auto found = value.kind == Value::Kind::name ? m_values.find(value.text) : m_values.end();
    if (found == m_values.end()) {
      m_builder.refuse(inQuotes(value.text) + " is not a tensor of an earlier line", kAsPrinted);
    }
    const auto part = static_cast<std::size_t>(value.part.value_or(0));
    if (part >= found->second.size()) {
      m_builder.refuse(inQuotes(value.text) + " has no part " + std::to_string(part), kAsPrinted);
    }
    return found->second[part];
  }
  [[nodiscard]] bool isTensor(const Value* value) const {
    return value != nullptr && value->kind == Value::Kind::name && m_values.contains(value->text);
  }
  [[nodiscard]] Tensor tensor(std::size_t place, std::string_view name = {}) const {
    return tensorOf(need(place, name));
  }
  [[nodiscard]] std::vector<Tensor> tensors(const Value& list) const {
    std::vector<Tensor> all;
    for (const Value& item : list.items) {
      all.push_back(tensorOf(item));
    }
    if (all.empty()) {
      m_builder.refuse(m_call.target + " of no tensors", kAsPrinted);
    }
    return all;
  }
  /// Of all arguments, also in lists.
  [[nodiscard]] std::vector<Tensor> allTensors() const {
    std::vector<Tensor> all;
    const auto take = [&](const auto& self, const Value& value) -> void {
      if (isTensor(&value)) {
        all.push_back(tensorOf(value));
      }
      for (const Value& item : value.items) {
        self(self, item);
      }
    };
    for (const Value& value : m_call.arguments) {
      take(take, value);
    }
    for (const auto& [name, value] : m_call.named) {
      take(take, value);
    }
    return all;
  }
  [[nodiscard]] std::int64_t integer(const Value& value) const {
    if (value.kind != Value::Kind::number) {
      m_builder.refuse(inQuotes(value.text) + " stands where a whole number belongs",
                       "trace the model with fixed sizes (dynamic=False)");
    }
    return value.number;
  }
  [[nodiscard]] std::vector<std::int64_t> integers(const Value& list) const {
    std::vector<std::int64_t> all;
    if (list.kind != Value::Kind::list) {
      return {integer(list)};
    }
    for (const Value& item : list.items) {
      all.push_back(integer(item));
    }
    return all;
  }
  [[nodiscard]] int place(std::int64_t number, std::size_t rank) const {
    const std::int64_t at = number < 0 ? number + static_cast<std::int64_t>(rank) : number;
    if (at < 0 || at >= static_cast<std::int64_t>(rank)) {
      m_builder.refuse("the tensor has no position " + std::to_string(number), kAsPrinted);
    }
    return static_cast<int>(at);
  }
  /// Positions that an argument lists, or all.
  [[nodiscard]] std::set<int> places(const Value* list, std::size_t rank) const {
    std::set<int> all;
    const bool isListed = list != nullptr && (list->kind == Value::Kind::number || !list->items.empty());
    for (const std::int64_t number : isListed ? integers(*list) : std::vector<std::int64_t>()) {
      all.insert(place(number, rank));
    }
    for (int i = 0; !isListed && i < static_cast<int>(rank); ++i) {
      all.insert(i);
    }
    return all;
  }
  [[nodiscard]] static bool isTrue(const Value* value) { return value != nullptr && value->text == "True"; }
  [[nodiscard]] int bitsOr(int bits) const { return m_call.type ? m_call.type->bits : bits; }

  static Labels run(int first, std::size_t count) {
    Labels labels(count);
    std::iota(labels.begin(), labels.end(), first);
    return labels;
  }

protected:
  Builder& m_builder;
  const Values& m_values;
  const Call& m_call;
};

/// What the call makes. Throws Failure. @param notes  of what is not counted, each once
[[nodiscard]] std::vector<Tensor> operationOf(Builder& builder, const Values& values, const Call& call,
                                              std::vector<std::string>& notes);
/// The same where the call is attention, as one operation, or its backward pass; otherwise nothing.
[[nodiscard]] std::vector<Tensor> attentionOf(Builder& builder, const Values& values, const Call& call);

}  // namespace coppice::io::fx
