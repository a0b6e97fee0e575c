// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/trees/tree_drawing.hpp"

#include <QFile>
#include <QFontMetricsF>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <QVBoxLayout>
#include <QWheelEvent>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/layout/graphviz.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr double kNodeHeight = 26;
constexpr double kFontPixels = 12;

}  // namespace

/// Draws and moves a tree that has been laid out.
class TreeCanvas : public QWidget {
public:
  explicit TreeCanvas(QWidget* parent) : QWidget(parent) {
    setObjectName(u"treeCanvas"_s);
    setAccessibleName(TreeDrawing::tr("Tree"));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
  }

  void setTree(std::shared_ptr<const LoneTree> tree) {
    m_tree = std::move(tree);
    m_zoom = 1;
    m_pan = {};
    m_isFitted = false;
    m_bounds = {};
    if (m_tree) {
      for (const LoneTree::Node& node : m_tree->nodes) {
        m_bounds |= rectOf(node);
      }
    }
    update();
  }
  [[nodiscard]] const std::shared_ptr<const LoneTree>& tree() const { return m_tree; }

protected:
  void paintEvent(QPaintEvent*) override {
    const Theme& theme = Theme::instance();
    QPainter painter(this);
    painter.fillRect(rect(), theme.color(Token::canvas));
    if (!m_tree) {
      return;
    }
    if (!std::exchange(m_isFitted, true)) {
      startReadable();
    }
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setTransform(transform());
    const double scale = transform().m11();
    constexpr double kLine = 1.4;
    const double hair = std::max(kLine, 1 / scale);
    painter.setPen(QPen(theme.color(Token::linkText), hair));
    painter.setBrush(Qt::NoBrush);
    for (const LoneTree::Node& node : m_tree->nodes) {
      if (node.parent >= 0) {
        painter.setPen(QPen(theme.color(Token::linkText), hair, node.isShared ? Qt::DashLine : Qt::SolidLine));
        drawEdge(painter, m_tree->nodes[node.parent], node, hair);
      }
    }
    constexpr double kReadable = 0.45;
    painter.setFont(uiFont(kFontPixels, QFont::Medium));
    for (std::size_t i = 0; i < m_tree->nodes.size(); ++i) {
      const LoneTree::Node& node = m_tree->nodes[i];
      const QRectF shape = rectOf(node);
      constexpr double kRadius = 6;
      painter.setPen(QPen(theme.color(i == 0 ? Token::accent : Token::gpuLine), i == 0 ? 2 * kLine : kLine));
      painter.setBrush(theme.color(i == 0 ? Token::accentSoft : Token::gpuFill));
      painter.drawRoundedRect(shape, kRadius, kRadius);
      if (scale >= kReadable) {
        painter.setPen(theme.color(Token::text));
        painter.drawText(shape, Qt::AlignCenter, node.name);
      }
    }
  }

  bool event(QEvent* event) override {
    if (event->type() == QEvent::ToolTip && m_tree) {
      const auto* help = static_cast<QHelpEvent*>(event);
      const QPointF at = transform().inverted().map(QPointF(help->pos()));
      for (const LoneTree::Node& node : m_tree->nodes) {
        if (rectOf(node).contains(at)) {
          QToolTip::showText(
              help->globalPos(),
              node.name + u'\n' +
                  (node.parent < 0
                       ? TreeDrawing::tr("root")
                       : TreeDrawing::tr("%1 from the root, %2")
                             .arg(counted(node.depth, TreeDrawing::tr("hop"), TreeDrawing::tr("hops")), node.route)),
              this);
          return true;
        }
      }
      QToolTip::hideText();
      return true;
    }
    return QWidget::event(event);
  }

  void wheelEvent(QWheelEvent* event) override {
    constexpr double kStep = 1.0 / 480;
    constexpr double kMax = 400;
    const double factor = std::exp2(event->angleDelta().y() * kStep);
    const double zoom = std::clamp(m_zoom * factor, 1.0, kMax);
    const QPointF middle = QRectF(rect()).center();
    const QPointF pointer = event->position() - middle;
    m_pan = pointer - (pointer - m_pan) * (zoom / m_zoom);
    m_zoom = zoom;
    if (m_zoom == 1) {
      m_pan = {};
    }
    update();
    event->accept();
  }
  void mousePressEvent(QMouseEvent* event) override { m_from = event->position(); }
  void mouseMoveEvent(QMouseEvent* event) override {
    if (event->buttons() != Qt::NoButton) {
      m_pan += event->position() - m_from;
      m_from = event->position();
      update();
    }
  }
  void mouseDoubleClickEvent(QMouseEvent*) override {
    m_zoom = 1;
    m_pan = {};
    update();
  }
  void keyPressEvent(QKeyEvent* event) override {
    constexpr double kPan = 40;
    constexpr double kZoom = 1.25;
    switch (event->key()) {
      case Qt::Key_Left:
        m_pan += QPointF(kPan, 0);
        break;
      case Qt::Key_Right:
        m_pan -= QPointF(kPan, 0);
        break;
      case Qt::Key_Up:
        m_pan += QPointF(0, kPan);
        break;
      case Qt::Key_Down:
        m_pan -= QPointF(0, kPan);
        break;
      case Qt::Key_Plus:
        m_zoom *= kZoom;
        break;
      case Qt::Key_Minus:
        m_zoom = std::max(1.0, m_zoom / kZoom);
        break;
      case Qt::Key_Home:
        m_zoom = 1;
        m_pan = {};
        break;
      default:
        QWidget::keyPressEvent(event);
        return;
    }
    update();
  }

private:
  static QRectF rectOf(const LoneTree::Node& node) {
    return {node.centre.x() - node.size.width() / 2, node.centre.y() - node.size.height() / 2, node.size.width(),
            node.size.height()};
  }

  [[nodiscard]] QTransform transform() const {
    constexpr double kMargin = 14;
    const double fit = std::min({(width() - 2 * kMargin) / std::max(1.0, m_bounds.width()),
                                 (height() - 2 * kMargin) / std::max(1.0, m_bounds.height()), 1.25});
    const double scale = std::max(fit, 1e-3) * m_zoom;
    const QPointF middle = QRectF(rect()).center() + m_pan;
    return QTransform::fromTranslate(middle.x(), middle.y())
        .scale(scale, scale)
        .translate(-m_bounds.center().x(), -m_bounds.center().y());
  }

  /// A tree too wide to be read as a whole begins at its root.
  void startReadable() {
    constexpr double kTooSmall = 0.35;
    constexpr double kReadable = 0.8;
    const double fit = transform().m11();
    if (fit < kTooSmall && !m_tree->nodes.empty()) {
      m_zoom = kReadable / fit;
      constexpr double kTop = 40;
      m_pan = QPointF(width() / 2.0, kTop) - transform().map(m_tree->nodes.front().centre);
    }
  }

  void drawEdge(QPainter& painter, const LoneTree::Node& parent, const LoneTree::Node& child, double hair) const {
    const QPointF from(parent.centre.x(), parent.centre.y() + parent.size.height() / 2);
    const QPointF to(child.centre.x(), child.centre.y() - child.size.height() / 2);
    QPainterPath path(from);
    const double bend = (to.y() - from.y()) / 2;
    path.cubicTo(from + QPointF(0, bend), to - QPointF(0, bend), to);
    painter.drawPath(path);
    const QPointF tip = m_tree->isIn ? from : to;
    const double back = m_tree->isIn ? 1 : -1;
    constexpr double kArrow = 3.2;
    const double size = kArrow * hair / 1.4;
    QPolygonF arrow;
    arrow << tip << tip + QPointF(-size, back * 2 * size) << tip + QPointF(size, back * 2 * size);
    const QPen pen = painter.pen();
    painter.setBrush(pen.color());
    painter.setPen(Qt::NoPen);
    painter.drawPolygon(arrow);
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
  }

  std::shared_ptr<const LoneTree> m_tree;
  QRectF m_bounds;
  double m_zoom = 1;
  QPointF m_pan;
  QPointF m_from;
  bool m_isFitted = false;
};

namespace {

LoneTree treeOf(const ScheduleResult& result, const TreeRef& ref) {
  LoneTree tree;
  schedule::TreeReader reader = *result.readers[ref.half];
  const schedule::TreeReader::View view = reader.read(ref.tree);
  const std::span<const fabric::Node> nodes = result.fabric->nodes();
  const auto nameOf = [&](fabric::NodeIndex node) { return QString::fromStdString(nodes[node].id); };
  const auto gpuOf = [&](fabric::Rank rank) { return result.fabric->gpus()[rank]; };
  tree.isIn = ref.half == 0;
  std::vector<int> indexOf(result.fabric->gpuCount(), -1);
  indexOf[view.root] = 0;
  tree.nodes.push_back({nameOf(gpuOf(view.root)), -1, 0, {}, false, {}, {}});
  bool isShared = false;
  int height = 0;
  for (const schedule::TreeEdge& edge : view.edges) {
    const int parent = indexOf[edge.parent];
    indexOf[edge.child] = static_cast<int>(tree.nodes.size());
    const std::span<const fabric::NodeIndex> path = reader.path(edge);
    QString route;
    for (std::size_t i = 1; i + 1 < path.size(); ++i) {
      route += (route.isEmpty() ? QString() : u", "_s) + nameOf(path[i]);
    }
    route = route.isEmpty() ? TreeDrawing::tr("directly") : TreeDrawing::tr("via %1").arg(route);
    if (edge.pruned > 0) {
      isShared = true;
      const auto pruned = static_cast<std::size_t>(edge.pruned);
      const QString meeting = nameOf(path[tree.isIn ? path.size() - 1 - pruned : pruned]);
      route += u", "_s + (tree.isIn ? TreeDrawing::tr("%1 sums") : TreeDrawing::tr("%1 copies")).arg(meeting);
    }
    const int depth = tree.nodes[parent].depth + 1;
    height = std::max(height, depth);
    tree.nodes.push_back({nameOf(gpuOf(edge.child)), parent, depth, route, edge.pruned > 0, {}, {}});
  }
  const schedule::Forest& forest = *result.forest(static_cast<std::size_t>(ref.half));
  tree.title = TreeDrawing::tr("%1 · height %2 · %3 · %4 GB/s")
                   .arg(tree.nodes.front().name, counted(height, TreeDrawing::tr("hop"), TreeDrawing::tr("hops")),
                        counted(view.multiplicity, TreeDrawing::tr("copy"), TreeDrawing::tr("copies")),
                        decimal(Rational(view.multiplicity) / forest.scale));
  if (isShared) {
    tree.title +=
        u" · "_s + (tree.isIn ? TreeDrawing::tr("dashed: a switch sums") : TreeDrawing::tr("dashed: a switch copies"));
  }
  return tree;
}

QString textOf(const LoneTree& tree) {
  std::vector<std::vector<int>> children(tree.nodes.size());
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    children[tree.nodes[i].parent].push_back(static_cast<int>(i));
  }
  QString text;
  std::vector<int> open{0};
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    const LoneTree::Node& node = tree.nodes[at];
    text += QString(2 * node.depth, u' ') + node.name +
            (node.route.isEmpty() ? QString() : u"  ("_s + node.route + u')') + u'\n';
    const std::vector<int>& below = children[at];
    open.insert(open.end(), below.rbegin(), below.rend());
  }
  return text;
}

}  // namespace

TreeDrawing::TreeDrawing(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_empty(new QLabel(this)),
      m_title(new QLabel(this)),
      m_canvas(new TreeCanvas(this)),
      m_text(new QPlainTextEdit(this)),
      m_job([this](const Answer& answer) { receive(answer); }, 0ms) {
  setObjectName(u"treeDrawing"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  m_empty->setWordWrap(true);
  m_empty->setAlignment(Qt::AlignCenter);
  m_empty->setProperty("role", u"muted"_s);
  constexpr int kEmptyMargin = 16;
  m_empty->setMargin(kEmptyMargin);
  m_title->setObjectName(u"treeTitle"_s);
  m_title->setProperty("role", u"muted"_s);
  m_title->setWordWrap(true);
  constexpr int kMargin = 8;
  m_title->setContentsMargins(kMargin, kMargin / 2, kMargin, kMargin / 2);
  m_text->setObjectName(u"treeText"_s);
  m_text->setReadOnly(true);
  m_text->setFont(figureFont());
  m_text->setFrameShape(QFrame::NoFrame);
  m_pages->addWidget(m_empty);
  m_pages->addWidget(m_canvas);
  m_pages->addWidget(m_text);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(m_title);
  layout->addWidget(m_pages, 1);
  follow();
}

TreeDrawing::~TreeDrawing() = default;

void TreeDrawing::setTree(ScheduleResultPtr result, std::optional<TreeRef> tree) {
  if (m_result == result && m_tree == tree) {
    return;
  }
  m_job.cancel();
  m_isOrdered = false;
  m_result = std::move(result);
  m_tree = tree;
  m_canvas->setTree(nullptr);
  m_note.clear();
  follow();
}

bool TreeDrawing::isDrawn() const {
  return m_pages->currentWidget() == m_canvas && m_canvas->tree() != nullptr;
}

bool TreeDrawing::isText() const {
  return m_pages->currentWidget() == m_text;
}

void TreeDrawing::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  follow();
}

void TreeDrawing::follow() {
  if (!m_result || !m_tree) {
    m_title->hide();
    m_empty->setText(m_result ? tr("Choose a tree to see it alone, layer by layer.")
                              : tr("A tree of the schedule alone, layer by layer. F5 generates a schedule."));
    m_pages->setCurrentWidget(m_empty);
    return;
  }
  if (m_isOrdered || !isVisible()) {
    return;
  }
  m_isOrdered = true;
  m_title->hide();
  m_empty->setText(tr("Drawing…"));
  m_pages->setCurrentWidget(m_empty);
  const QFontMetricsF metrics(uiFont(kFontPixels, QFont::Medium));
  m_job.submit([result = m_result, ref = *m_tree, metrics, helper = m_helper](std::stop_token stop) {
    Answer answer{std::make_shared<LoneTree>(treeOf(*result, ref)), std::nullopt};
    PlainGraph graph;
    for (std::size_t i = 0; i < answer.tree->nodes.size(); ++i) {
      LoneTree::Node& node = answer.tree->nodes[i];
      constexpr double kPadding = 20;
      constexpr double kMin = 44;
      node.size = {std::max(kMin, metrics.horizontalAdvance(node.name) + kPadding), kNodeHeight};
      graph.sizes.push_back(node.size);
      if (node.parent >= 0) {
        graph.edges.emplace_back(node.parent, static_cast<int>(i));
      }
    }
    graph.nodeGap = 14;
    graph.layerGap = 44;
    io::DotHelperOptions options;
    options.program = QFile::encodeName(helper).toStdString();
    options.timeLimit = std::chrono::seconds(20);
    options.stop = std::move(stop);
    auto places = laidOut(graph, io::DotLayout::layered, options);
    if (!places) {
      answer.error = places.error();
    } else {
      for (std::size_t i = 0; i < places->size(); ++i) {
        answer.tree->nodes[i].centre = (*places)[i];
      }
    }
    return answer;
  });
}

void TreeDrawing::receive(const Answer& answer) {
  m_title->show();
  if (!answer.error) {
    m_note.clear();
    m_title->setText(answer.tree->title);
    m_title->setToolTip(tr("The wheel zooms, a double click shows all"));
    m_canvas->setTree(answer.tree);
    m_pages->setCurrentWidget(m_canvas);
    return;
  }
  m_note = answer.error->code == ErrorCode::unavailable
               ? tr("The layered drawing needs coppice-dot, which is not installed. The tree is shown as text.")
               : tr("Graphviz could not draw the tree (%1). It is shown as text.")
                     .arg(QString::fromStdString(answer.error->message));
  m_title->setText(answer.tree->title + u'\n' + m_note);
  m_text->setPlainText(textOf(*answer.tree));
  m_pages->setCurrentWidget(m_text);
}

}  // namespace coppice::designer
