// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <QApplication>
#include <QDockWidget>
#include <QDropEvent>
#include <QMimeData>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QTest>

#include "designer/document/fabric_file.hpp"
#include "designer/features/find/find_bar.hpp"
#include "designer/theme/theme.hpp"
#include "io/files.hpp"
#include "presets/presets.hpp"
#include "support/waiting.hpp"
#include "window/window_fixture.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;
using test::Fixture;

/// What is kept from one start to the next, and files that change or vanish.
class TestDesignerSession : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void cleanup();
  void theThemeIsRemembered();
  void theSessionComesBack();
  void nothingIsDroppedOnCancel();
  void manyFilesInOneMessage();
  void aNewFabricTakesTheNameOfItsFile();
  void whatVanishesIsNotLost();
};

void TestDesignerSession::initTestCase() {
  designer::test::prepareApplication("session");
}

void TestDesignerSession::cleanup() {
  QSettings().clear();
}

void TestDesignerSession::theThemeIsRemembered() {
  {
    const Fixture f(true);
    QVERIFY(f.window->actions()[u"theme.system"_s]->isChecked());
    test::openPreset(*f.window, u"dgx-a100"_s);
    f.run("theme.dark");
    QCOMPARE(Theme::instance().scheme(), Scheme::dark);
    QVERIFY(!f.window->actions()[u"theme.light"_s]->isChecked());
    f.editor()->canvas().complete();
    const QImage dark = f.window->grab().toImage();
    f.run("theme.light");
    f.editor()->canvas().complete();
    const QImage light = f.window->grab().toImage();
    // Nothing of the window keeps the colours of before, but for what is of the same colour in both.
    int same = 0;
    for (int y = 0; y < light.height(); y += 2) {
      for (int x = 0; x < light.width(); x += 2) {
        same += light.pixel(x, y) == dark.pixel(x, y) ? 1 : 0;
      }
    }
    QVERIFY2(same < light.height() * light.width() / 4 / 100, qPrintable(QString::number(same)));
    f.run("theme.dark");
    f.window->close();
  }
  Theme::instance().setChoice(SchemeChoice::system);
  const Fixture f(true);
  QVERIFY(f.window->actions()[u"theme.dark"_s]->isChecked());
  QCOMPARE(Theme::instance().choice(), SchemeChoice::dark);
  Theme::instance().setChoice(SchemeChoice::system);
}

void TestDesignerSession::theSessionComesBack() {
  const auto centreOf = [](const CanvasView& canvas) {
    return canvas.toScene(QPointF(canvas.width() / 2.0, canvas.height() / 2.0));
  };
  const QTemporaryDir dir;
  QStringList paths;
  for (const char* name : {"one", "two"}) {
    paths << dir.filePath(QLatin1String(name) + u".fabric.json"_s);
    QVERIFY(io::saveFile(paths.back().toStdString(), writeFabricFile(readModel(*presets::make("dgx-a100", {})).model)));
  }
  QPointF centre;
  {
    const Fixture f(true);
    f.window->resize(1200, 800);
    QVERIFY(f.window->files().openFile(paths[0]) != nullptr);
    QCoreApplication::processEvents();
    f.editor()->canvas().setZoom(0.5);
    f.editor()->canvas().panBy({40, 20});
    centre = centreOf(f.editor()->canvas());
    Question question;
    question.collective = Collective::broadcast;
    question.root = f.editor()->model().nodeNamed("b0g3");
    f.editor()->bound().setQuestion(question);
    QVERIFY(f.window->files().openFile(paths[1]) != nullptr);
    f.run("mode.analyse");
    f.window->findChild<QDockWidget*>(u"outlineDock"_s)->hide();
    QVERIFY(f.window->close());
  }
  {
    const Fixture f(true);
    f.window->files().session().restore();
    QCOMPARE(f.window->workspace().mode(), Mode::analyse);
    QCOMPARE(f.window->workspace().contexts().size(), std::size_t(2));
    QCOMPARE(f.editor()->file().path(), paths[1]);
    QVERIFY(f.window->findChild<QDockWidget*>(u"outlineDock"_s)->isHidden());
    f.window->files().openFile(paths[0]);
    QTRY_COMPARE_WITH_TIMEOUT(f.editor()->canvas().zoom(), 0.5, coppice::waiting::kPatience);
    // The docks may still move by a pixel, and the centre of the drawing with them.
    QTRY_VERIFY_WITH_TIMEOUT((centreOf(f.editor()->canvas()) - centre).manhattanLength() < 8, coppice::waiting::kPatience);
    QVERIFY(f.editor()->bound().question().collective == Collective::broadcast);
    QCOMPARE(f.editor()->bound().question().root, f.editor()->model().nodeNamed("b0g3"));
    f.window->close();
  }
}

void TestDesignerSession::nothingIsDroppedOnCancel() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  test::openPreset(*f.window, u"dgx-h100"_s);
  f.answers->unsaved = Prompts::Unsaved::cancel;
  QVERIFY(!f.window->close());
  QCOMPARE(f.answers->asked, 1);
  QCOMPARE(f.window->workspace().contexts().size(), std::size_t(2));
  f.answers->unsaved = Prompts::Unsaved::discard;
  QVERIFY(f.window->close());
  QCOMPARE(f.answers->asked, 2);
}

void TestDesignerSession::manyFilesInOneMessage() {
  const Fixture f(true);
  const QString good = f.example("2x-dgx-a100.fabric.json");
  const QString garbage = f.dir.filePath(u"garbage.fabric.json"_s);
  QVERIFY(io::saveFile(garbage.toStdString(), std::string("\0\xff{{", 4)));
  const QString gone = f.dir.filePath(u"gone.fabric.json"_s);
  const QString pipe = f.dir.filePath(u"pipe.fabric.json"_s);
  QCOMPARE(::mkfifo(QFile::encodeName(pipe).constData(), 0600), 0);
  const QString link = f.dir.filePath(u"link.fabric.json"_s);
  QVERIFY(QFile::link(good, link));
  f.window->files().openFiles({garbage, good, f.dir.path(), gone, pipe, link});
  QCOMPARE(f.answers->failures.size(), 1);
  for (const char* text : {"4 of 6", "garbage.fabric.json", "gone.fabric.json", "folder", "regular"}) {
    QVERIFY2(f.answers->failures.front().contains(QLatin1String(text)), qPrintable(f.answers->failures.front()));
  }
  // The link is the same file.
  QCOMPARE(f.window->workspace().contexts().size(), std::size_t(1));
  f.window->files().openFiles({good, good});
  QCOMPARE(f.window->workspace().contexts().size(), std::size_t(1));
  QCOMPARE(f.answers->failures.size(), 1);
  // A preset is a fabric without a file.
  f.window->files().openFiles({u"preset:dgx-a100,boxes=2"_s, u"preset:nothing"_s});
  QCOMPARE(f.window->workspace().contexts().size(), std::size_t(2));
  QCOMPARE(f.window->workspace().contexts().back()->model().nodes().size(),
           f.window->workspace().contexts().front()->model().nodes().size());
  QVERIFY(f.answers->failures.back().contains(u"nothing"_s));
  f.answers->failures.removeLast();
  // As a drop.
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(gone), QUrl::fromLocalFile(garbage), QUrl(u"http://127.0.0.1/a.json"_s)});
  QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(f.window.get(), &enter);
  QDropEvent drop({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(f.window.get(), &drop);
  QVERIFY(QTest::qWaitFor([&] { return f.answers->failures.size() == 2; }, coppice::waiting::kPatience));
  QVERIFY(f.answers->failures.back().contains(u"2 of 2"_s));
  // Recent files that are gone leave the list when they are asked for.
  QFile::copy(good, gone);
  f.window->files().openFile(gone);
  QVERIFY(QSettings().value(u"recent"_s).toStringList().contains(gone));
  QVERIFY(f.window->files().close(*f.editor()));
  QFile::remove(gone);
  QCOMPARE(f.window->files().openFile(gone), nullptr);
  QVERIFY(!QSettings().value(u"recent"_s).toStringList().contains(gone));
}

/// A new fabric is saved under a name: that of its file, as long as it has none of its own.
void TestDesignerSession::aNewFabricTakesTheNameOfItsFile() {
  const Fixture f;
  f.run("file.new");
  QVERIFY(f.editor()->model().header().name.empty());
  f.answers->saveTo = f.dir.filePath(u"by hand.fabric.json"_s);
  f.run("file.save-as");
  QCOMPARE(QString::fromStdString(f.editor()->model().header().name), u"by hand"_s);
  QVERIFY(!f.editor()->file().isModified());
  QVERIFY(io::readFile(f.answers->saveTo.toStdString())->find("\"name\": \"by hand\"") != std::string::npos);
  f.answers->saveTo = f.dir.filePath(u"other.fabric.json"_s);
  f.run("file.save-as");
  QCOMPARE(QString::fromStdString(f.editor()->model().header().name), u"by hand"_s);
}

void TestDesignerSession::whatVanishesIsNotLost() {
  const Fixture f;
  const QString path = f.example("2x-dgx-a100.fabric.json");
  f.window->files().openFile(path);
  QVERIFY(!f.editor()->file().isModified());
  // Deleted: what is here is all there is, so closing asks and saving writes it again.
  QVERIFY(QFile::remove(path));
  QVERIFY(QTest::qWaitFor([&] { return f.editor()->file().isModified(); }, coppice::waiting::kPatience));
  QVERIFY(f.window->actions()[u"file.save"_s]->isEnabled());
  f.run("file.save");
  QVERIFY2(f.answers->asked == 0, qPrintable(f.answers->questions.join(u" / "_s)));
  QVERIFY(QFileInfo::exists(path));
  QVERIFY(!f.editor()->file().isModified());
  // Changed by another program, and kept: unsaved as well.
  const auto notice = [&](const char* button) {
    return f.editor()->notice().findChild<QPushButton*>(QLatin1String(button));
  };
  QFile file(path);
  QVERIFY(file.open(QIODevice::Append));
  file.write("\n");
  file.close();
  // It is shown above the drawing; nothing stands in the way of the work.
  QTRY_VERIFY_WITH_TIMEOUT(f.editor()->notice().text().contains(u"was changed by another program"_s), 30000);
  QCOMPARE(QApplication::activeModalWidget(), nullptr);
  QCOMPARE(f.answers->asked, 0);
  QTest::mouseClick(notice("noticeKeep"), Qt::LeftButton);
  QVERIFY(f.editor()->notice().text().isEmpty());
  QVERIFY(f.editor()->file().isModified());
  // Changed into what cannot be read, and wanted: what was here stays.
  QVERIFY(io::saveFile(path.toStdString(), "not a fabric"));
  QTRY_VERIFY_WITH_TIMEOUT(!f.editor()->notice().text().isEmpty(), 30000);
  QTRY_VERIFY_WITH_TIMEOUT(notice("noticeReload") != nullptr, 30000);
  QTest::mouseClick(notice("noticeReload"), Qt::LeftButton);
  QCOMPARE(f.answers->failures.size(), 1);
  QVERIFY(f.editor()->file().isModified());
  QCOMPARE(f.editor()->model().nodes().size(), std::size_t(36));
  // A folder that is gone takes no file: one question, with another name as the way out.
  f.answers->chosen.reset();
  QVERIFY(f.editor()->file().saveAs(f.dir.filePath(u"kept.fabric.json"_s)));
  QVERIFY(QDir(f.dir.path()).mkdir(u"sub"_s));
  QVERIFY(f.editor()->file().saveAs(f.dir.filePath(u"sub/one.fabric.json"_s)));
  f.run("select.all");
  f.run("edit.duplicate");
  QSignalSpy changed(&f.editor()->file(), &DocumentFile::changedOnDisk);
  QVERIFY(QDir(f.dir.filePath(u"sub"_s)).removeRecursively());
  QTRY_COMPARE_WITH_TIMEOUT(changed.count(), 1, 30000);
  f.answers->questions.clear();
  f.answers->chosen = true;
  f.answers->saveTo = f.dir.filePath(u"rescued.fabric.json"_s);
  QVERIFY(f.window->files().save(*f.editor()));
  QVERIFY(!f.answers->questions.isEmpty());
  QCOMPARE(f.editor()->file().path(), f.answers->saveTo);
  QVERIFY(!f.editor()->file().isModified());
}

QTEST_MAIN(TestDesignerSession)
#include "tst_designer_session.moc"
