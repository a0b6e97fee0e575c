// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/stacks.hpp"

#include <QCoreApplication>
#include <QRegularExpression>
#include <algorithm>
#include <map>
#include <string>

#include "base/checked.hpp"

namespace coppice::designer {
namespace {

/// What a box holds and where its links lead, with its nodes by their place in it. Boxes with the same text are equal.
std::string contentsOf(const Model& model, BoxId box) {
  const std::vector<NodeId> nodes = model.allNodesIn(box);
  std::unordered_map<NodeId, std::size_t> placeOf;
  std::string result = model.find(box)->type;
  for (const NodeId id : nodes) {
    placeOf[id] = placeOf.size();
    const NodeFacts& facts = model.find(id)->facts;
    result += '\n' + facts.kind + (facts.multicast ? " copies" : "") + (facts.aggregation ? " sums" : "");
  }
  const auto end = [&](const LinkEnd& at) {
    const auto found = placeOf.find(at.node);
    return found != placeOf.end() ? std::to_string(found->second)
                                  : "to " + (at.node.isValid() ? std::to_string(at.node.value) : at.missing);
  };
  std::vector<std::string> links;
  for (const NodeId id : nodes) {
    for (const LinkId linkId : model.linksOf(id)) {
      const Link& link = *model.find(linkId);
      if (link.tail.node != id && placeOf.contains(link.tail.node)) {
        continue;  // seen from its tail
      }
      links.push_back(end(link.tail) + (link.duplex ? "=" : ">") + end(link.head) + " " + std::to_string(link.count) +
                      "x" + link.bandwidth + " " + link.latency.value_or(""));
    }
  }
  std::sort(links.begin(), links.end());
  for (const std::string& link : links) {
    result += '\n' + link;
  }
  return result;
}

/// "DGX A100" of a fabric named "128x DGX A100" that has this many outermost boxes.
QString machineOf(const Model& model) {
  static const QRegularExpression pattern(QStringLiteral("^(\\d+)x ([^,;]+)$"));
  const QRegularExpressionMatch match = pattern.match(QString::fromStdString(model.header().name));
  return match.hasMatch() && match.captured(1).toULongLong() == model.boxesIn({}).size() ? match.captured(2)
                                                                                         : QString();
}

/// Those of many boxes that are drawn together; none where that would leave many shapes.
std::vector<std::vector<BoxId>> stacksOf(const Model& model, std::span<const BoxId> boxes) {
  if (boxes.size() <= kMaxBoxesApart) {
    return {};
  }
  std::vector<std::vector<BoxId>> groups = equalBoxes(model, boxes);
  if (groups.size() > kMaxBoxesApart) {
    return {};
  }
  std::erase_if(groups, [](const std::vector<BoxId>& group) { return group.size() < 2; });
  return groups;
}

}  // namespace

std::vector<std::vector<BoxId>> equalBoxes(const Model& model, std::span<const BoxId> boxes) {
  std::vector<std::vector<BoxId>> result;
  std::map<std::string, std::size_t> groupOf;
  for (const BoxId box : boxes) {
    const auto [found, isNew] = groupOf.try_emplace(contentsOf(model, box), result.size());
    if (isNew) {
      result.emplace_back();
    }
    result[found->second].push_back(box);
  }
  return result;
}

std::vector<BoxId> stackableBoxes(const Model& model) {
  std::vector<BoxId> result;
  for (const std::vector<BoxId>& stack : stacksOf(model, model.boxesIn({}))) {
    result.insert(result.end(), stack.begin(), stack.end());
  }
  return result;
}

Stacks::Stacks(const Model& model) {
  collect(model, {});
}

void Stacks::collect(const Model& model, BoxId parent) {
  std::vector<BoxId> folded;
  for (const BoxId box : model.boxesIn(parent)) {
    if (model.find(box)->isFolded) {
      folded.push_back(box);
    } else {
      collect(model, box);
    }
  }
  for (std::vector<BoxId>& stack : stacksOf(model, folded)) {
    for (const BoxId box : stack) {
      m_stackOf[box] = m_stacks.size();
    }
    m_stacks.push_back(std::move(stack));
  }
}

std::span<const BoxId> Stacks::with(BoxId box) const {
  const auto found = m_stackOf.find(box);
  return found != m_stackOf.end() ? std::span<const BoxId>(m_stacks[found->second]) : std::span<const BoxId>();
}

ElementId Stacks::shapeOf(const ElementId& id) const {
  const std::span<const BoxId> boxes = with(id.box());
  return boxes.empty() ? id : ElementId(boxes.front());
}

QString countedNodes(const Model& model, std::span<const NodeId> nodes) {
  int gpus = 0;
  for (const NodeId id : nodes) {
    gpus += model.find(id)->kind() == fabric::NodeKind::gpu ? 1 : 0;
  }
  if (gpus == 0) {
    return nodes.empty() ? QString()
                         : QCoreApplication::translate("Canvas", "%n node(s)", nullptr, static_cast<int>(nodes.size()));
  }
  return gpus == 1 ? QCoreApplication::translate("Canvas", "1 GPU")
                   : QCoreApplication::translate("Canvas", "%1 GPUs").arg(gpus);
}

QString stackTitle(const Model& model, std::span<const BoxId> boxes) {
  const auto nameOf = [&](BoxId box) { return QString::fromStdString(model.find(box)->name); };
  QString kind = QString::fromStdString(model.find(boxes.front())->type);
  if (kind.isEmpty() && !model.find(boxes.front())->parent.isValid()) {
    kind = machineOf(model);
  }
  if (kind.isEmpty()) {
    return QCoreApplication::translate("Stacks", "%1 to %2").arg(nameOf(boxes.front()), nameOf(boxes.back()));
  }
  return QCoreApplication::translate("Stacks", "%1 × %2").arg(kind, QString::number(boxes.size()));
}

std::optional<Bandwidth> bandwidthOut(const Model& model, BoxId box) {
  Bandwidth sum;
  try {
    for (const NodeId id : model.allNodesIn(box)) {
      for (const LinkId linkId : model.linksOf(id)) {
        const Link& link = *model.find(linkId);
        const LinkEnd& other = link.tail.node == id ? link.head : link.tail;
        const Node* node = model.find(other.node);
        if (node == nullptr || model.isWithin(node->facts.box, box) || (link.tail.node != id && !link.duplex)) {
          continue;
        }
        const auto each = Bandwidth::parse(link.bandwidth);
        if (!each) {
          return std::nullopt;
        }
        sum += *each * Rational(link.count);
      }
    }
  } catch (const OverflowError&) {
    return std::nullopt;
  }
  return sum;
}

}  // namespace coppice::designer
