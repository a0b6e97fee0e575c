// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/icons.hpp"

#include <QFile>
#include <QHash>
#include <QIconEngine>
#include <QPainter>
#include <QSvgRenderer>
#include <utility>

#include "designer/theme/theme.hpp"

static void initIcons() {
  Q_INIT_RESOURCE(icons);
}

namespace coppice::designer {
namespace {

QString pathOf(const QString& name) {
  static const bool isReady = (initIcons(), true);
  Q_UNUSED(isReady);
  return QStringLiteral(":/icons/") + name + QStringLiteral(".svg");
}

/// The drawing's text; read once.
const QByteArray& drawingOf(const QString& name) {
  static QHash<QString, QByteArray> known;
  auto found = known.find(name);
  if (found == known.end()) {
    QFile file(pathOf(name));
    found = known.insert(name, file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray());
  }
  return *found;
}

void paintIcon(QPainter* painter, const QRectF& rect, const QString& name, const QColor& color) {
  // The SVG renderer knows no currentColor of ours, so the text gets the colour.
  QByteArray text = drawingOf(name);
  text.replace("currentColor", color.name().toLatin1());
  QSvgRenderer renderer(text);
  renderer.render(painter, rect);
}

class Engine : public QIconEngine {
public:
  explicit Engine(QString name) : m_name(std::move(name)) {}

  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
    const Theme& theme = Theme::instance();
    const Token token = mode == QIcon::Disabled ? Token::faint : state == QIcon::On ? Token::accent : Token::muted;
    painter->save();
    painter->setOpacity(mode == QIcon::Disabled ? 0.8 : 1);
    // Square and centred whatever the room.
    const int side = qMin(rect.width(), rect.height());
    QRectF square(0, 0, side, side);
    square.moveCenter(QRectF(rect).center());
    paintIcon(painter, square, m_name, theme.color(token));
    painter->restore();
  }
  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
    return scaledPixmap(size, mode, state, 1);
  }
  QPixmap scaledPixmap(const QSize& size, QIcon::Mode mode, QIcon::State state, qreal) override {
    QPixmap result(size);
    result.fill(Qt::transparent);
    QPainter painter(&result);
    painter.setRenderHint(QPainter::Antialiasing);
    paint(&painter, QRect(QPoint(), size), mode, state);
    return result;
  }
  [[nodiscard]] QIconEngine* clone() const override { return new Engine(*this); }

private:
  QString m_name;
};

}  // namespace

QIcon icon(const QString& name) {
  return drawingOf(name).isEmpty() ? QIcon() : QIcon(new Engine(name));
}

QPixmap iconPixmap(const QString& name, int size, qreal devicePixelRatio, const QColor& color) {
  QPixmap result(QSize(size, size) * devicePixelRatio);
  result.setDevicePixelRatio(devicePixelRatio);
  result.fill(Qt::transparent);
  QPainter painter(&result);
  painter.setRenderHint(QPainter::Antialiasing);
  paintIcon(&painter, QRectF(0, 0, size, size), name, color);
  return result;
}

}  // namespace coppice::designer
