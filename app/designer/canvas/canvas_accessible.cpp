// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/canvas_accessible.hpp"

#include <QAccessible>
#include <QAccessibleWidget>
#include <QPointer>
#include <map>
#include <string>

#include "designer/canvas/canvas_view.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/model.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// One node, or one folded box.
class NodeInterface : public QAccessibleInterface, public QAccessibleActionInterface {
public:
  NodeInterface(CanvasView& view, const ElementId& id) : m_view(&view), m_id(id) {}

  [[nodiscard]] const ElementId& id() const { return m_id; }
  [[nodiscard]] bool isValid() const override { return m_view && m_view->scene().nodeAt(m_id).has_value(); }
  [[nodiscard]] QObject* object() const override { return nullptr; }
  [[nodiscard]] QAccessibleInterface* childAt(int, int) const override { return nullptr; }
  [[nodiscard]] QAccessibleInterface* parent() const override {
    return m_view ? QAccessible::queryAccessibleInterface(m_view) : nullptr;
  }
  [[nodiscard]] QAccessibleInterface* child(int) const override { return nullptr; }
  [[nodiscard]] int childCount() const override { return 0; }
  [[nodiscard]] int indexOfChild(const QAccessibleInterface*) const override { return -1; }
  [[nodiscard]] QAccessible::Role role() const override { return QAccessible::Graphic; }
  void setText(QAccessible::Text, const QString&) override {}

  [[nodiscard]] QString text(QAccessible::Text kind) const override {
    if (!isValid()) {
      return {};
    }
    const Model& model = m_view->document().model();
    const Node* node = model.find(m_id.node());
    if (kind == QAccessible::Name) {
      const Box* box = model.find(m_id.box());
      return QString::fromStdString(node != nullptr ? node->facts.name : box != nullptr ? box->name : std::string());
    }
    if (kind != QAccessible::Description) {
      return {};
    }
    if (node == nullptr) {
      return CanvasView::tr("folded box, %1")
          .arg(counted(static_cast<qsizetype>(model.nodesIn(m_id.box()).size()), CanvasView::tr("node"),
                       CanvasView::tr("nodes")));
    }
    QString text = QString::fromStdString(node->facts.kind);
    if (const Box* box = model.find(node->facts.box); box != nullptr) {
      text += u", "_s + CanvasView::tr("box %1").arg(QString::fromStdString(box->name));
    }
    return text + u", "_s +
           counted(static_cast<qsizetype>(model.linksOf(m_id.node()).size()), CanvasView::tr("link"),
                   CanvasView::tr("links"));
  }

  [[nodiscard]] QRect rect() const override {
    if (!isValid()) {
      return {};
    }
    const QRectF scene = m_view->scene().rectOf(m_id);
    const QRect local = QRectF(m_view->toView(scene.topLeft()), m_view->toView(scene.bottomRight())).toAlignedRect();
    return {m_view->mapToGlobal(local.topLeft()), local.size()};
  }

  [[nodiscard]] QAccessible::State state() const override {
    QAccessible::State state;
    if (!isValid()) {
      state.invalid = true;
      return state;
    }
    const bool isSelected = m_view->selection().elements().contains(m_id);
    state.selectable = true;
    state.focusable = true;
    state.selected = isSelected;
    state.focused = isSelected && m_view->hasFocus() && m_view->selection().elements().size() == 1;
    state.offscreen = !m_view->isInView(m_id);
    return state;
  }

  void* interface_cast(QAccessible::InterfaceType type) override {
    return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this) : nullptr;
  }
  [[nodiscard]] QStringList actionNames() const override { return {pressAction()}; }
  void doAction(const QString& name) override {
    if (isValid() && name == pressAction()) {
      m_view->selection().set({m_id});
      m_view->setFocus();
    }
  }
  [[nodiscard]] QStringList keyBindingsForAction(const QString&) const override { return {}; }

private:
  QPointer<CanvasView> m_view;
  ElementId m_id;
};

/// The canvas with its nodes behind the widgets on it.
class CanvasInterface : public QAccessibleWidget {
public:
  explicit CanvasInterface(CanvasView& view) : QAccessibleWidget(&view, QAccessible::Canvas), m_view(view) {}
  CanvasInterface(const CanvasInterface&) = delete;
  CanvasInterface& operator=(const CanvasInterface&) = delete;
  ~CanvasInterface() override {
    for (const auto& [unused, id] : m_nodes) {
      QAccessible::deleteAccessibleInterface(id);
    }
  }

  [[nodiscard]] int childCount() const override {
    return QAccessibleWidget::childCount() + static_cast<int>(m_view.scene().nodes().size());
  }
  [[nodiscard]] QAccessibleInterface* child(int index) const override {
    const int widgets = QAccessibleWidget::childCount();
    if (index < widgets) {
      return QAccessibleWidget::child(index);
    }
    const auto& nodes = m_view.scene().nodes();
    const auto at = static_cast<std::size_t>(index - widgets);
    return at < nodes.size() ? nodeOf(nodes[at].id) : nullptr;
  }
  [[nodiscard]] int indexOfChild(const QAccessibleInterface* child) const override {
    if (const auto* node = dynamic_cast<const NodeInterface*>(child)) {
      const auto at = m_view.scene().nodeAt(node->id());
      return at ? QAccessibleWidget::childCount() + static_cast<int>(*at) : -1;
    }
    return QAccessibleWidget::indexOfChild(child);
  }
  [[nodiscard]] QAccessibleInterface* childAt(int x, int y) const override {
    if (QAccessibleInterface* widget = QAccessibleWidget::childAt(x, y)) {
      return widget;
    }
    const ElementId id = m_view.hit(m_view.toScene(m_view.mapFromGlobal(QPointF(x, y))));
    return m_view.scene().nodeAt(id) ? nodeOf(id) : nullptr;
  }
  [[nodiscard]] QAccessibleInterface* focusChild() const override {
    const auto& chosen = m_view.selection().elements();
    return m_view.hasFocus() && chosen.size() == 1 && m_view.scene().nodeAt(*chosen.begin())
               ? nodeOf(*chosen.begin())
               : QAccessibleWidget::focusChild();
  }

  [[nodiscard]] QAccessibleInterface* nodeOf(const ElementId& id) const {
    // Those that are gone make room, now and then.
    if (m_nodes.size() > 2 * m_view.scene().nodes().size() + kFew) {
      std::erase_if(m_nodes, [this](const auto& each) {
        const bool isGone = !m_view.scene().nodeAt(each.first);
        if (isGone) {
          QAccessible::deleteAccessibleInterface(each.second);
        }
        return isGone;
      });
    }
    auto found = m_nodes.find(id);
    if (found == m_nodes.end()) {
      found = m_nodes.emplace(id, QAccessible::registerAccessibleInterface(new NodeInterface(m_view, id))).first;
    }
    return QAccessible::accessibleInterface(found->second);
  }

private:
  static constexpr std::size_t kFew = 64;
  CanvasView& m_view;
  mutable std::map<ElementId, QAccessible::Id> m_nodes;
};

QAccessibleInterface* interfaceOf(const QString&, QObject* object) {
  auto* view = qobject_cast<CanvasView*>(object);
  return view != nullptr ? new CanvasInterface(*view) : nullptr;
}

}  // namespace

void makeCanvasesAccessible() {
  // The same function is installed once.
  QAccessible::installFactory(interfaceOf);
}

void tellFocus(CanvasView& view, const ElementId& id) {
  if (!QAccessible::isActive() || !view.scene().nodeAt(id)) {
    return;
  }
  if (auto* canvas = dynamic_cast<CanvasInterface*>(QAccessible::queryAccessibleInterface(&view))) {
    QAccessibleEvent event(canvas->nodeOf(id), QAccessible::Focus);
    QAccessible::updateAccessibility(&event);
  }
}

}  // namespace coppice::designer
