// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/fold_view.hpp"

#include <QCoreApplication>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "base/units.hpp"

namespace coppice::designer {
namespace {

/// Caches what would be asked for every link end again.
class Ends {
public:
  Ends(const Model& model, const Stacks& stacks) : m_model(model), m_stacks(stacks) {}
  ElementId operator()(NodeId id) {
    const auto [found, isNew] = m_known.try_emplace(id);
    if (isNew) {
      found->second = m_stacks.shapeOf(visibleEnd(m_model, id));
    }
    return found->second;
  }

private:
  const Model& m_model;
  const Stacks& m_stacks;
  std::unordered_map<NodeId, ElementId> m_known;
};

/// Reads each different bandwidth text once.
class Bandwidths {
public:
  std::optional<Bandwidth> operator()(const std::string& text) {
    const auto [found, isNew] = m_known.try_emplace(text);
    if (isNew) {
      if (const auto parsed = Bandwidth::parse(text)) {
        found->second = *parsed;
      }
    }
    return found->second;
  }

private:
  std::unordered_map<std::string, std::optional<Bandwidth>> m_known;
};

std::optional<Bandwidth> sum(const std::optional<Bandwidth>& a, const std::optional<Bandwidth>& b) {
  if (!a || !b) {
    return std::nullopt;
  }
  try {
    return *a + *b;
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

std::optional<Bandwidth> times(const std::optional<Bandwidth>& a, int count) {
  if (!a) {
    return std::nullopt;
  }
  try {
    return *a * Rational(count);
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

void addLink(LinkBundle& bundle, LinkId id, const Link& link, bool runsForward, Bandwidths& bandwidths) {
  const std::optional<Bandwidth> one = bandwidths(link.bandwidth);
  const std::optional<Bandwidth> all = times(one, link.count);
  if (bundle.links.empty()) {
    bundle.each = one;
    bundle.forward = Bandwidth();
    bundle.backward = Bandwidth();
  } else if (bundle.each != one) {
    bundle.each.reset();
  }
  bundle.links.push_back(id);
  bundle.lines += link.count;
  if (runsForward || link.duplex) {
    bundle.hasForward = true;
    bundle.forward = sum(bundle.forward, all);
  }
  if (!runsForward || link.duplex) {
    bundle.hasBackward = true;
    bundle.backward = sum(bundle.backward, all);
  }
}

}  // namespace

ElementId visibleEnd(const Model& model, NodeId id) {
  const Node* node = model.find(id);
  if (node == nullptr) {
    return {};
  }
  ElementId result = id;
  for (BoxId at = node->facts.box; at.isValid();) {
    const Box* box = model.find(at);
    if (box == nullptr) {
      break;
    }
    if (box->isFolded) {
      result = at;
    }
    at = box->parent;
  }
  return result;
}

bool isVisible(const Model& model, const ElementId& id) {
  BoxId at;
  if (const Node* node = model.find(id.node())) {
    at = node->facts.box;
  } else if (const Box* box = model.find(id.box())) {
    at = box->parent;
  } else if (const Link* link = model.find(id.link())) {
    if (!link->tail.node.isValid() || !link->head.node.isValid()) {
      return false;
    }
    const ElementId a = visibleEnd(model, link->tail.node);
    return a != visibleEnd(model, link->head.node) || a.kind == ElementKind::node;
  } else {
    return model.contains(id);
  }
  while (at.isValid()) {
    const Box* box = model.find(at);
    if (box == nullptr || box->isFolded) {
      return false;
    }
    at = box->parent;
  }
  return true;
}

QString LinkBundle::label() const {
  const auto text = [](const Bandwidth& value) { return QString::fromStdString(toExactText(value)); };
  if (each) {
    const QString one = QCoreApplication::translate("LinkBundle", "%1 GB/s").arg(text(*each));
    return lines == 1 ? one : QCoreApplication::translate("LinkBundle", "%1 × %2").arg(lines).arg(one);
  }
  const std::optional<Bandwidth>& shown = hasForward ? forward : backward;
  if (!shown || (hasForward && hasBackward && forward != backward)) {
    return QCoreApplication::translate("LinkBundle", "%1 links").arg(lines);
  }
  return QCoreApplication::translate("LinkBundle", "%1 links · %2 GB/s")
      .arg(lines)
      .arg(QString::fromStdString(toDecimal(*shown)));
}

namespace {

void collect(LinkId id, const Link& link, Ends& ends, Bandwidths& bandwidths,
             std::map<std::pair<ElementId, ElementId>, LinkBundle>& bundles) {
  if (!link.tail.node.isValid() || !link.head.node.isValid()) {
    return;
  }
  const ElementId tail = ends(link.tail.node);
  const ElementId head = ends(link.head.node);
  if (tail == head && tail.kind == ElementKind::box) {
    return;
  }
  const ElementId a = std::min(tail, head);
  const ElementId b = std::max(tail, head);
  LinkBundle& bundle = bundles[{a, b}];
  bundle.a = a;
  bundle.b = b;
  addLink(bundle, id, link, a == tail, bandwidths);
}

}  // namespace

std::vector<LinkBundle> linkBundles(const Model& model, const Stacks& stacks) {
  std::map<std::pair<ElementId, ElementId>, LinkBundle> bundles;
  Ends ends(model, stacks);
  Bandwidths bandwidths;
  for (const auto& [id, link] : model.links()) {
    collect(id, link, ends, bandwidths, bundles);
  }
  std::vector<LinkBundle> result;
  result.reserve(bundles.size());
  for (auto& [pair, bundle] : bundles) {
    result.push_back(std::move(bundle));
  }
  return result;
}

}  // namespace coppice::designer
