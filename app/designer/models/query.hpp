// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRegularExpression>
#include <QString>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/rational.hpp"
#include "designer/document/model.hpp"

namespace coppice::designer {

/// What a query may ask beside the model itself.
struct QueryContext {
  const Model& model;
  const std::set<ElementId>* selection = nullptr;
  /// One side of the cut that is shown, and the links across it.
  std::shared_ptr<const std::set<NodeId>> cutNodes = {};
  std::shared_ptr<const std::set<LinkId>> cutLinks = {};
  /// Names of their ends find links, too: wanted over a table of links, a nuisance on the canvas.
  bool wordsFindLinks = false;
};

/// A question about elements, as a person types it into Find and over the tables:
///
///     gpu 3                                  names that hold these words
///     bandwidth < 50                         links below 50 GB/s; units as in the fields (400Gb/s)
///     kind = nic and degree > 2
///     box = "box 3" and not selected
///     name ~ "leaf[0-9]+" or in cut
///
/// Fields: name, kind (gpu, nic, switch, link, box, note), box, from, to, bandwidth, degree, rank, count, latency,
/// gpus. Comparisons: = != < <= > >= and ~ (a regular expression); = on texts knows * and ?, and no case. `and` may be
/// left out. A comparison with a field that an element lacks is false.
class Query {
public:
  /// The empty text matches everything. Errors: badInput naming the place and what could be there.
  static Result<Query> parse(const QString& text);

  [[nodiscard]] bool isEmpty() const { return m_root == nullptr; }
  [[nodiscard]] bool matches(const QueryContext& context, const ElementId& id) const;
  /// All elements that match, nodes first, then boxes, links and notes, each by id.
  [[nodiscard]] std::vector<ElementId> hits(const QueryContext& context) const;

  enum class Field { name, kind, box, from, to, bandwidth, degree, rank, count, latency, gpus };
  enum class Comparison { equal, unequal, less, lessEqual, greater, greaterEqual, like };
  /// A node of the parsed expression; only the parts that its kind needs are set.
  struct Term {
    enum class Kind { all, any, negation, comparison, inCut, selected };
    Kind kind = Kind::all;
    std::vector<Term> parts = {};
    Field field = Field::name;
    Comparison comparison = Comparison::equal;
    std::optional<Rational> number = {};
    QRegularExpression pattern = {};
  };

private:
  std::shared_ptr<const Term> m_root;
};

}  // namespace coppice::designer
