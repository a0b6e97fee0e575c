// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/analysis/cut_lens.hpp"

#include <QCoreApplication>
#include <QStringList>

#include "base/checked.hpp"
#include "base/units.hpp"
#include "designer/document/counted.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(CutLens)
};

/// What counts for the set runs into it, not out of it.
bool isIntoSet(Collective collective) {
  return collective == Collective::reduceScatter || collective == Collective::reduce ||
         collective == Collective::scatter;
}

bool isGpu(const Node& node) {
  return node.kind() == fabric::NodeKind::gpu;
}

QString line(const QString& name, const LensSide& side) {
  const QString width = QString::fromStdString(toDecimal(side.bandwidth)) + u" GB/s"_s;
  QString text = name + u' ' + counted(side.gpus, Texts::tr("GPU"), Texts::tr("GPUs")) + Texts::tr(" through ") + width;
  if (side.algbw) {
    text += u" → "_s + QString::fromStdString(toDecimal(*side.algbw)) + u" GB/s"_s;
    if (!side.algbw->gigabytesPerSecond().isInteger()) {
      text += u" = "_s + QString::fromStdString(toFraction(*side.algbw));
    }
  } else {
    text += Texts::tr(" → no limit");
  }
  return text;
}

}  // namespace

std::optional<CutLens> lensOf(const Model& model, const std::set<NodeId>& set, const Question& question) {
  try {
    CutLens lens;
    NodeId root = question.root;
    int gpus = 0;
    for (const auto& [id, node] : model.nodes()) {
      if (isGpu(node)) {
        // As the bound: the first GPU where the root is none.
        root = gpus == 0 && !(model.find(question.root) != nullptr && isGpu(*model.find(question.root))) ? id : root;
        ++gpus;
        ++(set.contains(id) ? lens.out : lens.in).gpus;
      }
    }
    if (lens.out.gpus == 0 || lens.in.gpus == 0) {
      return std::nullopt;
    }
    Bandwidth leaving;
    Bandwidth entering;
    for (const NodeId id : set) {
      if (!model.nodes().contains(id)) {
        return std::nullopt;
      }
      for (const LinkId at : model.linksOf(id)) {
        const Link& link = model.links()[at];
        const bool leaves = link.tail.node == id && link.head.node.isValid() && !set.contains(link.head.node);
        const bool enters = link.head.node == id && link.tail.node.isValid() && !set.contains(link.tail.node);
        if (!leaves && !enters) {
          continue;
        }
        const auto bandwidth = Bandwidth::parse(link.bandwidth);
        if (!bandwidth) {
          return std::nullopt;
        }
        const Bandwidth total = *bandwidth * Rational(link.count);
        if (leaves || link.duplex) {
          leaving += total;
        }
        if (enters || link.duplex) {
          entering += total;
        }
      }
    }
    if (question.collective == Collective::alltoall) {
      return std::nullopt;  // one cut alone says little: routes of all pairs share the links
    }
    const bool isReduction = isIntoSet(question.collective);
    const bool isFromOne = question.collective == Collective::broadcast || question.collective == Collective::reduce;
    const bool hasRoot = set.contains(root);
    lens.out.bandwidth = isReduction ? entering : leaving;
    lens.in.bandwidth = isReduction ? leaving : entering;
    if (movesShards(question.collective)) {
      // The root's own shard stays, and so do those that are on its side.
      lens.out.demand = hasRoot ? 0 : lens.out.gpus;
      lens.in.demand = hasRoot ? lens.in.gpus : 0;
    } else {
      lens.out.demand = isFromOne ? (hasRoot ? 1 : 0) : lens.out.gpus;
      lens.in.demand = isFromOne ? 1 - lens.out.demand : lens.in.gpus;
    }
    for (LensSide* side : {&lens.out, &lens.in}) {
      if (side->demand > 0) {
        side->algbw = Rational(isFromOne ? 1 : gpus) * side->bandwidth / Rational(side->demand);
      }
    }
    return lens;
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

QString lensText(const CutLens& lens, Collective collective) {
  if (collective == Collective::scatter) {
    return line(Texts::tr("In:"), lens.out) + u'\n' + line(Texts::tr("Out:"), lens.in);
  }
  const bool isReduction = isIntoSet(collective);
  return line(isReduction ? Texts::tr("Sums in:") : Texts::tr("Out:"), lens.out) + u'\n' +
         line(isReduction ? Texts::tr("Sums out:") : Texts::tr("In:"), lens.in) +
         (collective == Collective::allreduce ? u'\n' + Texts::tr("of the AllGather half") : QString());
}

}  // namespace coppice::designer
