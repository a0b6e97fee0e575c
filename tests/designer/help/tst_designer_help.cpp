// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QComboBox>
#include <QDirIterator>
#include <QDockWidget>
#include <QFile>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSet>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBlock>
#include <QToolButton>
#include <QUndoStack>
#include <QVBoxLayout>
#include <algorithm>

#include "designer/features/help/help_feature.hpp"
#include "designer/help/about_dialog.hpp"
#include "designer/help/help_book.hpp"
#include "designer/help/help_pictures.hpp"
#include "designer/help/help_window.hpp"
#include "designer/help/plurals.hpp"
#include "designer/help/tour.hpp"
#include "designer/playback/timeline_panel.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/test_application.hpp"
#include "designer/theme/theme.hpp"
#include "designer/window/main_window.hpp"
#include "support/waiting.hpp"

using namespace coppice::designer;
using namespace Qt::StringLiterals;

namespace {

/// Says nothing and saves nothing.
class Silent : public Prompts {
public:
  Unsaved unsavedChanges(QWidget*, const QString&) override {
    ++asked;
    return Unsaved::discard;
  }
  QStringList filesToOpen(QWidget*, const QString&, const QString&) override { return {}; }
  QString fileToSave(QWidget*, const QString&, const QString&) override { return {}; }
  QString folder(QWidget*, const QString&, const QString&) override { return {}; }
  std::optional<QString> text(QWidget*, const QString&, const QString&, const QString&) override { return {}; }
  std::optional<int> number(QWidget*, const QString&, const QString&, int, int, int) override { return {}; }
  std::optional<bool> choice(QWidget*, const QString&, const QString&, const QString&, const QString&) override {
    return {};
  }
  void failure(QWidget*, const QString&, const QString&) override {}
  int asked = 0;
};

struct Fixture {
  explicit Fixture(bool keepsSettings = false) {
    auto owned = std::make_unique<Silent>();
    prompts = owned.get();
    window = std::make_unique<MainWindow>(
        WindowOptions{.recoveryFolder = dir.filePath(u"recovery"_s), .keepsSettings = keepsSettings}, std::move(owned));
    window->show();
    [[maybe_unused]] const bool isActive = QTest::qWaitForWindowActive(window.get());
  }
  [[nodiscard]] HelpWindow* help() const { return window->findChild<HelpWindow*>(); }
  [[nodiscard]] Tour* tour() const { return window->findChild<Tour*>(); }

  QTemporaryDir dir;
  Silent* prompts;
  std::unique_ptr<MainWindow> window;
};

}  // namespace

class TestDesignerHelp : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void everyPageIsInTheBook();
  void everyLinkLeadsSomewhere();
  void everyPictureIsDrawn_data();
  void everyPictureIsDrawn();
  void anchors_data();
  void anchors();
  void search_data();
  void search();
  void glossaryIsSorted();
  void windowFollowsLinksBackAndForth();
  void windowSearches();
  void everyDockHasAPage();
  void keyExplainsWhereYouAre();
  void plurals_data();
  void plurals();
  void countsInTheSourcesAreUnderstood();
  void aboutHasTheLicences();
  void tourByKeys();
  void tourLeavesItsTargetUsable();
  void tourOfTheWindow();
  void tourPlays();
  void tourComesOnce();
};

void TestDesignerHelp::initTestCase() {
  coppice::designer::test::prepareApplication("help");
}

void TestDesignerHelp::everyPageIsInTheBook() {
  // The pages of the program's resources: all of resources/help, and those of the manual.
  const QStringList files = QDir(u":/help"_s).entryList({u"*.md"_s}, QDir::Files);
  const QStringList help =
      QDir(QStringLiteral(COPPICE_SOURCE_DIR) + u"/resources/help"_s).entryList({u"*.md"_s}, QDir::Files);
  QVERIFY(help.size() > 20);
  for (const QString& file : help) {
    QVERIFY2(files.contains(file), qPrintable(file));
  }
  for (const QString& page : {u"command-line"_s, u"running"_s, u"fabric-files"_s, u"performance"_s, u"glossary"_s}) {
    QVERIFY2(files.contains(page + u".md"_s), qPrintable(page));
  }
  for (const QString& file : files) {
    const HelpTopic* topic = HelpBook::instance().find(file.chopped(3));
    QVERIFY2(topic != nullptr, qPrintable(file));
    QVERIFY2(!topic->keywords.isEmpty(), qPrintable(file));
    // Screenshots are left out: the program does not carry them.
    QVERIFY2(!topic->text.contains(u"](../"_s) || !topic->text.contains(u".png)"_s), qPrintable(file));
  }
  QCOMPARE(static_cast<qsizetype>(HelpBook::instance().topics().size()), files.size());
}

void TestDesignerHelp::everyLinkLeadsSomewhere() {
  static const QRegularExpression kLink(u"\\]\\((?:(help|picture|http[s]?):)?([^):#]*)#?([^)]*)\\)"_s);
  int seen = 0;
  for (const HelpTopic& topic : HelpBook::instance().topics()) {
    for (auto it = kLink.globalMatch(topic.text); it.hasNext();) {
      const auto match = it.next();
      ++seen;
      if (match.captured(1) == u"picture"_s) {
        continue;  // everyPictureIsDrawn
      }
      // In the manual: a file, or a heading of the same page.
      const bool isFile = match.captured(1).isEmpty();
      const QString id = !isFile                       ? match.captured(2)
                         : match.captured(2).isEmpty() ? topic.id
                                                       : QFileInfo(match.captured(2)).completeBaseName();
      QVERIFY2(isFile || match.captured(1) == u"help"_s, qPrintable(topic.id + match.captured(0)));
      const HelpTopic* target = HelpBook::instance().find(id);
      QVERIFY2(target != nullptr, qPrintable(topic.id + match.captured(0)));
      const bool hasAnchor =
          match.captured(3).isEmpty() ||
          std::any_of(target->sections.begin(), target->sections.end(),
                      [&](const HelpSection& section) { return section.anchor == match.captured(3); });
      QVERIFY2(hasAnchor, qPrintable(topic.id + match.captured(0)));
    }
  }
  QVERIFY(seen > 40);
}

void TestDesignerHelp::everyPictureIsDrawn_data() {
  QTest::addColumn<QString>("name");
  static const QRegularExpression kPicture(u"\\]\\(picture:([^)]*)\\)"_s);
  QSet<QString> names;
  for (const HelpTopic& topic : HelpBook::instance().topics()) {
    for (auto it = kPicture.globalMatch(topic.text); it.hasNext();) {
      names << it.next().captured(1);
    }
  }
  QVERIFY(names.size() > 4);
  for (const QString& name : names) {
    QTest::newRow(qPrintable(name)) << name;
  }
}

void TestDesignerHelp::everyPictureIsDrawn() {
  QFETCH(QString, name);
  constexpr double kWidth = 400;
  for (const Scheme scheme : {Scheme::light, Scheme::dark}) {
    const QImage image = helpPicture(name, scheme, kWidth, 2);
    QVERIFY(!image.isNull());
    QVERIFY(image.deviceIndependentSize().width() <= kWidth + 1);
    // A dock has the colour of panels, about: screenshots are stored with few colours.
    const QColor ground = image.pixelColor(0, 0);
    QVERIFY(std::abs(ground.lightness() - colorsOf(scheme)[Token::canvas].lightness()) < 24);
    int drawn = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) {
        drawn += image.pixelColor(x, y) != ground ? 1 : 0;
      }
    }
    QVERIFY(drawn > 2000);
  }
  QVERIFY(helpPicture(u"nothing"_s, Scheme::light, kWidth, 1).isNull());
}

void TestDesignerHelp::anchors_data() {
  QTest::addColumn<QString>("heading");
  QTest::addColumn<QString>("anchor");
  QTest::newRow("word") << u"Cut"_s << u"cut"_s;
  QTest::newRow("words") << u"Tied cuts"_s << u"tied-cuts"_s;
  QTest::newRow("signs") << u"B⁺(S)"_s << u"b-s"_s;
  QTest::newRow("commas") << u"Multicast, aggregation"_s << u"multicast-aggregation"_s;
  QTest::newRow("nothing") << u"…"_s << u""_s;
}

void TestDesignerHelp::anchors() {
  QFETCH(QString, heading);
  QTEST(HelpBook::anchorOf(heading), "anchor");
}

void TestDesignerHelp::search_data() {
  QTest::addColumn<QString>("query");
  QTest::addColumn<QString>("topic");  // of the first hit; empty = none
  QTest::addColumn<QString>("anchor");
  QTest::newRow("glossary word") << u"multiplicity"_s << u"glossary"_s << u"multiplicity"_s;
  QTest::newRow("part of a word") << u"threadbl"_s << u"glossary"_s << u"threadblock"_s;
  QTest::newRow("capitals") << u"ALGBW"_s << u"glossary"_s << u"algbw"_s;
  QTest::newRow("title") << u"minimap"_s << u"minimap"_s << u""_s;
  QTest::newRow("keyword") << u"crash"_s << u"files"_s << u"recovery"_s;
  QTest::newRow("two words") << u"round robin"_s << u"linking"_s << u"between-two-sets"_s;
  QTest::newRow("nonsense") << u"xyzzy"_s << u""_s << u""_s;
  QTest::newRow("one of two is nonsense") << u"cut xyzzy"_s << u""_s << u""_s;
  QTest::newRow("blank") << u"  "_s << u""_s << u""_s;
}

void TestDesignerHelp::search() {
  QFETCH(QString, query);
  QFETCH(QString, topic);
  QFETCH(QString, anchor);
  const std::vector<HelpHit> hits = HelpBook::instance().search(query);
  if (topic.isEmpty()) {
    QVERIFY(hits.empty());
    return;
  }
  QVERIFY(!hits.empty());
  QCOMPARE(hits.front().topic, topic);
  QCOMPARE(hits.front().anchor, anchor);
  QVERIFY(std::is_sorted(hits.begin(), hits.end(), [](const auto& a, const auto& b) { return a.score > b.score; }));
  QVERIFY(!hits.front().excerpt.contains(u"]("_s));
}

void TestDesignerHelp::glossaryIsSorted() {
  const HelpTopic* glossary = HelpBook::instance().find(u"glossary"_s);
  QVERIFY(glossary != nullptr);
  QVERIFY(glossary->sections.size() > 20);
  for (std::size_t i = 2; i < glossary->sections.size(); ++i) {
    QVERIFY2(glossary->sections[i - 1].anchor < glossary->sections[i].anchor,
             qPrintable(glossary->sections[i].heading));
  }
}

void TestDesignerHelp::windowFollowsLinksBackAndForth() {
  HelpWindow help;
  help.show();
  help.showTopic(u"bound"_s);
  QCOMPARE(help.topic(), u"bound"_s);
  auto* page = help.findChild<HelpPage*>(u"helpPage"_s);
  Q_EMIT page->anchorClicked(QUrl(u"help:glossary#tied-cuts"_s));
  QCOMPARE(help.topic(), u"glossary"_s);
  QCOMPARE(help.anchor(), u"tied-cuts"_s);
  // The heading is at the top, or as near as the end of the page allows.
  QCOMPARE(page->textCursor().block().text(), u"Tied cuts"_s);
  QTest::mouseClick(help.findChild<QToolButton*>(u"helpBack"_s), Qt::LeftButton);
  QCOMPARE(help.topic(), u"bound"_s);
  QTest::mouseClick(help.findChild<QToolButton*>(u"helpForward"_s), Qt::LeftButton);
  QCOMPARE(help.topic(), u"glossary"_s);
  // Nothing from outside, and nothing that is not there.
  Q_EMIT page->anchorClicked(QUrl(u"https://example.org/"_s));
  QCOMPARE(help.topic(), u"glossary"_s);
  help.showTopic(u"no-such-page"_s);
  QCOMPARE(help.topic(), u"start"_s);
  // The manual links to files and to its own headings.
  help.showTopic(u"running"_s);
  Q_EMIT page->anchorClicked(QUrl(u"performance.md#executor"_s));
  QCOMPARE(help.topic(), u"performance"_s);
  QCOMPARE(help.anchor(), u"executor"_s);
  help.showTopic(u"glossary"_s);
  Q_EMIT page->anchorClicked(QUrl(u"#cut"_s));
  QCOMPARE(help.topic(), u"glossary"_s);
  QCOMPARE(help.anchor(), u"cut"_s);
  Q_EMIT page->anchorClicked(QUrl(u"../help/bound.md"_s));
  QCOMPARE(help.topic(), u"bound"_s);
  Q_EMIT page->anchorClicked(QUrl(u"no-such-page.md"_s));
  QCOMPARE(help.topic(), u"bound"_s);
  QTest::keyClick(&help, Qt::Key_Escape);
  QVERIFY(!help.isVisible());
}

void TestDesignerHelp::windowSearches() {
  HelpWindow help;
  help.show();
  help.showTopic(u"start"_s);
  auto* list = help.findChild<QListWidget*>(u"helpList"_s);
  auto* search = help.findChild<QLineEdit*>(u"helpSearch"_s);
  const int topics = list->count();
  QCOMPARE(topics, static_cast<int>(HelpBook::instance().topics().size()));
  QTest::keyClicks(search, u"channel"_s);
  QVERIFY(list->count() > 0 && list->count() < topics);
  QTest::keyClick(search, Qt::Key_Return);
  QCOMPARE(help.topic(), u"glossary"_s);
  QCOMPARE(help.anchor(), u"channel"_s);
  search->setText(u"xyzzy"_s);
  QCOMPARE(list->count(), 1);
  QTest::keyClick(search, Qt::Key_Return);
  QCOMPARE(help.anchor(), u"channel"_s);
  search->clear();
  QCOMPARE(list->count(), topics);
}

void TestDesignerHelp::everyDockHasAPage() {
  const Fixture f;
  f.window->workspace().newDocument();
  const QList<QDockWidget*> docks = f.window->findChildren<QDockWidget*>();
  QVERIFY(docks.size() > 10);
  for (QDockWidget* dock : docks) {
    dock->show();
    dock->raise();
    QCoreApplication::processEvents();
    // Something in the dock, or the dock itself, gets the keyboard.
    auto* probe = new QLineEdit(dock->widget());
    probe->show();
    probe->setFocus();
    f.window->actions()[u"help.contents"_s]->trigger();
    const HelpTopic* topic = HelpBook::instance().find(f.help()->topic());
    QVERIFY(topic != nullptr);
    const QStringList general = {u"start"_s, u"draw"_s, u"analyse"_s};
    QVERIFY2(!general.contains(topic->id), qPrintable(dock->objectName() + u" has no page of help"_s));
    delete probe;
    f.window->activateWindow();
    [[maybe_unused]] const bool isActive = QTest::qWaitForWindowActive(f.window.get());
  }
}

void TestDesignerHelp::keyExplainsWhereYouAre() {
  const Fixture f;
  f.window->actions()[u"help.contents"_s]->trigger();
  QCOMPARE(f.help()->topic(), u"start"_s);
  EditorContext* editor = f.window->workspace().newDocument();
  for (const auto& [mode, topic] : {std::pair(Mode::draw, u"draw"_s), std::pair(Mode::analyse, u"analyse"_s),
                                    std::pair(Mode::schedule, u"schedules"_s), std::pair(Mode::run, u"run"_s)}) {
    f.window->workspace().setMode(mode);
    f.window->activateWindow();
    [[maybe_unused]] const bool isActive = QTest::qWaitForWindowActive(f.window.get());
    editor->canvas().setFocus();
    f.window->actions()[u"help.contents"_s]->trigger();
    QCOMPARE(f.help()->topic(), topic);
  }
}

void TestDesignerHelp::plurals_data() {
  QTest::addColumn<int>("n");
  QTest::addColumn<QString>("text");
  QTest::newRow("none") << 0 << u"Move 0 elements"_s;
  QTest::newRow("one") << 1 << u"Move 1 element"_s;
  QTest::newRow("many") << 1234 << u"Move 1234 elements"_s;
}

void TestDesignerHelp::plurals() {
  QFETCH(int, n);
  Plurals translator;
  QCoreApplication::installTranslator(&translator);
  QTEST(QCoreApplication::translate("Any", "Move %n element(s)", nullptr, n), "text");
  // Texts without a count are left alone, whatever they hold.
  QCOMPARE(QCoreApplication::translate("Any", "B⁺(s)"), u"B⁺(s)"_s);
  QCOMPARE(QCoreApplication::translate("Any", "%n in all", nullptr, 2), u"2 in all"_s);
  QCoreApplication::removeTranslator(&translator);
}

void TestDesignerHelp::countsInTheSourcesAreUnderstood() {
  // Every plural that is written as "noun(s)"; what else there is ("entr(y/ies)") the translator would not know.
  static const QRegularExpression kCount(u"\"[^\"]*%n[^\"]*\""_s);
  int seen = 0;
  QDirIterator walk(QStringLiteral(COPPICE_SOURCE_DIR) + u"/app/designer"_s, {u"*.cpp"_s}, QDir::Files,
                    QDirIterator::Subdirectories);
  while (walk.hasNext()) {
    QFile file(walk.next());
    QVERIFY(file.open(QIODevice::ReadOnly));
    for (auto it = kCount.globalMatch(QString::fromUtf8(file.readAll())); it.hasNext();) {
      const QString text = it.next().captured();
      ++seen;
      QVERIFY2(!text.contains(u"/s)"_s) && !text.contains(u"ies)"_s) && !text.contains(u"(es)"_s),
               qPrintable(file.fileName() + u": "_s + text));
    }
  }
  QVERIFY(seen > 0);
}

void TestDesignerHelp::aboutHasTheLicences() {
  AboutDialog about;
  about.show();
  auto* text = about.findChild<QPlainTextEdit*>(u"licenceText"_s);
  auto* choice = about.findChild<QComboBox*>();
  const QStringList heads = {u"GNU GENERAL PUBLIC LICENSE"_s, u"Apache License"_s, u"SIL OPEN FONT LICENSE"_s};
  QCOMPARE(choice->count(), heads.size());
  for (int i = 0; i < choice->count(); ++i) {
    choice->setCurrentIndex(i);
    QVERIFY2(text->toPlainText().contains(heads[i]), qPrintable(heads[i]));
  }
}

void TestDesignerHelp::tourByKeys() {
  QWidget window;
  window.resize(900, 700);
  auto* layout = new QVBoxLayout(&window);
  auto* button = new QPushButton(u"x"_s, &window);
  layout->addWidget(button);
  window.show();
  [[maybe_unused]] const bool isActive = QTest::qWaitForWindowActive(&window);
  QStringList entered;
  const auto step = [&](const QString& title) {
    return TourStep{title, u"text"_s, [button]() -> QWidget* { return button; },
                    [&entered, title] { entered << title; }};
  };
  QPointer<Tour> tour = new Tour(&window, {step(u"a"_s), step(u"b"_s), step(u"c"_s)}, u"Skip"_s);
  QSignalSpy finished(tour, &Tour::finished);
  tour->start();
  QCOMPARE(tour->step(), 0);
  QTest::keyClick(tour, Qt::Key_Right);
  QTest::keyClick(tour, Qt::Key_Left);
  QTest::keyClick(tour, Qt::Key_Left);
  QCOMPARE(tour->step(), 0);
  // Tab goes round the buttons and never into what is dimmed.
  for (int i = 0; i < 5; ++i) {
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    QVERIFY(tour->isAncestorOf(QApplication::focusWidget()));
  }
  tour->findChild<QPushButton*>(u"tourNext"_s)->setFocus();
  QTest::keyClick(tour, Qt::Key_Return);
  QTest::keyClick(tour, Qt::Key_Return);
  QCOMPARE(tour->step(), 2);
  QCOMPARE(entered, QStringList({u"a"_s, u"b"_s, u"a"_s, u"b"_s, u"c"_s}));
  QTest::keyClick(tour, Qt::Key_Return);
  QCOMPARE(finished.size(), 1);
  QVERIFY(finished.first().first().toBool());
  QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  QVERIFY(tour == nullptr);

  tour = new Tour(&window, {step(u"a"_s), step(u"b"_s)}, u"Skip"_s);
  QSignalSpy skipped(tour, &Tour::finished);
  tour->start();
  QTest::keyClick(tour, Qt::Key_Escape);
  QCOMPARE(skipped.size(), 1);
  QVERIFY(!skipped.first().first().toBool());
  QVERIFY(!tour->isVisible());
}

void TestDesignerHelp::tourLeavesItsTargetUsable() {
  QWidget window;
  window.resize(900, 700);
  auto* button = new QPushButton(u"x"_s, &window);
  button->setGeometry(400, 300, 120, 40);
  auto* other = new QPushButton(u"y"_s, &window);
  other->setGeometry(20, 640, 120, 40);
  window.show();
  [[maybe_unused]] const bool isActive = QTest::qWaitForWindowActive(&window);
  auto* tour = new Tour(&window, {{u"a"_s, u"text"_s, [button]() -> QWidget* { return button; }, {}}}, u"Skip"_s);
  tour->start();
  QCoreApplication::processEvents();
  QCOMPARE(window.childAt(button->geometry().center()), button);
  QVERIFY(window.childAt(other->geometry().center()) != other);
  // What is said neither covers it nor leaves the window, whatever the size.
  auto* bubble = tour->findChild<QWidget*>(u"tourBubble"_s);
  for (const QSize size : {QSize(900, 700), QSize(560, 420)}) {
    window.resize(size);
    QTRY_COMPARE_WITH_TIMEOUT(tour->size(), size, coppice::waiting::kPatience);
    QTRY_VERIFY_WITH_TIMEOUT(tour->rect().contains(bubble->geometry()), coppice::waiting::kPatience);
    if (size.width() > 600) {
      QVERIFY(!bubble->geometry().intersects(button->geometry()));
    }
  }
  // A target that is gone leaves the step in the middle.
  button->hide();
  window.resize(901, 701);
  QTRY_VERIFY_WITH_TIMEOUT((bubble->geometry().center() - tour->rect().center()).manhattanLength() < 4,
                           coppice::waiting::kPatience);
}

void TestDesignerHelp::tourOfTheWindow() {
  const Fixture f;
  f.window->actions()[u"help.tour"_s]->trigger();
  QVERIFY(f.tour() != nullptr);
  QVERIFY(f.window->workspace().current() != nullptr);
  QCOMPARE(f.window->workspace().contexts().size(), std::size_t{1});
  // Once at a time.
  f.window->actions()[u"help.tour"_s]->trigger();
  QCOMPARE(f.window->workspace().contexts().size(), std::size_t{1});
  std::set<Mode> modes;
  QPointer<Tour> tour = f.tour();
  const int count = tour->stepCount();
  QVERIFY(count >= 5 && count <= 12);
  for (int i = 0; i < count; ++i) {
    modes.insert(f.window->workspace().mode());
    QTest::keyClick(tour, Qt::Key_Right);
  }
  QVERIFY(modes.contains(Mode::analyse) && modes.contains(Mode::schedule));
  // By its end a schedule is there, and its trees have moved.
  const ScheduleBook* book = f.window->findChild<ScheduleFeature*>()->book();
  QVERIFY(QTest::qWaitFor([&] { return book->current() != nullptr; }, coppice::waiting::kPatience));
  QCOMPARE(book->entries().size(), std::size_t{1});
  QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  QVERIFY(tour == nullptr);
  // The example can be closed without a question.
  f.window->actions()[u"file.close"_s]->trigger();
  QCOMPARE(f.prompts->asked, 0);
  // And closing the window in the middle of a tour is no accident.
  f.window->actions()[u"help.tour"_s]->trigger();
  QVERIFY(f.tour() != nullptr);
}

/// The step that shows a schedule makes it, and the next one plays it.
void TestDesignerHelp::tourPlays() {
  const Fixture f;
  f.window->actions()[u"help.tour"_s]->trigger();
  QPointer<Tour> tour = f.tour();
  const auto* timeline = f.window->findChild<TimelinePanel*>();
  for (int step = 0; step < 7; ++step) {
    QTest::keyClick(tour, Qt::Key_Right);
  }
  QVERIFY(QTest::qWaitFor([&] { return timeline->isPlaying() && timeline->time(); }, coppice::waiting::kPatience));
  QVERIFY(QTest::qWaitFor([&] { return !f.window->workspace().current()->canvas().motion().flows.empty(); },
                          coppice::waiting::kPatience));
  QVERIFY(tour->isAncestorOf(QApplication::focusWidget()));
}

void TestDesignerHelp::tourComesOnce() {
  QSettings().clear();
  {
    const Fixture f(true);
    f.window->help().offerTour();
    QVERIFY(f.tour() != nullptr);
    QTest::keyClick(f.tour(), Qt::Key_Escape);
  }
  const Fixture f(true);
  f.window->help().offerTour();
  QVERIFY(f.tour() == nullptr);
  QSettings().clear();
}

QTEST_MAIN(TestDesignerHelp)
#include "tst_designer_help.moc"
