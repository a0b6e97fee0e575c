// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coppice {

/// What kind of thing a message is about.
enum class RefKind : std::uint8_t {
  field,        ///< a value or part known by its name or path: `nodes[3].kind`, `schedule`
  key,          ///< a key of a file that people write, shown in quotes
  option,       ///< of a command, with its dashes: `--nodes`
  parameter,    ///< of a preset
  device,       ///< of a machine: a GPU, a NIC, a PCI address
  node,         ///< of a fabric
  link,         ///< of a fabric, by its two ends
  rank,         ///< a GPU by its number
  threadblock,  ///< of a program
  step,         ///< of a threadblock, a tree or a schedule in steps
  root,         ///< the GPU whose data a tree carries
  tree,         ///< of a forest; its name is that of its root
  edge,         ///< of a tree, by its two GPUs
  route,        ///< of a schedule in steps
  transfer,     ///< of a schedule in steps
  shard,        ///< of a collective's data
  cut,          ///< that proves a bound
  chunk,        ///< of a plan
  message,      ///< of a plan
  symmetry,     ///< a permutation of the nodes
  arc           ///< of a linear program
};

/// "threadblock", "link": the name in JSON.
[[nodiscard]] std::string_view toString(RefKind kind);
[[nodiscard]] std::optional<RefKind> refKindNamed(std::string_view name);

/// One thing, by its number in the list that the kind stands for, or by its name, or by both.
struct ElementPart {
  RefKind kind = RefKind::field;
  std::int64_t index = -1;  ///< from 0; -1 = it has no number here
  std::string name = {};    ///< as in the input, without quotes; of a link or an edge, where it begins
  std::string head = {};    ///< of a link or an edge, where it ends

  friend bool operator==(const ElementPart&, const ElementPart&) = default;
};

/// What a message is about, for code to follow: from the outermost thing to the innermost, as `rank 2, threadblock 0,
/// step 5`. People read toText(); no code reads that text.
class ElementRef {
public:
  ElementRef() = default;
  ElementRef(ElementPart part) { m_parts.push_back(std::move(part)); }  // NOLINT(google-explicit-constructor)
  ElementRef(RefKind kind, std::integral auto index)
      : ElementRef(ElementPart{kind, static_cast<std::int64_t>(index)}) {}
  ElementRef(RefKind kind, std::string name, std::int64_t index = -1)
      : ElementRef(ElementPart{kind, index, std::move(name)}) {}

  /// This thing, and inside it the other.
  [[nodiscard]] ElementRef with(const ElementRef& inner) const;

  [[nodiscard]] bool empty() const { return m_parts.empty(); }
  [[nodiscard]] const std::vector<ElementPart>& parts() const { return m_parts; }
  /// The innermost part, if it is of this kind; else nullptr.
  [[nodiscard]] const ElementPart* as(RefKind kind) const;

  friend bool operator==(const ElementRef&, const ElementRef&) = default;

private:
  std::vector<ElementPart> m_parts;
};

/// `node "g0"`, `link 3 "a" -> "b"`, `rank 2, threadblock 0, step 5`, `tree 3 (root "g0")`; empty for nothing.
[[nodiscard]] std::string toText(const ElementRef& element);

}  // namespace coppice
