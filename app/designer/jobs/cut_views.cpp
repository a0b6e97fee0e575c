// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/jobs/cut_views.hpp"

#include <QCoreApplication>
#include <QStringList>

#include "base/units.hpp"
#include "designer/document/counted.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(Bound)
};

QString gigabytes(const Rational& value) {
  return QString::fromStdString(toDecimal(value)) + u" GB/s"_s;
}

constexpr qsizetype kShown = 3;

/// @param names at least the first kShown + 1 of `count` names
QString joined(const QStringList& names, qsizetype count) {
  if (count <= 1) {
    return names.join(u", "_s);
  }
  if (count <= kShown + 1) {
    return names.mid(0, count - 1).join(u", "_s) + Texts::tr(" and ") + names.back();
  }
  return names.mid(0, kShown).join(u", "_s) + Texts::tr(" and %1 more").arg(count - kShown);
}

}  // namespace

CutViews::CutViews(const fabric::EditedFabric::Indexed& fabric, const fabric::BoxTree& boxes, bool isReduction)
    : m_fabric(fabric), m_boxes(boxes), m_isReduction(isReduction), m_gpusIn(boxes.boxCount(), 0) {
  for (const fabric::NodeIndex gpu : fabric.gpus) {
    for (const int box : boxes.around(gpu)) {
      ++m_gpusIn[box];
    }
  }
}

QString CutViews::sideName(const std::vector<bool>& isIn) const {
  std::vector<int> inside(m_boxes.boxCount(), 0);
  for (const fabric::NodeIndex gpu : m_fabric.gpus) {
    if (isIn[gpu]) {
      for (const int box : m_boxes.around(gpu)) {
        ++inside[box];
      }
    }
  }
  QStringList names;
  qsizetype count = 0;
  std::vector<bool> isNamed(m_boxes.boxCount(), false);
  const auto add = [&](const std::string& name) {
    if (count++ <= kShown) {
      names << QString::fromStdString(name);
    }
  };
  const auto addNode = [&](fabric::NodeIndex node) {
    for (const int box : m_boxes.around(node)) {
      if (m_gpusIn[box] > 0 && inside[box] == m_gpusIn[box]) {
        if (!isNamed[box]) {
          isNamed[box] = true;
          add(m_boxes.path(box));
        }
        return;
      }
    }
    add(m_fabric.nodes[node]->facts.id);
  };
  for (const fabric::NodeIndex gpu : m_fabric.gpus) {
    if (isIn[gpu]) {
      addNode(gpu);
    }
  }
  for (std::size_t node = 0; node < m_fabric.nodes.size(); ++node) {
    if (isIn[node] && m_fabric.ranks[node] < 0) {
      addNode(static_cast<fabric::NodeIndex>(node));
    }
  }
  return joined(names, count);
}

CutView CutViews::of(const schedule::Cut& cut) const {
  CutView view;
  std::vector<bool> isIn(m_fabric.nodes.size(), false);
  view.inside.reserve(cut.nodes.size());
  for (const fabric::NodeIndex node : cut.nodes) {
    isIn[node] = true;
    view.inside.push_back(NodeId{m_fabric.keys[node]});
  }
  std::vector<bool> isOut = isIn;
  isOut.flip();
  for (const fabric::NodeIndex gpu : m_fabric.gpus) {
    ++(isIn[gpu] ? view.gpusInside : view.gpusOutside);
  }
  view.demand = cut.demand;
  view.exitBandwidth = cut.exitBandwidth;

  // Reductions run against the direction of allgather: what counts for them enters S.
  for (const fabric::Arc& arc : m_fabric.arcs) {
    if (isIn[arc.tail] != isIn[arc.head] && isIn[arc.head] == m_isReduction) {
      view.crossings.push_back(
          {NodeId{m_fabric.keys[arc.tail]}, NodeId{m_fabric.keys[arc.head]}, arc.bandwidth.gigabytesPerSecond()});
    }
  }

  const QString width = gigabytes(cut.exitBandwidth);
  const QString through =
      view.crossings.size() == 1 ? Texts::tr(" through %1 of %2.") : Texts::tr(" through %1 of %2 in total.");
  const QString inside = sideName(isIn);
  const QString outside = sideName(isOut);
  // The smaller side is the one a person thinks of.
  const bool namesOutside = view.gpusOutside < view.gpusInside;
  const QString links = counted(static_cast<qsizetype>(view.crossings.size()), Texts::tr("link"), Texts::tr("links"));
  view.senders = counted(view.gpusInside, Texts::tr("GPU"), Texts::tr("GPUs"));
  view.place = namesOutside ? outside : inside;
  view.links = links;
  if (m_isReduction) {
    view.words = (namesOutside ? Texts::tr("out of %1").arg(outside) : Texts::tr("into %1").arg(inside)) + u" · "_s +
                 counted(view.gpusInside, Texts::tr("GPU"), Texts::tr("GPUs")) + u" · "_s + width;
    view.sentence =
        Texts::tr("The sums of ") + counted(view.gpusInside, Texts::tr("GPU"), Texts::tr("GPUs")) +
        (namesOutside ? Texts::tr(" must leave %1").arg(outside) : Texts::tr(" must enter %1").arg(inside)) +
        through.arg(links, width);
  } else {
    view.words = (namesOutside ? Texts::tr("into %1").arg(outside) : Texts::tr("out of %1").arg(inside)) + u" · "_s +
                 counted(view.gpusInside, Texts::tr("GPU"), Texts::tr("GPUs")) + u" · "_s + width;
    view.sentence =
        Texts::tr("The shards of ") + counted(view.gpusInside, Texts::tr("GPU"), Texts::tr("GPUs")) +
        (namesOutside ? Texts::tr(" must enter %1").arg(outside) : Texts::tr(" must leave %1").arg(inside)) +
        through.arg(links, width);
  }
  return view;
}

}  // namespace coppice::designer
