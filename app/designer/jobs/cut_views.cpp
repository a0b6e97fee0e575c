// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/jobs/cut_views.hpp"

#include <QCoreApplication>
#include <QStringList>
#include <set>

#include "base/checked.hpp"
#include "base/units.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct CutTexts {
  Q_DECLARE_TR_FUNCTIONS(Bound)
};

constexpr qsizetype kShown = 3;

/// @param names at least the first kShown + 1 of `count` names
QString joined(const QStringList& names, qsizetype count) {
  if (count <= 1) {
    return names.join(u", "_s);
  }
  if (count <= kShown + 1) {
    return names.mid(0, count - 1).join(u", "_s) + CutTexts::tr(" and ") + names.back();
  }
  return names.mid(0, kShown).join(u", "_s) + CutTexts::tr(" and %1 more").arg(count - kShown);
}

/// The parts whose nodes reach each other over links without a length, those with GPUs alone. Empty where there are
/// many, or one.
std::vector<std::vector<NodeId>> areasOf(const fabric::EditedFabric::Indexed& fabric, std::span<const fabric::Arc> arcs,
                                         const schedule::ExchangeLengths& lengths) {
  using Neighbours = std::vector<std::vector<fabric::NodeIndex>>;
  constexpr std::size_t kMaxAreas = 16;
  const std::size_t nodes = fabric.nodes.size();
  Neighbours after(nodes);
  Neighbours before(nodes);
  for (std::size_t at = 0; at < arcs.size(); ++at) {
    if (lengths[at] == 0) {
      after[arcs[at].tail].push_back(arcs[at].head);
      before[arcs[at].head].push_back(arcs[at].tail);
    }
  }
  const auto reached = [&](fabric::NodeIndex from, const Neighbours& next) {
    std::vector<bool> seen(nodes);
    seen[from] = true;
    std::vector<fabric::NodeIndex> open{from};
    while (!open.empty()) {
      const fabric::NodeIndex node = open.back();
      open.pop_back();
      for (const fabric::NodeIndex to : next[node]) {
        if (!seen[to]) {
          seen[to] = true;
          open.push_back(to);
        }
      }
    }
    return seen;
  };
  std::vector<std::vector<NodeId>> areas;
  std::vector<bool> isDone(nodes);
  for (const fabric::NodeIndex gpu : fabric.gpus) {
    if (isDone[gpu]) {
      continue;
    }
    if (areas.size() == kMaxAreas) {
      return {};
    }
    const std::vector<bool> follows = reached(gpu, after);
    const std::vector<bool> precedes = reached(gpu, before);
    std::vector<NodeId>& area = areas.emplace_back();
    for (std::size_t node = 0; node < nodes; ++node) {
      if (follows[node] && precedes[node]) {
        isDone[node] = true;
        area.push_back(NodeId{fabric.keys[node]});
      }
    }
  }
  return areas.size() > 1 ? areas : std::vector<std::vector<NodeId>>();
}

}  // namespace

CutViews::CutViews(const fabric::EditedFabric::Indexed& fabric, const fabric::BoxTree& boxes, CutTraffic traffic)
    : m_fabric(fabric), m_boxes(boxes), m_traffic(traffic), m_gpusIn(boxes.boxCount(), 0) {
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

  // Reductions and scatters run against the direction of allgather and gather: what counts for them enters S.
  const bool isInto = m_traffic != CutTraffic::shardsOut;
  for (const fabric::Arc& arc : m_fabric.arcs) {
    if (isIn[arc.tail] != isIn[arc.head] && isIn[arc.head] == isInto) {
      view.crossings.push_back({NodeId{m_fabric.keys[arc.tail]}, NodeId{m_fabric.keys[arc.head]}, arc.bandwidth});
    }
  }

  const QString width = gigabytes(cut.exitBandwidth);
  const QString through =
      view.crossings.size() == 1 ? CutTexts::tr(" through %1 of %2.") : CutTexts::tr(" through %1 of %2 in total.");
  const QString inside = sideName(isIn);
  const QString outside = sideName(isOut);
  // The smaller side is the one a person thinks of.
  const bool namesOutside = view.gpusOutside < view.gpusInside;
  const QString links =
      counted(static_cast<qsizetype>(view.crossings.size()), CutTexts::tr("link"), CutTexts::tr("links"));
  view.senders = counted(view.gpusInside, CutTexts::tr("GPU"), CutTexts::tr("GPUs"));
  view.place = namesOutside ? outside : inside;
  view.links = links;
  const QString gpus = counted(view.gpusInside, CutTexts::tr("GPU"), CutTexts::tr("GPUs"));
  const QString what =
      (m_traffic == CutTraffic::sumsIn ? CutTexts::tr("The sums of ") : CutTexts::tr("The shards of ")) + gpus;
  // What enters one side leaves the other.
  const bool namesInto = isInto != namesOutside;
  view.words = (namesInto ? CutTexts::tr("into %1") : CutTexts::tr("out of %1")).arg(view.place) + u" · "_s + gpus +
               u" · "_s + width;
  view.sentence = what + (namesInto ? CutTexts::tr(" must enter %1") : CutTexts::tr(" must leave %1")).arg(view.place) +
                  through.arg(links, width);
  return view;
}

CutView exchangeView(const fabric::EditedFabric::Indexed& fabric, std::span<const fabric::Arc> arcs,
                     const schedule::ExchangeLengths& lengths, const Bandwidth& bound) {
  CutView view;
  Bandwidth total;
  Bandwidth weighted;
  std::set<std::int64_t> kinds;
  bool isExact = true;
  for (std::size_t at = 0; at < arcs.size(); ++at) {
    const fabric::Arc& arc = arcs[at];
    if (lengths[at] == 0) {
      continue;
    }
    const Bandwidth bandwidth = arc.bandwidth;
    view.crossings.push_back({NodeId{fabric.keys[arc.tail]}, NodeId{fabric.keys[arc.head]}, bandwidth});
    kinds.insert(lengths[at]);
    try {
      total += bandwidth;
      weighted += bandwidth * Rational(lengths[at]);
    } catch (const OverflowError&) {
      isExact = false;
    }
  }
  try {
    const Rational distances = isExact ? weighted / bound : Rational(0);
    view.demand = distances.isInteger() ? distances.numerator() : 0;
  } catch (const OverflowError&) {
    view.demand = 0;
  }
  view.exitBandwidth = weighted;
  view.areas = areasOf(fabric, arcs, lengths);
  view.links = counted(static_cast<qsizetype>(view.crossings.size()), CutTexts::tr("link direction"),
                       CutTexts::tr("link directions"));
  const QString width = isExact ? u" · "_s + gigabytes(total) : QString();
  view.words = view.links + width;
  view.sentence = CutTexts::tr("All pairs of GPUs must share %1").arg(view.links) +
                  (isExact ? CutTexts::tr(" of %1 in total").arg(gigabytes(total)) : QString()) +
                  (kinds.size() > 1 ? CutTexts::tr("; some of them count more than others.") : u"."_s);
  return view;
}

CutView pricedLinksView(const fabric::EditedFabric::Indexed& fabric, std::span<const fabric::Arc> arcs,
                        const std::vector<Rational>& prices) {
  CutView view;
  schedule::ExchangeLengths counts(arcs.size(), 0);
  bool isExact = true;
  for (std::size_t at = 0; at < arcs.size(); ++at) {
    if (!prices[at].isPositive()) {
      continue;
    }
    const fabric::Arc& arc = arcs[at];
    counts[at] = 1;
    view.crossings.push_back({NodeId{fabric.keys[arc.tail]}, NodeId{fabric.keys[arc.head]}, arc.bandwidth});
    try {
      view.exitBandwidth += arc.bandwidth;
    } catch (const OverflowError&) {
      isExact = false;
    }
  }
  view.areas = areasOf(fabric, arcs, counts);
  view.links = counted(static_cast<qsizetype>(view.crossings.size()), CutTexts::tr("link direction"),
                       CutTexts::tr("link directions"));
  const QString width = isExact ? gigabytes(view.exitBandwidth) : QString();
  view.words = view.links + (isExact ? u" · "_s + width : QString());
  view.sentence = CutTexts::tr("Every allreduce by trees shares %1").arg(view.links) +
                  (isExact ? CutTexts::tr(" of %1 in total.").arg(width) : u"."_s);
  return view;
}

}  // namespace coppice::designer
