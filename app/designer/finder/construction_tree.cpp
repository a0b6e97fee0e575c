// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/finder/construction_tree.hpp"

#include <QHeaderView>
#include <QStandardItemModel>
#include <QStringList>

#include "designer/theme/fonts.hpp"
#include "finder/drawn.hpp"
#include "topology/distance_regular.hpp"
#include "topology/families.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

using finder::Construction;
using finder::Operation;

QString named(const Construction& construction) {
  return QString::fromStdString(finder::nameOf(construction));
}

QString cayleyTitle(const Construction& construction) {
  const int m = construction.numbers[0];
  const int n = construction.numbers[1];
  const int r = construction.numbers[2];
  QStringList generators;
  for (const topology::Element& s : finder::generatorsOf(construction)) {
    generators << (n == 1 ? QString::number(s.a) : u"(%1,%2)"_s.arg(s.a).arg(s.b));
  }
  const QString list = generators.join(u", "_s);
  if (n == 1) {
    return ConstructionTree::tr("Circulant of %1: jumps %2").arg(m).arg(list);
  }
  if (r == 1) {
    return ConstructionTree::tr("Cayley graph Z_%1 x Z_%2: %3").arg(m).arg(n).arg(list);
  }
  return ConstructionTree::tr("Cayley graph M(%1,%2,%3): %4").arg(m).arg(n).arg(r).arg(list);
}

QString distanceRegularTitle(const std::string& name) {
  for (const auto& entry : topology::distanceRegularGraphs()) {
    if (entry.name == name) {
      return ConstructionTree::tr("Distance-regular: %1").arg(QString::fromStdString(entry.title));
    }
  }
  return QString::fromStdString(name);
}

QString baseTitle(const Construction& construction) {
  const auto number = [&](std::size_t at) { return construction.numbers[at]; };
  switch (construction.operation) {
    case Operation::complete:
      return ConstructionTree::tr("Complete graph of %1").arg(number(0));
    case Operation::multiComplete:
      return ConstructionTree::tr("Complete graph of %1 with parallel links").arg(number(1));
    case Operation::completeBipartite:
      return ConstructionTree::tr("Complete bipartite graph of %1 and %1").arg(number(0));
    case Operation::directedCirculant:
      return ConstructionTree::tr("One-way circulant of %1: jumps 1 to %2").arg(number(0) + 2).arg(number(0));
    case Operation::uniRing:
      return number(0) == 1
                 ? ConstructionTree::tr("One-way ring of %1").arg(number(1))
                 : ConstructionTree::tr("One-way ring of %1, %2 parallel links").arg(number(1)).arg(number(0));
    case Operation::biRing:
      return number(0) == 2 ? ConstructionTree::tr("Ring of %1").arg(number(1))
                            : ConstructionTree::tr("Ring of %1, %2 parallel links").arg(number(1)).arg(number(0) / 2);
    case Operation::denseCirculant: {
      const int m = topology::denseCirculantSteps(number(0));
      const QString text = ConstructionTree::tr("Circulant of %1: jumps %2, %3").arg(number(0)).arg(m).arg(m + 1);
      return number(1) > 1 ? ConstructionTree::tr("%1, %2 parallel links").arg(text).arg(number(1)) : text;
    }
    case Operation::kautz:
      return ConstructionTree::tr("Generalized Kautz graph of %1").arg(number(1));
    case Operation::deBruijn:
      return ConstructionTree::tr("De Bruijn graph: words of %1 over %2 symbols").arg(number(1)).arg(number(0));
    case Operation::cayley:
      return cayleyTitle(construction);
    case Operation::distanceRegular:
      return distanceRegularTitle(construction.label);
    default:
      return named(construction);
  }
}

void fill(QStandardItem* parent, const Construction& construction) {
  auto* title = new QStandardItem(operationTitle(construction));
  title->setToolTip(title->text() + u'\n' + named(construction));
  const ConstructionSize size = sizeOf(construction);
  auto* numbers = new QStandardItem(u"%1 × %2"_s.arg(size.nodes).arg(size.degree));
  numbers->setToolTip(ConstructionTree::tr("%1 GPUs with %2 ports each").arg(size.nodes).arg(size.degree));
  constexpr double kPixels = 12;
  numbers->setFont(figureFont(kPixels));
  numbers->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  for (QStandardItem* item : {title, numbers}) {
    item->setEditable(false);
  }
  parent->appendRow({title, numbers});
  for (const finder::ConstructionPtr& part : construction.parts) {
    fill(title, *part);
  }
}

}  // namespace

QString operationTitle(const Construction& construction) {
  const int number = construction.numbers.empty() ? 0 : construction.numbers[0];
  switch (construction.operation) {
    case Operation::lineGraph:
      return number == 1   ? ConstructionTree::tr("Line graph of")
             : number == 2 ? ConstructionTree::tr("Line graph, twice, of")
                           : ConstructionTree::tr("Line graph, %1 times, of").arg(number);
    case Operation::degreeExpansion:
      return ConstructionTree::tr("Degree expansion, %1 copies of each GPU, of").arg(number);
    case Operation::power:
      return ConstructionTree::tr("Product of %1 copies of").arg(number);
    case Operation::product:
      return ConstructionTree::tr("Product of");
    case Operation::duplex:
      return ConstructionTree::tr("Links of both directions of");
    default:
      return baseTitle(construction);
  }
}

ConstructionSize sizeOf(const Construction& construction) {
  const auto number = [&](std::size_t at) { return std::int64_t{construction.numbers[at]}; };
  const auto power = [](std::int64_t base, std::int64_t exponent) {
    std::int64_t result = 1;
    for (std::int64_t i = 0; i < exponent; ++i) {
      result *= base;
    }
    return result;
  };
  const auto part = [&](std::size_t at) { return sizeOf(*construction.parts[at]); };
  switch (construction.operation) {
    case Operation::complete:
      return {number(0), number(0) - 1};
    case Operation::multiComplete:
    case Operation::uniRing:
    case Operation::biRing:
    case Operation::kautz:
      return {number(1), number(0)};
    case Operation::completeBipartite:
      return {2 * number(0), number(0)};
    case Operation::directedCirculant:
      return {number(0) + 2, number(0)};
    case Operation::denseCirculant:
      return {number(0), 4 * number(1)};
    case Operation::deBruijn:
      return {power(number(0), number(1)), number(0)};
    case Operation::cayley:
      return {number(0) * number(1), static_cast<std::int64_t>(finder::generatorsOf(construction).size())};
    case Operation::distanceRegular:
      for (const auto& entry : topology::distanceRegularGraphs()) {
        if (entry.name == construction.label) {
          return {entry.nodes, entry.degree};
        }
      }
      return {};
    case Operation::quoted:
      for (const finder::Drawn& drawn : finder::drawnGraphs()) {
        if (drawn.name == construction.label) {
          return {drawn.nodes, drawn.degree};
        }
      }
      return {};
    case Operation::lineGraph:
      return {part(0).nodes * power(part(0).degree, number(0)), part(0).degree};
    case Operation::degreeExpansion:
      return {part(0).nodes * number(0), part(0).degree * number(0)};
    case Operation::power:
      return {power(part(0).nodes, number(0)), part(0).degree * number(0)};
    case Operation::product:
      return {part(0).nodes * part(1).nodes, part(0).degree + part(1).degree};
    case Operation::duplex:
      return {part(0).nodes, 2 * part(0).degree};
  }
  return {};
}

ConstructionTree::ConstructionTree(QWidget* parent) : QTreeView(parent), m_items(new QStandardItemModel(0, 2, this)) {
  setObjectName(u"finderTree"_s);
  setAccessibleName(tr("Construction, as a tree of operations"));
  setModel(m_items);
  setHeaderHidden(true);
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setFrameShape(QFrame::NoFrame);
  setUniformRowHeights(true);
  constexpr int kIndent = 16;
  setIndentation(kIndent);
  header()->setStretchLastSection(false);
  header()->setSectionResizeMode(0, QHeaderView::Stretch);
  header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
}

void ConstructionTree::setConstruction(const finder::ConstructionPtr& construction) {
  m_items->removeRows(0, m_items->rowCount());
  if (construction) {
    fill(m_items->invisibleRootItem(), *construction);
    expandAll();
  }
}

}  // namespace coppice::designer
