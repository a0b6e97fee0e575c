// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/style.hpp"

#include <QApplication>
#include <QProxyStyle>
#include <QStyle>
#include <QStyleFactory>
#include <QWidget>
#include <algorithm>
#include <utility>
#include <vector>

#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"

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
  QString sheet = QStringLiteral(R"(
QMainWindow, QMainWindow::separator { background: @line; }
QMainWindow::separator { width: 1px; height: 1px; }
QMainWindow::separator:hover { background: @accent; }
QToolTip { background: @panel; color: @text; border: 1px solid @line; border-radius: 6px; padding: 4px 8px; }
*[role="panel"], QDockWidget > QWidget { background: @panel; }
*[role="bar"], QToolBar { background: @panel; border: none; border-bottom: 1px solid @line; spacing: 4px; padding: 6px 8px; }
QStatusBar { background: @window; border-top: 1px solid @line; color: @muted; }
QStatusBar::item { border: none; }
QMenuBar { background: @panel; color: @text; padding: 2px 8px; border-bottom: 1px solid @line; }
QMenuBar::item { padding: 4px 8px; border-radius: 6px; background: transparent; }
QMenuBar::item:selected { background: @hover; }
QMenu { background: @panel; color: @text; border: 1px solid @line; border-radius: 8px; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 12px; border-radius: 6px; }
QMenu::item:selected { background: @accentSoft; color: @text; }
QMenu::item:disabled { color: @faint; }
QMenu::separator { height: 1px; background: @line; margin: 4px 8px; }
QMenu::icon { padding-left: 8px; }
QMenu::indicator { width: 13px; height: 13px; margin-left: 8px; border: 1px solid @faint; border-radius: 3px; background: @field; }
QMenu::indicator:exclusive { border-radius: 7px; }
QMenu::indicator:checked { background: @accent; border-color: @accent; image: url(@check); }
QPushButton, QToolButton, QCheckBox, QRadioButton, QComboBox, QSlider, QTabBar { outline: none; }
QToolButton { border: 1px solid transparent; border-radius: 6px; padding: 5px; background: transparent; color: @text; }
QToolButton:hover { background: @hover; }
QToolButton:disabled { color: @faint; }
QToolButton:checked, QToolButton:pressed { background: @accentSoft; color: @accent; }
QToolButton:focus { border: 2px solid @accent; padding: 4px; }
QPushButton { background: @field; color: @text; border: 1px solid @line; border-radius: 6px; padding: 5px 14px; min-height: 18px; }
QPushButton:hover { background: @hover; }
QPushButton:focus { border: 2px solid @accent; padding: 4px 13px; }
QPushButton:disabled { color: @faint; background: @panel; }
QPushButton[role="primary"], QToolButton[role="primary"], QPushButton:default { background: @accent; color: @onAccent; border: 1px solid @accent; font-weight: 600; }
QPushButton[role="primary"]:hover, QToolButton[role="primary"]:hover, QPushButton:default:hover { background: @accentHover; }
QPushButton[role="primary"]:focus, QToolButton[role="primary"]:focus, QPushButton:default:focus { border: 2px solid @text; }
QPushButton[role="primary"]:disabled, QToolButton[role="primary"]:disabled, QPushButton:default:disabled { background: @line; border-color: @line; color: @muted; }
QPushButton[role="chip"] { border-radius: 12px; background: @hover; border: 1px solid transparent; padding: 3px 12px; color: @muted; }
QPushButton[role="chip"]:focus { border: 2px solid @accent; padding: 2px 11px; }
QPushButton[role="chip"]:checked { background: @cutSoft; border-color: @cut; color: @cut; }
QLineEdit, QPlainTextEdit, QTextEdit, QSpinBox, QDoubleSpinBox, QComboBox { background: @field; color: @text; border: 1px solid @line; border-radius: 6px; padding: 4px 8px; selection-background-color: @accentSoft; selection-color: @text; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus { border: 2px solid @accent; padding: 3px 7px; }
QLineEdit:disabled, QPlainTextEdit:disabled, QTextEdit:disabled, QSpinBox:disabled, QDoubleSpinBox:disabled, QComboBox:disabled { background: @panel; color: @faint; }
QLineEdit:read-only, QPlainTextEdit:read-only { background: @panel; }
QSpinBox::up-button, QSpinBox::down-button, QDoubleSpinBox::up-button, QDoubleSpinBox::down-button { width: 0; border: none; }
QLineEdit[invalid="true"] { border-color: @error; }
QCheckBox::indicator, QRadioButton::indicator, QGroupBox::indicator, QAbstractItemView::indicator { width: 13px; height: 13px; border: 1px solid @faint; border-radius: 3px; background: @field; }
QRadioButton::indicator { border-radius: 7px; }
QRadioButton::indicator:checked { width: 7px; height: 7px; border: 4px solid @accent; background: @onAccent; }
QCheckBox::indicator:checked, QGroupBox::indicator:checked, QAbstractItemView::indicator:checked { background: @accent; border-color: @accent; image: url(@check); }
QCheckBox::indicator:indeterminate, QAbstractItemView::indicator:indeterminate { background: @accentSoft; border-color: @accent; image: url(@dash); }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled, QGroupBox::indicator:disabled, QAbstractItemView::indicator:disabled { border-color: @boxLine; background: @panel; }
QRadioButton::indicator:checked:disabled { border-color: @faint; background: @panel; }
QCheckBox::indicator:checked:disabled, QGroupBox::indicator:checked:disabled, QAbstractItemView::indicator:checked:disabled { image: url(@checkOff); }
QCheckBox::indicator:indeterminate:disabled, QAbstractItemView::indicator:indeterminate:disabled { image: url(@dashOff); }
QCheckBox::indicator:focus, QGroupBox::indicator:focus { width: 11px; height: 11px; border: 2px solid @text; }
QRadioButton::indicator:focus { width: 11px; height: 11px; border: 2px solid @text; }
QRadioButton::indicator:checked:focus { width: 5px; height: 5px; border: 5px solid @text; background: @field; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: @boxLine; }
QSlider::sub-page:horizontal { border-radius: 2px; background: @accent; }
QSlider::sub-page:horizontal:disabled { background: @faint; }
QSlider::handle:horizontal { width: 12px; height: 12px; margin: -5px 0; border: 1px solid @accent; border-radius: 7px; background: @field; }
QSlider::handle:horizontal:hover { background: @accentSoft; }
QSlider::handle:horizontal:focus { width: 10px; height: 10px; border: 2px solid @text; background: @accentSoft; }
QSlider::handle:horizontal:disabled { border-color: @faint; background: @panel; }
QComboBox { combobox-popup: 0; }
QComboBox::drop-down { border: none; width: 24px; }
QComboBox::down-arrow { image: url(@chevron); width: 12px; height: 12px; }
QComboBox QAbstractItemView { background: @panel; border: 1px solid @line; selection-background-color: @accentSoft; selection-color: @text; }
QAbstractItemView { background: @panel; alternate-background-color: @window; border: none; outline: none; selection-background-color: @accentSoft; selection-color: @text; }
QAbstractItemView::item { border: 1px solid transparent; }
QTreeView::item, QListView::item { padding: 2px 3px; }
QTableView::item { padding: 2px 6px; }
QAbstractItemView::item:hover { background: @hover; }
QAbstractItemView::item:selected { background: @accentSoft; color: @text; }
QAbstractItemView::item:disabled { color: @faint; }
QAbstractItemView::item:focus { border-color: @accent; }
QTreeView::item:focus:first { border-right-color: transparent; }
QTreeView::item:focus:middle { border-left-color: transparent; border-right-color: transparent; }
QTreeView::item:focus:last { border-left-color: transparent; }
QHeaderView { background: @panel; border: none; }
QHeaderView::section { background: @panel; color: @muted; border: none; border-bottom: 1px solid @line; padding: 5px 0px 5px 10px; font-weight: 600; }
QHeaderView::up-arrow, QHeaderView::down-arrow { subcontrol-origin: padding; subcontrol-position: center right; width: 10px; height: 10px; }
QHeaderView::up-arrow { image: url(@chevronUp); }
QHeaderView::down-arrow { image: url(@chevron); }
QTableView { gridline-color: transparent; }
QTableCornerButton::section { background: @panel; border: none; }
QTabWidget::pane { border: none; border-top: 1px solid @line; }
QTabBar { background: @panel; qproperty-drawBase: 0; }
QTabBar::tab { background: transparent; color: @muted; padding: 7px 9px; min-height: 18px; border-bottom: 2px solid transparent; }
QTabBar::tab:hover { color: @text; }
QTabBar::tab:selected { color: @text; border-bottom-color: @accent; }
QTabBar::tab:selected:focus { background: @accentSoft; color: @accent; }
QTabBar::tab:disabled { color: @faint; }
QDockWidget { color: @muted; }
QDockWidget::title { background: @panel; padding: 8px 12px 6px 12px; border: none; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: @scroll; border-radius: 3px; margin: 2px; min-height: 24px; min-width: 24px; }
QScrollBar::handle:hover { background: @faint; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QProgressBar { background: @hover; border: none; border-radius: 3px; max-height: 6px; text-align: center; color: transparent; }
QProgressBar::chunk { background: @accent; border-radius: 3px; }
QToolButton[role="plain"] { background: @field; border: 1px solid @line; padding: 5px 12px; }
QToolButton[role="plain"]:hover { background: @hover; }
QToolButton[role="plain"]:focus { border: 2px solid @accent; padding: 4px 11px; }
QToolButton[role="plain"]:disabled { background: @panel; color: @faint; }
QPushButton[role="choice"] { border-radius: 6px; padding: 5px 9px; color: @muted; min-width: 14px; }
QPushButton[role="choice"]:focus { border: 2px solid @accent; padding: 4px 8px; }
QPushButton[role="choice"]:disabled { color: @faint; }
QPushButton[role="choice"]:checked { background: @accentSoft; border-color: @accent; color: @accent; }
QPushButton[role="quiet"] { border: none; background: transparent; color: @accent; padding: 4px 6px; text-align: left; }
QPushButton[role="quiet"]:hover { background: @hover; }
QPushButton[role="quiet"]:focus { border: 2px solid @accent; padding: 2px 4px; }
QPushButton[role="quiet"]:disabled { color: @faint; }
QLabel[role="picture"] { background: @canvas; border: 1px solid @line; border-radius: 8px; color: @faint; }
QDialog[role="popup"] { background: @panel; border: 1px solid @boxLine; }
QFrame[role="notice"] { background: @accentSoft; border: none; border-bottom: 1px solid @line; }
QFrame[role="findbar"] { background: @panel; border: none; border-top: 1px solid @line; }
QFrame[role="hairline"] { background: @line; border: none; }
#statusCut { color: @cut; font-weight: 600; }
#statusProblems[state="good"] { color: @accent; }
#statusProblems[state="warning"] { color: @warning; }
#statusProblems[state="error"] { color: @error; font-weight: 600; }
#statusSaved, #statusCounts { color: @muted; }
#statusStrip QToolButton[stale="true"] { color: @faint; }
#outlineTree { padding: 0 8px 0 6px; }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QMessageBox { messagebox-warning-icon: url(@messageWarning); messagebox-critical-icon: url(@messageWarning); messagebox-question-icon: url(@messageQuestion); messagebox-information-icon: url(@messageInfo); }
QLabel[role="logo"] { color: @accent; }
QSplitter::handle { background: @line; }
QGroupBox { border: none; border-top: 1px solid @line; margin-top: 16px; padding-top: 8px; }
QGroupBox::title { subcontrol-origin: margin; left: 0; color: @muted; }
QLabel[role="section"] { color: @muted; }
QLabel[role="muted"] { color: @muted; }
QLabel[role="error"] { color: @error; }
QLabel[role="good"] { color: @accent; }
QLabel[role="warning"] { color: @warning; }
)");
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
