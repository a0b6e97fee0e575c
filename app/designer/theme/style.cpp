// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/style.hpp"

#include <QApplication>
#include <QFile>
#include <QProxyStyle>
#include <QStyle>
#include <QStyleFactory>
#include <QWidget>
#include <algorithm>
#include <utility>
#include <vector>

#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"

static void initStyleResource() {
  Q_INIT_RESOURCE(icons);
}

namespace coppice::designer {
namespace {

/// Fusion, with a cross of ours in fields. A style sheet's lineedit-clear-button-icon would do the same, but Qt makes
/// the button again for it while it walks over the widgets, and falls over the old one.
class ProxyStyle : public QProxyStyle {
public:
  ProxyStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}
  [[nodiscard]] QIcon standardIcon(StandardPixmap pixmap, const QStyleOption* option,
                                   const QWidget* widget) const override {
    return pixmap == SP_LineEditClearButton ? icon(QStringLiteral("close"))
                                            : QProxyStyle::standardIcon(pixmap, option, widget);
  }
  [[nodiscard]] int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override {
    // The arrow of sorting takes its place from the text of every head, but is not counted in the width of a column.
    constexpr int kHeaderMargin = 8;
    return metric == PM_HeaderMargin ? kHeaderMargin : QProxyStyle::pixelMetric(metric, option, widget);
  }
};

}  // namespace

QPalette paletteOf(const Colors& colors) {
  QPalette palette;
  const auto set = [&](QPalette::ColorRole role, Token token) { palette.setColor(role, colors[token]); };
  set(QPalette::Window, Token::panel);
  set(QPalette::WindowText, Token::text);
  set(QPalette::Base, Token::field);
  set(QPalette::AlternateBase, Token::window);
  set(QPalette::Text, Token::text);
  set(QPalette::PlaceholderText, Token::muted);
  set(QPalette::Button, Token::panel);
  set(QPalette::ButtonText, Token::text);
  set(QPalette::BrightText, Token::error);
  set(QPalette::ToolTipBase, Token::panel);
  set(QPalette::ToolTipText, Token::text);
  set(QPalette::Highlight, Token::accentSoft);
  set(QPalette::HighlightedText, Token::text);
  set(QPalette::Link, Token::accent);
  set(QPalette::LinkVisited, Token::accent);
  set(QPalette::Light, Token::line);
  set(QPalette::Midlight, Token::line);
  set(QPalette::Mid, Token::boxLine);
  set(QPalette::Dark, Token::boxLine);
  set(QPalette::Shadow, Token::boxLine);
  for (const QPalette::ColorRole role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::HighlightedText}) {
    palette.setColor(QPalette::Disabled, role, colors[Token::faint]);
  }
  return palette;
}

QString styleSheetOf(const Colors& colors) {
  initStyleResource();
  QFile resource(QStringLiteral(":/style/designer.qss"));
  if (!resource.open(QIODevice::ReadOnly)) {
    qFatal("the style sheet is not in the program");
  }
  QString sheet = QString::fromUtf8(resource.readAll());
  // Longer names first, so that @accent does not cut @accentSoft short.
  std::vector<std::pair<QString, QString>> names;
  for (const TokenInfo& info : tokenTable()) {
    names.emplace_back(QLatin1Char('@') + QLatin1String(info.name), colors[info.token].name());
  }
  // Style sheets take files alone, so each scheme has its own.
  for (const auto& [name, file] :
       {std::pair("@chevron", "chevron"), std::pair("@chevronUp", "chevron-up"), std::pair("@check", "check"),
        std::pair("@checkOff", "check-off"), std::pair("@dash", "dash"), std::pair("@dashOff", "dash-off"),
        std::pair("@messageWarning", "message-warning"), std::pair("@messageQuestion", "message-question"),
        std::pair("@messageInfo", "message-info")}) {
    names.emplace_back(QLatin1String(name),
                       QStringLiteral(":/style/") + QLatin1String(file) +
                           (colors.isDark() ? QStringLiteral("-dark.svg") : QStringLiteral("-light.svg")));
  }
  names.emplace_back(QStringLiteral("@scroll"), mixed(colors[Token::boxLine], colors[Token::faint], 0.5).name());
  names.emplace_back(QStringLiteral("@accentHover"), mixed(colors[Token::accent], colors[Token::text], 0.15).name());
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  for (const auto& [name, value] : names) {
    sheet.replace(name, value);
  }
  return sheet;
}

void applyStyle(QApplication& application, const Colors& colors) {
  // Once: what a scheme changes is in the palette and the style sheet alone.
  static const bool isDressed = [] {
    QApplication::setStyle(new ProxyStyle);
    QApplication::setFont(uiFont());
    return true;
  }();
  Q_UNUSED(isDressed);
  QApplication::setPalette(paletteOf(colors));
  // Taken off first: in place of another sheet, Qt 6.4 walks over the children of every object, and falls over those
  // that leave meanwhile.
  application.setStyleSheet({});
  application.setStyleSheet(styleSheetOf(colors));
}

void setRole(QWidget* widget, const QString& role) {
  if (widget->property("role").toString() == role) {
    return;
  }
  widget->setProperty("role", role);
  widget->style()->unpolish(widget);
  widget->style()->polish(widget);
}

}  // namespace coppice::designer
