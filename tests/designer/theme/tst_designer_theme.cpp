// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QGroupBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPainter>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QRadioButton>
#include <QSlider>
#include <QSpinBox>
#include <QTabWidget>
#include <QTableWidget>
#include <QTest>
#include <QToolButton>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <cmath>
#include <functional>
#include <memory>

#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/style.hpp"
#include "designer/theme/theme.hpp"

using namespace coppice::designer;
using namespace Qt::StringLiterals;

namespace {

constexpr double kTextContrast = 4.5;  // WCAG 2.2, 1.4.3
constexpr double kPartContrast = 3;    // WCAG 2.2, 1.4.11: what tells a control and its state

void wear(Scheme scheme) {
  Theme::instance().setChoice(scheme == Scheme::dark ? SchemeChoice::dark : SchemeChoice::light);
}

QImage drawn(QWidget& widget) {
  widget.ensurePolished();
  QImage image(widget.size(), QImage::Format_RGB32);
  image.fill(Theme::instance().color(Token::panel));
  widget.render(&image);
  return image;
}

/// The most that any pixel of the picture stands out from the ground.
double strongest(const QImage& image, const QRect& area, const QColor& ground) {
  double max = 1;
  for (int y = area.top(); y <= area.bottom(); ++y) {
    for (int x = area.left(); x <= area.right(); ++x) {
      max = std::max(max, contrast(image.pixelColor(x, y), ground));
    }
  }
  return max;
}

/// The leftmost column that holds anything but the colour of the row.
int firstInk(const QImage& image, const QRect& row) {
  const QColor ground = image.pixelColor(row.right() - 2, row.center().y());
  for (int x = row.left(); x <= row.right(); ++x) {
    for (int y = row.top(); y <= row.bottom(); ++y) {
      if (contrast(image.pixelColor(x, y), ground) > 2) {
        return x;
      }
    }
  }
  return -1;
}

int differences(const QImage& a, const QImage& b) {
  int count = 0;
  for (int y = 0; y < a.height(); ++y) {
    for (int x = 0; x < a.width(); ++x) {
      count += a.pixel(x, y) != b.pixel(x, y) ? 1 : 0;
    }
  }
  return count;
}

/// Every control that the program has, in every state, for a person to look at.
std::unique_ptr<QWidget> gallery() {
  auto page = std::make_unique<QWidget>();
  page->setProperty("role", u"panel"_s);
  auto* grid = new QGridLayout(page.get());
  int row = 0;
  const auto line = [&](std::initializer_list<QWidget*> widgets) {
    auto* box = new QHBoxLayout;
    for (QWidget* widget : widgets) {
      box->addWidget(widget);
    }
    box->addStretch();
    grid->addLayout(box, row++, 0);
  };
  const auto button = [&](const QString& text, const char* role = nullptr, bool isEnabled = true,
                          bool isChecked = false) {
    auto* made = new QPushButton(text);
    made->setProperty("role", role != nullptr ? QVariant(QLatin1String(role)) : QVariant());
    made->setEnabled(isEnabled);
    made->setCheckable(isChecked);
    made->setChecked(isChecked);
    made->setAutoDefault(false);
    return made;
  };
  line({button(u"Plain"_s), button(u"Disabled"_s, nullptr, false), button(u"Primary"_s, "primary"),
        button(u"Disabled"_s, "primary", false), button(u"quiet"_s, "quiet"), button(u"quiet off"_s, "quiet", false)});
  line({button(u"chip"_s, "chip"), button(u"chip on"_s, "chip", true, true), button(u"8"_s, "choice"),
        button(u"16"_s, "choice", true, true), button(u"off"_s, "choice", false)});
  const auto tool = [&](const QString& name, bool isEnabled, bool isChecked, const char* role = nullptr) {
    auto* made = new QToolButton;
    made->setIcon(icon(name));
    made->setText(name);
    made->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    made->setEnabled(isEnabled);
    made->setCheckable(true);
    made->setChecked(isChecked);
    made->setProperty("role", role != nullptr ? QVariant(QLatin1String(role)) : QVariant());
    return made;
  };
  line({tool(u"draw"_s, true, false), tool(u"analyse"_s, true, true), tool(u"run"_s, false, false),
        tool(u"copy"_s, true, false, "plain"), tool(u"save"_s, false, false, "plain")});
  const auto label = [&](const QString& text, const char* role, bool isEnabled = true) {
    auto* made = new QLabel(text);
    made->setProperty("role", role != nullptr ? QVariant(QLatin1String(role)) : QVariant());
    made->setEnabled(isEnabled);
    return made;
  };
  line({label(u"Label"_s, nullptr), label(u"disabled"_s, nullptr, false), label(u"muted"_s, "muted"),
        label(u"section"_s, "section"), label(u"error"_s, "error"), label(u"<a href='x'>link</a>"_s, nullptr)});
  const auto field = [&](const QString& text, bool isEnabled, bool isReadOnly = false, bool isInvalid = false) {
    auto* made = new QLineEdit(text);
    made->setPlaceholderText(u"placeholder"_s);
    made->setEnabled(isEnabled);
    made->setReadOnly(isReadOnly);
    made->setClearButtonEnabled(true);
    made->setProperty("invalid", isInvalid);
    return made;
  };
  line({field(u"typed"_s, true), field({}, true), field(u"disabled"_s, false), field(u"read only"_s, true, true),
        field(u"wrong"_s, true, false, true)});
  auto* combo = new QComboBox;
  combo->addItems({u"combo"_s, u"other"_s});
  auto* comboOff = new QComboBox;
  comboOff->addItem(u"disabled"_s);
  comboOff->setEnabled(false);
  auto* comboEdit = new QComboBox;
  comboEdit->setEditable(true);
  comboEdit->addItem(u"editable"_s);
  auto* spin = new QSpinBox;
  auto* spinOff = new QDoubleSpinBox;
  spinOff->setEnabled(false);
  line({combo, comboOff, comboEdit, spin, spinOff});
  QWidget* checks[6];
  for (int i = 0; i < 6; ++i) {
    auto* check = new QCheckBox(i < 3 ? u"check"_s : u"disabled"_s);
    check->setTristate(i % 3 == 2);
    check->setCheckState(i % 3 == 0 ? Qt::Unchecked : (i % 3 == 1 ? Qt::Checked : Qt::PartiallyChecked));
    check->setEnabled(i < 3);
    checks[i] = check;
  }
  line({checks[0], checks[1], checks[2], checks[3], checks[4], checks[5]});
  QWidget* radios[4];
  for (int i = 0; i < 4; ++i) {
    auto* group = new QWidget;
    auto* box = new QHBoxLayout(group);
    box->setContentsMargins({});
    auto* radio = new QRadioButton(i < 2 ? u"radio"_s : u"disabled"_s);
    radio->setChecked(i % 2 == 1);
    radio->setEnabled(i < 2);
    box->addWidget(radio);
    radios[i] = group;
  }
  auto* slider = new QSlider(Qt::Horizontal);
  slider->setValue(40);
  auto* sliderOff = new QSlider(Qt::Horizontal);
  sliderOff->setValue(40);
  sliderOff->setEnabled(false);
  line({radios[0], radios[1], radios[2], radios[3], slider, sliderOff});
  auto* progress = new QProgressBar;
  progress->setValue(60);
  auto* group = new QGroupBox(u"group"_s);
  group->setCheckable(true);
  line({progress, group});
  auto* dialog = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel);
  line({dialog});
  auto* views = new QHBoxLayout;
  auto* tree = new QTreeWidget;
  tree->setHeaderLabels({u"Name"_s, u"What"_s});
  tree->setAlternatingRowColors(true);
  for (int i = 0; i < 6; ++i) {
    auto* item = new QTreeWidgetItem(tree, {i < 3 ? u"check"_s : u"disabled"_s, u"detail"_s});
    item->setCheckState(0, i % 3 == 0 ? Qt::Unchecked : (i % 3 == 1 ? Qt::Checked : Qt::PartiallyChecked));
    item->setDisabled(i >= 3);
    new QTreeWidgetItem(item, {u"child"_s});
  }
  tree->topLevelItem(0)->setExpanded(true);
  tree->topLevelItem(1)->setSelected(true);
  auto* table = new QTableWidget(4, 2);
  table->setAlternatingRowColors(true);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->verticalHeader()->hide();
  table->setShowGrid(false);
  table->setHorizontalHeaderLabels({u"Link"_s, u"GB/s"_s});
  for (int i = 0; i < 4; ++i) {
    auto* name = new QTableWidgetItem(u"b0g%1"_s.arg(i));
    name->setCheckState(i % 2 == 0 ? Qt::Checked : Qt::Unchecked);
    table->setItem(i, 0, name);
    auto* number = new QTableWidgetItem(u"300"_s);
    number->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    table->setItem(i, 1, number);
  }
  table->selectRow(1);
  auto* list = new QListWidget;
  list->addItems({u"one"_s, u"two"_s, u"three"_s});
  list->setCurrentRow(1);
  views->addWidget(tree);
  views->addWidget(table);
  views->addWidget(list);
  grid->addLayout(views, row++, 0);
  auto* tabs = new QTabWidget;
  tabs->addTab(new QPlainTextEdit(u"Some text"_s), u"Tab"_s);
  tabs->addTab(new QWidget, u"Other"_s);
  tabs->addTab(new QWidget, u"Disabled"_s);
  tabs->setTabEnabled(2, false);
  tabs->setFixedHeight(110);
  grid->addWidget(tabs, row++, 0);
  return page;
}

}  // namespace

class TestDesignerTheme : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void textIsReadable_data();
  void textIsReadable();
  void rowsStandStill_data();
  void rowsStandStill();
  void checksShow_data();
  void checksShow();
  void disabledTextIsReadable_data();
  void disabledTextIsReadable();
  void focusShows_data();
  void focusShows();
  void switchesLive();
  void boldIsNotSmeared();
  void headsHaveRoom_data();
  void headsHaveRoom();
  void loadStandsOut_data();
  void loadStandsOut();
  void orangeIsTheLimitAlone_data();
  void orangeIsTheLimitAlone();
  void textStandsOut_data();
  void textStandsOut();
  void iconsAreDrawn();
  void heatRises();

private:
  static void schemes();
};

void TestDesignerTheme::schemes() {
  QTest::addColumn<bool>("isDark");
  QTest::newRow("light") << false;
  QTest::newRow("dark") << true;
}

void TestDesignerTheme::initTestCase() {
  Theme::instance().applyTo(*qobject_cast<QApplication*>(QCoreApplication::instance()));
  Theme::instance().setAnimated(false);
}

void TestDesignerTheme::textIsReadable_data() {
  QTest::addColumn<Token>("ink");
  QTest::addColumn<Token>("ground");
  QTest::addColumn<double>("min");
  const auto add = [](Token ink, std::initializer_list<Token> grounds, double min = kTextContrast) {
    for (const Token ground : grounds) {
      const auto name = [](Token token) { return tokenTable()[static_cast<std::size_t>(token)].name; };
      QTest::addRow("%s on %s", name(ink), name(ground)) << ink << ground << min;
    }
  };
  using enum Token;
  add(text, {window, panel, canvas, field, hover, room, accentSoft, cutSoft, noteFill});
  add(muted, {window, panel, canvas, field, hover, room, accentSoft});
  add(faint, {window, panel, canvas, field}, kPartContrast);
  add(accent, {window, panel, canvas, field, accentSoft});
  add(onAccent, {accent});
  add(cut, {window, panel, canvas, cutSoft});
  add(onCut, {cut});
  add(error, {window, panel, canvas, field});
  add(warning, {window, panel, canvas, field});
  add(gpuLine, {gpuFill});
  add(switchLine, {switchFill});
  add(nicLine, {nicFill});
  add(unknownLine, {unknownFill});
  add(linkText, {canvas, room});
}

void TestDesignerTheme::textIsReadable() {
  QFETCH(Token, ink);
  QFETCH(Token, ground);
  QFETCH(double, min);
  for (const Scheme scheme : {Scheme::light, Scheme::dark}) {
    const Colors& colors = colorsOf(scheme);
    const double found = contrast(colors[ink], colors[ground]);
    QVERIFY2(found >= min, qPrintable(u"%1 in %2"_s.arg(found).arg(colors.isDark() ? u"dark"_s : u"light"_s)));
  }
}

void TestDesignerTheme::rowsStandStill_data() {
  schemes();
}

void TestDesignerTheme::rowsStandStill() {
  QFETCH(bool, isDark);
  wear(isDark ? Scheme::dark : Scheme::light);
  QTreeWidget tree;
  QTableWidget table(2, 1);
  QListWidget list;
  tree.setHeaderHidden(true);
  tree.setRootIsDecorated(false);
  table.verticalHeader()->hide();
  table.horizontalHeader()->hide();
  table.setShowGrid(false);
  for (int i = 0; i < 2; ++i) {
    new QTreeWidgetItem(&tree, {u"row"_s});
    table.setItem(i, 0, new QTableWidgetItem(u"row"_s));
    list.addItem(u"row"_s);
  }
  for (QAbstractItemView* view : std::initializer_list<QAbstractItemView*>{&tree, &table, &list}) {
    view->resize(200, 100);
    view->setCurrentIndex(view->model()->index(1, 0));
    view->selectionModel()->select(view->model()->index(1, 0), QItemSelectionModel::ClearAndSelect);
    const QImage image = drawn(*view);
    int ink[2];
    for (int i = 0; i < 2; ++i) {
      QRect row = view->visualRect(view->model()->index(i, 0));
      row.translate(view->viewport()->pos());
      ink[i] = firstInk(image, row);
      QVERIFY2(ink[i] >= row.left() + 4, view->metaObject()->className());
    }
    QVERIFY2(std::abs(ink[0] - ink[1]) <= 1, view->metaObject()->className());
  }
}

void TestDesignerTheme::checksShow_data() {
  schemes();
}

void TestDesignerTheme::checksShow() {
  QFETCH(bool, isDark);
  wear(isDark ? Scheme::dark : Scheme::light);
  const Colors& colors = Theme::instance().colors();
  QTreeWidget tree;
  tree.setHeaderHidden(true);
  tree.setRootIsDecorated(false);
  tree.resize(200, 120);
  for (int i = 0; i < 3; ++i) {
    auto* item = new QTreeWidgetItem(&tree, {QString()});
    item->setCheckState(0, static_cast<Qt::CheckState>(i));
  }
  const QImage image = drawn(tree);
  const QColor ground = colors[Token::panel];
  for (int i = 0; i < 3; ++i) {
    QRect row = tree.visualRect(tree.model()->index(i, 0)).translated(tree.viewport()->pos());
    // Its outline, or its filling.
    QVERIFY2(strongest(image, row, ground) >= kPartContrast, qPrintable(QString::number(i)));
  }
  // Checked, a filled box with a mark on it.
  const QRect checked = tree.visualRect(tree.model()->index(2, 0)).translated(tree.viewport()->pos());
  int filled = 0;
  for (int y = checked.top(); y <= checked.bottom(); ++y) {
    for (int x = checked.left(); x <= checked.right(); ++x) {
      filled += image.pixelColor(x, y) == colors[Token::accent] ? 1 : 0;
    }
  }
  QVERIFY2(filled > 60, qPrintable(QString::number(filled)));
  // All three are told apart.
  for (int i = 0; i < 2; ++i) {
    const QRect a = tree.visualRect(tree.model()->index(i, 0)).translated(tree.viewport()->pos());
    const QRect b = tree.visualRect(tree.model()->index(i + 1, 0)).translated(tree.viewport()->pos());
    QVERIFY(differences(image.copy(a), image.copy(b)) > 20);
  }
}

void TestDesignerTheme::disabledTextIsReadable_data() {
  schemes();
}

void TestDesignerTheme::disabledTextIsReadable() {
  QFETCH(bool, isDark);
  wear(isDark ? Scheme::dark : Scheme::light);
  const Colors& colors = Theme::instance().colors();
  QPushButton button(u"MMMM"_s);
  QPushButton primary(u"MMMM"_s);
  primary.setProperty("role", u"primary"_s);
  QLabel label(u"MMMM"_s);
  QCheckBox check(u"MMMM"_s);
  QRadioButton radio(u"MMMM"_s);
  QLineEdit field(u"MMMM"_s);
  QComboBox combo;
  combo.addItem(u"MMMM"_s);
  QSpinBox spin;
  spin.setValue(88);
  QToolButton tool;
  tool.setText(u"MMMM"_s);
  for (QWidget* widget :
       std::initializer_list<QWidget*>{&button, &primary, &label, &check, &radio, &field, &combo, &spin, &tool}) {
    widget->setEnabled(false);
    widget->ensurePolished();
    widget->resize(widget->sizeHint().expandedTo(QSize(120, 30)));
    const QImage image = drawn(*widget);
    const QColor ground = image.pixelColor(widget->width() - 30, 5);
    // Fainter than text that can be changed, but to be read.
    QVERIFY2(strongest(image, image.rect().adjusted(3, 3, -3, -3), ground) >= kPartContrast,
             widget->metaObject()->className());
    QVERIFY2(contrast(colors[Token::text], ground) > strongest(image, image.rect().adjusted(3, 3, -3, -3), ground),
             widget->metaObject()->className());
  }
}

void TestDesignerTheme::focusShows_data() {
  schemes();
}

void TestDesignerTheme::focusShows() {
  QFETCH(bool, isDark);
  wear(isDark ? Scheme::dark : Scheme::light);
  const std::unique_ptr<QWidget> page = gallery();
  page->show();
  page->activateWindow();
  QVERIFY(QTest::qWaitForWindowActive(page.get()));
  QWidget* widget = page->findChild<QPushButton*>();
  QSet<QWidget*> seen;
  widget->setFocus(Qt::TabFocusReason);
  for (int i = 0; i < 60; ++i) {
    widget = QApplication::focusWidget();
    QVERIFY(widget != nullptr);
    if (seen.contains(widget)) {
      break;
    }
    seen.insert(widget);
    QCoreApplication::processEvents();
    const QImage with = page->grab().toImage();
    QTest::keyClick(widget, widget->inherits("QPlainTextEdit") ? Qt::Key_Backtab : Qt::Key_Tab);
    if (QApplication::focusWidget() == widget) {
      break;
    }
    const QRectF place(widget->mapTo(page.get(), QPoint()), widget->size());
    const qreal scale = with.devicePixelRatio();
    const QRect where = QRectF(place.topLeft() * scale, place.size() * scale).toAlignedRect();
    const QImage without = page->grab().toImage();
    const int found = differences(with.copy(where), without.copy(where));
    QVERIFY2(found >= 12, qPrintable(QLatin1String(widget->metaObject()->className()) + u' ' +
                                     widget->property("text").toString() + u' ' + QString::number(found)));
  }
  QVERIFY2(seen.size() > 20, qPrintable(QString::number(seen.size())));
}

void TestDesignerTheme::switchesLive() {
  wear(Scheme::light);
  QPushButton button(u"x"_s);
  button.resize(100, 40);
  const QImage light = drawn(button);
  int told = 0;
  const auto connection = connect(&Theme::instance(), &Theme::changed, this, [&] { ++told; });
  wear(Scheme::dark);
  QCOMPARE(told, 1);
  QCOMPARE(Theme::instance().scheme(), Scheme::dark);
  QVERIFY(differences(light, drawn(button)) > 1000);
  wear(Scheme::dark);
  QCOMPARE(told, 1);
  disconnect(connection);
}

/// A head that is as wide as its contents shows all of its text.
/// There is no heavier font than SemiBold, and Qt makes none up.
void TestDesignerTheme::boldIsNotSmeared() {
  const auto drawn = [](QFont::Weight weight) {
    QImage image(260, 30, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    painter.setFont(uiFont(13, weight));
    painter.drawText(4, 20, u"AllReduce 533.33 GB/s"_s);
    return image;
  };
  QVERIFY(drawn(QFont::Normal) != drawn(QFont::DemiBold));
  QVERIFY(drawn(QFont::Bold) == drawn(QFont::DemiBold));
}

void TestDesignerTheme::headsHaveRoom_data() {
  QTest::addColumn<int>("alignment");
  QTest::newRow("left") << static_cast<int>(Qt::AlignLeft);
  QTest::newRow("right") << static_cast<int>(Qt::AlignRight);
}

void TestDesignerTheme::headsHaveRoom() {
  QFETCH(int, alignment);
  Theme::instance().setChoice(SchemeChoice::light);
  QTableWidget table(1, 5);
  const QStringList texts{u"algbw"_s, u"busbw"_s, u"wrong"_s, u"Machine"_s, u"In place"_s};
  table.setHorizontalHeaderLabels(texts);
  table.horizontalHeader()->setDefaultAlignment(static_cast<Qt::Alignment>(alignment) | Qt::AlignVCenter);
  table.horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  table.resize(800, 120);
  table.show();
  QVERIFY(QTest::qWaitForWindowExposed(&table));
  const QImage shown = table.horizontalHeader()->grab().toImage();
  const double scale = shown.devicePixelRatio();
  const QRgb ground = shown.pixel(shown.width() - 2, shown.height() / 2);
  for (int column = 0; column < texts.size(); ++column) {
    // Some ground between the edge and the first letter: none of it is cut off.
    const int left = static_cast<int>(table.horizontalHeader()->sectionViewportPosition(column) * scale);
    int first = 0;
    const auto hasInk = [&](int x) {
      for (int y = 2; y < shown.height() - 4; ++y) {
        if (shown.pixel(x, y) != ground) {
          return true;
        }
      }
      return false;
    };
    while (left + first < shown.width() && !hasInk(left + first)) {
      ++first;
    }
    QVERIFY2(first >= 6 * scale, qPrintable(texts[column] + u' ' + QString::number(first)));
  }
}

void TestDesignerTheme::loadStandsOut_data() {
  schemes();
}

/// More load is more contrast with the drawing in both schemes; idle can be seen, and is the quietest.
void TestDesignerTheme::loadStandsOut() {
  QFETCH(bool, isDark);
  const Scheme scheme = isDark ? Scheme::dark : Scheme::light;
  const QColor ground = colorsOf(scheme)[Token::canvas];
  double before = contrast(heat(0, scheme), ground);
  QVERIFY2(before >= 1.5, qPrintable(QString::number(before)));
  constexpr int kSteps = 20;
  for (int step = 1; step <= kSteps; ++step) {
    const double now = contrast(heat(static_cast<double>(step) / kSteps, scheme), ground);
    QVERIFY2(now > before, qPrintable(QString::number(step)));
    before = now;
  }
  QVERIFY(before > 10);
  QCOMPARE(heat(-1, scheme), heat(0, scheme));
  QCOMPARE(heat(7, scheme), heat(1, scheme));
}

void TestDesignerTheme::orangeIsTheLimitAlone_data() {
  schemes();
}

/// No other scale comes near the colour of the limit, none is black, and all can be seen.
void TestDesignerTheme::orangeIsTheLimitAlone() {
  QFETCH(bool, isDark);
  const Scheme scheme = isDark ? Scheme::dark : Scheme::light;
  const Colors& colors = colorsOf(scheme);
  const auto isOrange = [](const QColor& color) {
    constexpr int kMinSaturation = 60;
    return color.hsvHue() > 8 && color.hsvHue() < 52 && color.hsvSaturation() > kMinSaturation;
  };
  QVERIFY(isOrange(colors[Token::cut]));
  const auto check = [&](const QColor& color, const QString& what) {
    QVERIFY2(!isOrange(color), qPrintable(what + color.name()));
    QVERIFY2(color.value() > 60, qPrintable(what + color.name()));
    QVERIFY2(contrast(color, colors[Token::canvas]) > 2.2, qPrintable(what + color.name()));
  };
  for (int index = 0; index < categoryCount(); ++index) {
    check(category(index, scheme), u"category "_s);
  }
  constexpr int kMany = 1024;
  for (int index = 0; index < kMany; ++index) {
    check(mutedHue(index, scheme), u"hue "_s);
  }
  for (int index = 1; index < categoryCount(); ++index) {
    QVERIFY(category(index, scheme) != category(index - 1, scheme));
  }
}

void TestDesignerTheme::textStandsOut_data() {
  QTest::addColumn<int>("text");
  QTest::addColumn<int>("ground");
  QTest::addColumn<double>("min");
  const auto row = [](const char* name, Token text, Token ground, double min) {
    QTest::newRow(name) << static_cast<int>(text) << static_cast<int>(ground) << min;
  };
  for (const auto& [name, ground] : {std::pair{"window", Token::window}, std::pair{"panel", Token::panel},
                                     std::pair{"canvas", Token::canvas}, std::pair{"room", Token::room}}) {
    row(qPrintable(QStringLiteral("text on %1").arg(name)), Token::text, ground, 7);
    row(qPrintable(QStringLiteral("muted on %1").arg(name)), Token::muted, ground, 4.5);
    row(qPrintable(QStringLiteral("faint on %1").arg(name)), Token::faint, ground, 3);
    row(qPrintable(QStringLiteral("accent on %1").arg(name)), Token::accent, ground, 4.5);
    row(qPrintable(QStringLiteral("error on %1").arg(name)), Token::error, ground, 4.5);
    row(qPrintable(QStringLiteral("warning on %1").arg(name)), Token::warning, ground, 4.5);
    row(qPrintable(QStringLiteral("cut on %1").arg(name)), Token::cut, ground, 4.5);
  }
  row("on accent", Token::onAccent, Token::accent, 4.5);
  row("on cut", Token::onCut, Token::cut, 4.5);
  row("text on soft accent", Token::text, Token::accentSoft, 7);
  row("gpu", Token::gpuLine, Token::gpuFill, 4.5);
  row("switch", Token::switchLine, Token::switchFill, 4.5);
  row("nic", Token::nicLine, Token::nicFill, 4.5);
  row("unknown", Token::unknownLine, Token::unknownFill, 4.5);
  row("link text", Token::linkText, Token::canvas, 4.5);
  row("text on note", Token::text, Token::noteFill, 7);
}

void TestDesignerTheme::textStandsOut() {
  QFETCH(int, text);
  QFETCH(int, ground);
  QFETCH(double, min);
  for (const Scheme scheme : {Scheme::light, Scheme::dark}) {
    const Colors& colors = colorsOf(scheme);
    const double ratio = contrast(colors[static_cast<Token>(text)], colors[static_cast<Token>(ground)]);
    QVERIFY2(ratio >= min,
             qPrintable(QStringLiteral("%1 at %2").arg(scheme == Scheme::dark ? "dark" : "light").arg(ratio)));
  }
}

void TestDesignerTheme::iconsAreDrawn() {
  QVERIFY(!icon(QStringLiteral("undo")).isNull());  // which brings the drawings in
  const QStringList files = QDir(QStringLiteral(":/icons")).entryList({QStringLiteral("*.svg")}, QDir::Files);
  QVERIFY(files.size() > 50);
  for (const QString& file : files) {
    const QString name = file.chopped(4);
    const QImage image = iconPixmap(name, 24, 2, Qt::black).toImage();
    QCOMPARE(image.size(), QSize(48, 48));
    int inked = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) {
        inked += qAlpha(image.pixel(x, y)) > 60 ? 1 : 0;
      }
    }
    QVERIFY2(inked > 12, qPrintable(name));
  }
  QVERIFY(icon(QStringLiteral("no such icon")).isNull());
}

void TestDesignerTheme::heatRises() {
  for (const Scheme scheme : {Scheme::light, Scheme::dark}) {
    double last = -1;
    for (int i = 0; i <= 20; ++i) {
      const double distance = contrast(heat(i / 20.0, scheme), colorsOf(scheme)[Token::canvas]);
      QVERIFY(distance > last);
      last = distance;
    }
  }
}

QTEST_MAIN(TestDesignerTheme)
#include "tst_designer_theme.moc"
