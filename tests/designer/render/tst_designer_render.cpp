// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QPainter>
#include <QProcess>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <QTest>
#include <QtEndian>

#include "coppice/test_paths.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/render/film.hpp"
#include "designer/render/picture.hpp"
#include "designer/render/picture_dialog.hpp"
#include "designer/schedules/schedule_book.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "designer/theme/theme.hpp"
#include "designer/window/command_line.hpp"
#include "designer/window/image_command.hpp"
#include "designer/workspace/editor_context.hpp"
#include "presets/presets.hpp"
#include "support/waiting.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

namespace {

QByteArray contents(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// Two DGX A100 boxes, with a view of them.
struct Fixture {
  Fixture() {
    editor.file().adopt(readModel(*presets::make("dgx-a100", {{"boxes", "2"}})).model, {});
    editor.page().resize(1200, 800);
  }
  [[nodiscard]] CanvasView& view() { return editor.canvas(); }
  [[nodiscard]] bool showCut() {
    editor.setCutShown(true);
    return QTest::qWaitFor([&] { return editor.bound().isCurrent(); }, 30000);
  }
  [[nodiscard]] QImage image(PictureOptions options = {}) {
    auto drawn = drawImage(view(), options);
    return drawn ? *drawn : QImage();
  }
  EditorContext editor{{}};
};

/// How many pixels are about this colour.
int countOf(const QImage& image, const QColor& color) {
  int count = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      const QColor pixel = image.pixelColor(x, y);
      count += pixel.alpha() > 200 && std::abs(pixel.red() - color.red()) < 6 &&
                       std::abs(pixel.green() - color.green()) < 6 && std::abs(pixel.blue() - color.blue()) < 6
                   ? 1
                   : 0;
    }
  }
  return count;
}

Overlay treesOverlay(const Model& model) {
  Overlay overlay;
  TreeMark tree;
  tree.label = u"tree 1"_s;
  for (const auto& [id, link] : model.links()) {
    tree.paths.push_back({{id, true}});
    break;
  }
  overlay.trees.push_back(tree);
  return overlay;
}

struct Finished {
  int code = -1;
  QByteArray out;
  QByteArray err;
};

/// The program without a display.
Finished runProgram(const QStringList& arguments, const QString& folder) {
  QProcess process;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) {
    environment.remove(QLatin1String(name));
  }
  environment.insert(u"HOME"_s, folder);
  process.setProcessEnvironment(environment);
  process.setWorkingDirectory(folder);
  process.start(QStringLiteral(COPPICE_PROGRAM), arguments);
  if (!process.waitForFinished(60000) || process.exitStatus() != QProcess::NormalExit) {
    process.kill();
    process.waitForFinished(coppice::waiting::kPatience);
    return {-1, process.readAllStandardOutput(), process.readAllStandardError()};
  }
  return {process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError()};
}

}  // namespace

class TestDesignerRender : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void formatsByName_data();
  void formatsByName();
  void textStaysTextInSvg();
  void pdfHasThePage();
  void pngHasTheSize();
  void fitsIntoASize();
  void backgrounds();
  void darkIsDark();
  void theSelectionAlone();
  void whatIsInView();
  void theCutIsInThePicture();
  void theLegendHasRoomOfItsOwn();
  void refusals();
  void largePagesAreDrawnSmaller();
  void savedInOneStep();
  void dialog();
  void dialogSurvivesItsDocument();
  void commandLines_data();
  void commandLines();
  void commandLineOfTheDialogIsUnderstood();
  void program_data();
  void program();
  void programDrawsWithoutADisplay();
  void programWaitsForTheBound();
  void programDrawsSchedules();
  void programDrawsRuns();
  void programDrawsPrograms();
  void films_data();
  void films();
  void replays();
  void replaysInABrowser();
  void framePaths();
};

void TestDesignerRender::initTestCase() {
  QCoreApplication::setOrganizationName(u"coppice-test"_s);
  QCoreApplication::setApplicationName(u"coppice-test-%1"_s.arg(QCoreApplication::applicationPid()));
  Theme::instance().applyTo(*qobject_cast<QApplication*>(QCoreApplication::instance()));
}

void TestDesignerRender::formatsByName_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<int>("format");
  QTest::newRow("svg") << u"a.svg"_s << static_cast<int>(PictureFormat::svg);
  QTest::newRow("capitals") << u"a.PNG"_s << static_cast<int>(PictureFormat::png);
  QTest::newRow("pdf in a folder") << u"a.b/c.pdf"_s << static_cast<int>(PictureFormat::pdf);
  QTest::newRow("none") << u"svg"_s << -1;
  QTest::newRow("another") << u"a.jpeg"_s << -1;
}

void TestDesignerRender::formatsByName() {
  QFETCH(QString, name);
  QFETCH(int, format);
  const auto found = pictureFormatOf(name);
  QCOMPARE(found ? static_cast<int>(*found) : -1, format);
}

void TestDesignerRender::textStaysTextInSvg() {
  Fixture f;
  const auto svg = drawPicture(f.view(), {.format = PictureFormat::svg});
  QVERIFY(svg);
  const QString text = QString::fromUtf8(*svg);
  for (const QString& word : {u"b0"_s, u"8 GPUs"_s, u"25 GB/s"_s}) {
    QVERIFY2(text.contains(QRegularExpression(u">[^<]*"_s + QRegularExpression::escape(word) + u"[^<]*</text>"_s)),
             qPrintable(word));
  }
  QVERIFY(text.contains(u"Inter, 'Helvetica Neue'"_s));
  QSvgRenderer renderer(*svg);
  QVERIFY(renderer.isValid());
  QCOMPARE(renderer.viewBoxF().size().toSize(), pictureSize(f.view(), {}).toSize());
}

void TestDesignerRender::pdfHasThePage() {
  Fixture f;
  const PictureOptions options{.format = PictureFormat::pdf, .scale = 2};
  const auto pdf = drawPicture(f.view(), options);
  QVERIFY(pdf);
  QVERIFY(pdf->startsWith("%PDF-"));
  const auto box = QRegularExpression(u"MediaBox \\[0 0 ([0-9.]+) ([0-9.]+)\\]"_s).match(QString::fromLatin1(*pdf));
  QVERIFY(box.hasMatch());
  const QSizeF size = pictureSize(f.view(), options);
  constexpr double kPointsPerPixel = 72.0 / 96.0;
  QVERIFY(std::abs(box.captured(1).toDouble() - size.width() * kPointsPerPixel) < 2);
  QVERIFY(std::abs(box.captured(2).toDouble() - size.height() * kPointsPerPixel) < 2);
  // Letters are drawn with a font that is in the file.
  QVERIFY(pdf->contains("/FontFile"));
}

void TestDesignerRender::pngHasTheSize() {
  Fixture f;
  const QSizeF one = pictureSize(f.view(), {});
  QVERIFY(one.width() > 500);
  const QSizeF three = pictureSize(f.view(), {.scale = 3});
  QCOMPARE(three.toSize(), (one * 3).toSize());
  const auto png = drawPicture(f.view(), {.format = PictureFormat::png, .scale = 3});
  QVERIFY(png);
  const QImage image = QImage::fromData(*png, "PNG");
  QCOMPARE(image.width(), static_cast<int>(std::ceil(three.width())));
  QCOMPARE(image.height(), static_cast<int>(std::ceil(three.height())));
  QVERIFY(!image.hasAlphaChannel());
}

void TestDesignerRender::fitsIntoASize() {
  Fixture f;
  for (const QSizeF room : {QSizeF(600, 600), QSizeF(3000, 300), QSizeF(97, 61)}) {
    for (const bool hasCut : {false, true}) {
      if (hasCut) {
        QVERIFY(f.showCut());
      }
      const QSizeF size = pictureSize(f.view(), {.fit = room});
      QVERIFY(size.width() <= room.width() + 0.01 && size.height() <= room.height() + 0.01);
      QVERIFY(size.width() > room.width() * 0.8 || size.height() > room.height() * 0.8);
    }
    f.editor.setCutShown(false);
  }
}

void TestDesignerRender::backgrounds() {
  Fixture f;
  const QImage opaque = f.image();
  QCOMPARE(opaque.pixelColor(2, 2), colorsOf(Scheme::light)[Token::canvas]);
  const QImage clear = f.image({.isTransparent = true});
  QCOMPARE(clear.pixelColor(2, 2).alpha(), 0);
  QVERIFY(countOf(clear, colorsOf(Scheme::light)[Token::gpuLine]) > 100);
}

void TestDesignerRender::darkIsDark() {
  Fixture f;
  const QImage image = f.image({.scheme = Scheme::dark});
  QCOMPARE(image.pixelColor(2, 2), colorsOf(Scheme::dark)[Token::canvas]);
  QVERIFY(countOf(image, colorsOf(Scheme::dark)[Token::gpuLine]) > 100);
  QCOMPARE(countOf(image, colorsOf(Scheme::light)[Token::canvas]), 0);
}

void TestDesignerRender::theSelectionAlone() {
  Fixture f;
  const Model& model = f.editor.model();
  f.editor.selection().set({ElementId(model.boxesIn({}).front())});
  const PictureOptions options{.format = PictureFormat::svg, .part = PicturePart::selection};
  QVERIFY(pictureSize(f.view(), options).width() < pictureSize(f.view(), {}).width() * 0.7);
  const QString text = QString::fromUtf8(*drawPicture(f.view(), options));
  QVERIFY(text.contains(u">b0<"_s));
  QVERIFY(!text.contains(u">b1<"_s));
}

void TestDesignerRender::whatIsInView() {
  Fixture f;
  f.editor.page().show();
  f.view().setZoom(2);
  f.view().centreOn(f.view().scene().bounds().center());
  const PictureOptions options{.part = PicturePart::visible, .scale = 2};
  QCOMPARE(pictureSize(f.view(), options).toSize(), f.view().size() * 2);
}

void TestDesignerRender::theCutIsInThePicture() {
  Fixture f;
  const QColor cut = colorsOf(Scheme::light)[Token::cut];
  QCOMPARE(countOf(f.image(), cut), 0);
  QVERIFY(f.showCut());
  QVERIFY(countOf(f.image(), cut) > 500);
  // What the hull says is whole: the pill does not touch the edge.
  const QImage image = f.image();
  for (int y = 0; y < image.height(); ++y) {
    QVERIFY(image.pixelColor(0, y) != cut && image.pixelColor(image.width() - 1, y) != cut);
  }
  QVERIFY(QString::fromUtf8(*drawPicture(f.view(), {.format = PictureFormat::svg}))
              .contains(f.editor.bound().bound()->cuts.front().words));
}

void TestDesignerRender::theLegendHasRoomOfItsOwn() {
  Fixture f;
  const QSizeF bare = pictureSize(f.view(), {});
  f.view().setOverlay(treesOverlay(f.editor.model()));
  const QSizeF with = pictureSize(f.view(), {});
  QVERIFY(with.width() > bare.width() + 100);
  QCOMPARE(pictureSize(f.view(), {.hasLegend = false}), bare);
  QVERIFY(QString::fromUtf8(*drawPicture(f.view(), {})).contains(u"tree 1"_s));
  QVERIFY(!QString::fromUtf8(*drawPicture(f.view(), {.hasLegend = false})).contains(u"tree 1"_s));
}

void TestDesignerRender::refusals() {
  EditorContext empty{{}};
  const auto nothing = drawPicture(empty.canvas(), {});
  QVERIFY(!nothing);
  QCOMPARE(nothing.error().code, ErrorCode::badInput);
  QVERIFY(pictureSize(empty.canvas(), {}).isEmpty());

  Fixture f;
  const auto unselected = drawPicture(f.view(), {.part = PicturePart::selection});
  QVERIFY(!unselected);
  QVERIFY(unselected.error().message.find("selected") != std::string::npos);

  EditorContext large{{}};
  large.file().adopt(readModel(*presets::make("dgx-a100", {{"boxes", "64"}})).model, {});
  const auto refused = drawPicture(large.canvas(), {.format = PictureFormat::png, .scale = 16});
  QVERIFY(!refused);
  QCOMPARE(refused.error().code, ErrorCode::limit);
  // The scale that it names works.
  const auto named = QRegularExpression(u"scale ([0-9.]+)"_s).match(QString::fromStdString(refused.error().fix));
  QVERIFY(named.hasMatch());
  QVERIFY(drawImage(large.canvas(), {.scale = named.captured(1).toDouble() * 0.25}));
  QVERIFY(!drawImage(large.canvas(), {.scale = named.captured(1).toDouble() + 0.5}));
}

void TestDesignerRender::largePagesAreDrawnSmaller() {
  EditorContext large{{}};
  large.file().adopt(readModel(*presets::make("dgx-a100", {{"boxes", "64"}})).model, {});
  const auto pdf = drawPicture(large.canvas(), {.format = PictureFormat::pdf, .scale = 4});
  QVERIFY(pdf);
  const auto box = QRegularExpression(u"MediaBox \\[0 0 ([0-9.]+) ([0-9.]+)\\]"_s).match(QString::fromLatin1(*pdf));
  QVERIFY(box.hasMatch());
  constexpr double kMaxPoints = 14401;
  QVERIFY(box.captured(1).toDouble() <= kMaxPoints && box.captured(2).toDouble() <= kMaxPoints);
}

void TestDesignerRender::savedInOneStep() {
  Fixture f;
  const QTemporaryDir dir;
  const QString path = dir.filePath(u"a.svg"_s);
  QVERIFY(savePicture(f.view(), {.format = PictureFormat::svg}, path));
  QCOMPARE(contents(path), *drawPicture(f.view(), {.format = PictureFormat::svg}));
  const Outcome failed = savePicture(f.view(), {}, dir.filePath(u"absent/a.svg"_s));
  QVERIFY(!failed);
  QCOMPARE(failed.error().code, ErrorCode::io);
}

void TestDesignerRender::dialog() {
  Fixture f;
  PictureDialog dialog(f.view(), u"/some where/it's.fabric.json"_s, u"analyse"_s);
  const QSignalSpy wanted(&dialog, &PictureDialog::exportWanted);
  dialog.show();
  PictureOptions options{.format = PictureFormat::png, .scheme = Scheme::dark, .isTransparent = true, .scale = 2.5};
  dialog.setOptions(options);
  QCOMPARE(dialog.options().format, PictureFormat::png);
  QCOMPARE(dialog.options().scale, 2.5);
  auto* preview = dialog.findChildren<QLabel*>().first();
  for (auto* label : dialog.findChildren<QLabel*>()) {
    if (label->accessibleName() == u"Preview"_s) {
      preview = label;
    }
  }
  QTRY_VERIFY_WITH_TIMEOUT(!preview->pixmap().isNull(), coppice::waiting::kPatience);
  if (const QString folder = qEnvironmentVariable("COPPICE_PICTURES"); !folder.isEmpty()) {
    dialog.grab().save(folder + u"/picture-dialog.png"_s);
  }
  QCOMPARE(
      dialog.commandLine(),
      u"coppice --export-image it\\'s.png --mode analyse --dark --scale 2.5 --transparent '/some where/it'\\''s.fabric.json'"_s
          .replace(u"it\\'s.png"_s, u"'it'\\''s.png'"_s));
  auto* button = dialog.findChild<QPushButton*>(u"pictureExport"_s);
  QVERIFY(button->isEnabled());
  QTest::mouseClick(button, Qt::LeftButton);
  QCOMPARE(wanted.size(), 1);
  // Nothing selected: nothing to export.
  options.part = PicturePart::selection;
  dialog.setOptions(options);
  QVERIFY(!button->isEnabled());
  QTRY_VERIFY_WITH_TIMEOUT(!preview->text().isEmpty(), coppice::waiting::kPatience);
}

void TestDesignerRender::dialogSurvivesItsDocument() {
  auto f = std::make_unique<Fixture>();
  PictureDialog dialog(f->view(), {}, u"draw"_s);
  dialog.show();
  QVERIFY(dialog.commandLine().isEmpty());
  f.reset();
  QVERIFY(!dialog.isVisible());
  QCoreApplication::processEvents();
}

void TestDesignerRender::commandLines_data() {
  QTest::addColumn<QString>("arguments");
  QTest::addColumn<QString>("error");  // what the message holds; empty = fine
  QTest::addColumn<int>("task");
  const int window = static_cast<int>(CommandLine::Task::window);
  const int image = static_cast<int>(CommandLine::Task::image);
  QTest::newRow("nothing") << u""_s << u""_s << window;
  QTest::newRow("files") << u"a b"_s << u""_s << window;
  QTest::newRow("help") << u"-h"_s << u""_s << static_cast<int>(CommandLine::Task::help);
  QTest::newRow("version") << u"--version"_s << u""_s << static_cast<int>(CommandLine::Task::version);
  QTest::newRow("options of Qt") << u"-platform offscreen --style=fusion a"_s << u""_s << window;
  QTest::newRow("unknown") << u"--frobnicate"_s << u"frobnicate"_s << -1;
  QTest::newRow("picture") << u"--export-image a.svg b"_s << u""_s << image;
  QTest::newRow("all of it") << u"--export-image a.png --mode analyse --collective broadcast --root g0 --dark --scale "
                                u"2 --size 10x20 --transparent --no-legend --fold --selection a,b f"_s
                             << u""_s << image;
  QTest::newRow("no suffix") << u"--export-image a b"_s << u"\"a\""_s << -1;
  QTest::newRow("no fabric") << u"--export-image a.svg"_s << u"needs a fabric"_s << -1;
  QTest::newRow("two fabrics") << u"--export-image a.svg b c"_s << u"not 2"_s << -1;
  QTest::newRow("no such mode") << u"--export-image a.svg --mode fly b"_s << u"\"fly\""_s << -1;
  QTest::newRow("scale of zero") << u"--export-image a.svg --scale 0 b"_s << u"--scale"_s << -1;
  QTest::newRow("scale not a number") << u"--export-image a.svg --scale nan b"_s << u"--scale"_s << -1;
  QTest::newRow("scale without bounds") << u"--export-image a.svg --scale 1e9 b"_s << u"--scale"_s << -1;
  QTest::newRow("size") << u"--export-image a.svg --size 10 b"_s << u"--size"_s << -1;
  QTest::newRow("size of zero") << u"--export-image a.svg --size 0x5 b"_s << u"--size"_s << -1;
  QTest::newRow("no such collective") << u"--export-image a.svg --mode analyse --collective x b"_s << u"\"x\""_s << -1;
  QTest::newRow("root of an allgather") << u"--export-image a.svg --mode analyse --root g b"_s << u"no root"_s << -1;
  QTest::newRow("collective of a drawing")
      << u"--export-image a.svg --collective allreduce b"_s << u"to a plain drawing"_s << -1;
  QTest::newRow("trees") << u"--export-image a.svg --mode schedule --trees 3 --collective reduce --root g b"_s << u""_s
                         << image;
  QTest::newRow("trees of a drawing") << u"--export-image a.svg --trees 3 b"_s << u"applies to the mode schedule"_s
                                      << -1;
  QTest::newRow("moment") << u"--export-image a.svg --mode schedule --time 12.5us --bytes 1M --method ring b"_s << u""_s
                          << image;
  QTest::newRow("step") << u"--export-image a.svg --mode schedule --step 2 b"_s << u""_s << image;
  QTest::newRow("timeline") << u"--export-image a.pdf --mode timeline --lanes gpus --time 50% b"_s << u""_s << image;
  QTest::newRow("parts") << u"--export-image a.svg --mode timeline --lanes parts b"_s << u""_s << image;
  QTest::newRow("compare") << u"--export-image a.png --mode compare --method forestcoll,ring b"_s << u""_s << image;
  QTest::newRow("program") << u"--export-image a.png --mode program b.xml"_s << u""_s << image;
  QTest::newRow("film") << u"--export-film a.webp --seconds 2.5 --fps 10 --size 320x200 b"_s << u""_s << image;
  QTest::newRow("frames") << u"--export-film a-%03d.png b"_s << u""_s << image;
  QTest::newRow("film suffix") << u"--export-film a.svg b"_s << u"\"a.svg\""_s << -1;
  QTest::newRow("film and picture") << u"--export-film a.webp --export-image a.svg b"_s << u"cannot be combined"_s
                                    << -1;
  QTest::newRow("replay") << u"--export-replay a.html --seconds 2.5 --size 320x200 b"_s << u""_s << image;
  QTest::newRow("replay suffix") << u"--export-replay a.webp b"_s << u"no HTML suffix"_s << -1;
  QTest::newRow("replay frames") << u"--export-replay a.html --fps 10 b"_s << u"does not apply to replays"_s << -1;
  QTest::newRow("replay and film") << u"--export-replay a.html --export-film a.webp b"_s << u"cannot be combined"_s
                                   << -1;
  QTest::newRow("film of a step") << u"--export-film a.webp --step 1 b"_s << u"--step does not apply to films"_s << -1;
  QTest::newRow("film of a mode") << u"--export-film a.webp --mode analyse b"_s << u"--mode"_s << -1;
  QTest::newRow("seconds of a picture") << u"--export-image a.svg --seconds 3 b"_s << u"for films"_s << -1;
  QTest::newRow("no seconds") << u"--export-film a.webp --seconds 0 b"_s << u"--seconds"_s << -1;
  QTest::newRow("frames a second") << u"--export-film a.webp --fps 1000 b"_s << u"--fps"_s << -1;
  QTest::newRow("no such method") << u"--export-image a.svg --mode schedule --method magic b"_s << u"\"magic\""_s << -1;
  QTest::newRow("two methods") << u"--export-image a.svg --mode schedule --method ring,forestcoll b"_s
                               << u"one method"_s << -1;
  QTest::newRow("time of a drawing") << u"--export-image a.svg --time 5us b"_s << u"--time applies"_s << -1;
  QTest::newRow("no time") << u"--export-image a.svg --mode schedule --time soon b"_s << u"\"soon\""_s << -1;
  QTest::newRow("step and time") << u"--export-image a.svg --mode schedule --time 5us --step 1 b"_s << u"--step"_s
                                 << -1;
  QTest::newRow("step of zero") << u"--export-image a.svg --mode schedule --step 0 b"_s << u"--step"_s << -1;
  QTest::newRow("lanes of nothing") << u"--export-image a.svg --mode timeline --lanes colours b"_s << u"\"colours\""_s
                                    << -1;
  QTest::newRow("too many trees") << u"--export-image a.svg --mode schedule --trees 17 b"_s << u"--trees"_s << -1;
  QTest::newRow("empty selection") << u"--export-image a.svg --selection , b"_s << u"--selection"_s << -1;
  QTest::newRow("dark without a picture") << u"--dark a"_s << u"--dark"_s << -1;
  QTest::newRow("value missing") << u"a --export-image"_s << u"export-image"_s << -1;
}

void TestDesignerRender::commandLines() {
  QFETCH(QString, arguments);
  QFETCH(QString, error);
  QFETCH(int, task);
  const auto line = parseCommandLine(QStringList(u"coppice"_s) + arguments.split(u' ', Qt::SkipEmptyParts));
  if (error.isEmpty()) {
    QVERIFY2(line, line ? "" : line.error().message.c_str());
    QCOMPARE(static_cast<int>(line->task), task);
  } else {
    QVERIFY(!line);
    QVERIFY2(QString::fromStdString(line.error().message).contains(error), line.error().message.c_str());
    QVERIFY(!line.error().fix.empty());
  }
}

void TestDesignerRender::commandLineOfTheDialogIsUnderstood() {
  Fixture f;
  f.editor.selection().set({ElementId(f.editor.model().boxesIn({}).front())});
  PictureDialog dialog(f.view(), u"two.fabric.json"_s, u"analyse"_s);
  dialog.setOptions({.format = PictureFormat::pdf,
                     .part = PicturePart::selection,
                     .scheme = Scheme::dark,
                     .isTransparent = true,
                     .hasLegend = false,
                     .scale = 0.5});
  const auto line = parseCommandLine(dialog.commandLine().split(u' '));
  QVERIFY2(line, line ? "" : line.error().message.c_str());
  QCOMPARE(line->image.output, u"two.pdf"_s);
  QCOMPARE(line->image.input, u"two.fabric.json"_s);
  QCOMPARE(line->image.selection, QStringList(u"b0"_s));
  QCOMPARE(line->image.mode, ImageRequest::Mode::analyse);
  QCOMPARE(line->image.picture.scale, 0.5);
  QVERIFY(line->image.picture.isTransparent && !line->image.picture.hasLegend);
  QCOMPARE(line->image.picture.scheme, Scheme::dark);
}

void TestDesignerRender::program_data() {
  QTest::addColumn<QString>("arguments");
  QTest::addColumn<int>("code");
  QTest::addColumn<QString>("says");
  QTest::newRow("no display") << u""_s << 2 << u"no display"_s;
  QTest::newRow("help") << u"--help"_s << 0 << u"Usage: coppice"_s;
  QTest::newRow("version") << u"--version"_s << 0 << u"coppice "_s;
  QTest::newRow("unknown option") << u"--frobnicate"_s << 2 << u"frobnicate"_s;
  QTest::newRow("absent file") << u"--export-image a.svg absent.fabric.json"_s << 2 << u"absent.fabric.json"_s;
  QTest::newRow("no fabric") << u"--export-image a.svg bad.fabric.json"_s << 2 << u"bad.fabric.json"_s;
  QTest::newRow("empty fabric") << u"--export-image a.svg empty.fabric.json"_s << 2 << u"nothing to draw"_s;
  QTest::newRow("unknown preset") << u"--export-image a.svg preset:nothing"_s << 2 << u"\"nothing\""_s;
  QTest::newRow("preset, bad parameter") << u"--export-image a.svg preset:dgx-a100,boxes"_s << 2 << u"\"boxes\""_s;
  QTest::newRow("no bound") << u"--export-image a.svg --mode analyse one.fabric.json"_s << 1 << u"no bound"_s;
  QTest::newRow("no schedule") << u"--export-image a.svg --mode schedule one.fabric.json"_s << 1 << u"no schedule"_s;
  QTest::newRow("a drawing without a bound") << u"--export-image a.svg one.fabric.json"_s << 0 << u""_s;
  QTest::newRow("nothing of that name") << u"--export-image a.svg --selection q* one.fabric.json"_s << 2 << u"\"q*\""_s;
  QTest::newRow("no such root") << u"--export-image a.svg --mode analyse --collective reduce --root q one.fabric.json"_s
                                << 2 << u"\"q\""_s;
  QTest::newRow("folder absent") << u"--export-image absent/a.svg one.fabric.json"_s << 2 << u"absent/a.svg"_s;
}

void TestDesignerRender::program() {
  QFETCH(QString, arguments);
  QFETCH(int, code);
  QFETCH(QString, says);
  const QTemporaryDir dir;
  const auto write = [&](const QString& name, const QByteArray& text) {
    QFile file(dir.filePath(name));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(text);
  };
  write(u"bad.fabric.json"_s, "{\"nodes\": [");
  write(u"empty.fabric.json"_s, "{\"nodes\": [], \"links\": []}");
  write(u"one.fabric.json"_s, "{\"nodes\": [{\"id\": \"g\", \"kind\": \"gpu\"}], \"links\": []}");
  const Finished finished = runProgram(arguments.split(u' ', Qt::SkipEmptyParts), dir.path());
  const QByteArray text = code == 0 ? finished.out : finished.err;
  QVERIFY2(finished.code == code, finished.err.constData());
  QVERIFY2(QString::fromUtf8(text).contains(says), text.constData());
  if (code != 0) {
    QCOMPARE(text.count('\n'), 1);
    QVERIFY(!QFile::exists(dir.filePath(u"a.svg"_s)));
  } else {
    QCOMPARE(finished.err, QByteArray());
  }
}

void TestDesignerRender::programDrawsWithoutADisplay() {
  const QTemporaryDir dir;
  const QString example = QDir(QStringLiteral(COPPICE_EXAMPLES)).filePath(u"2x-dgx-a100.fabric.json"_s);
  for (const QString& suffix : {u"svg"_s, u"pdf"_s, u"png"_s}) {
    const Finished finished = runProgram({u"--export-image"_s, u"a."_s + suffix, u"--dark"_s, example}, dir.path());
    QCOMPARE(finished.err, QByteArray());
    QCOMPARE(finished.code, 0);
    QVERIFY(contents(dir.filePath(u"a."_s + suffix)).size() > 1000);
  }
  const QImage image(dir.filePath(u"a.png"_s));
  QCOMPARE(image.pixelColor(1, 1), colorsOf(Scheme::dark)[Token::canvas]);
  // Nothing but the pictures.
  QCOMPARE(QDir(dir.path()).entryList(QDir::Files | QDir::Hidden).size(), 3);
}

void TestDesignerRender::programWaitsForTheBound() {
  const QTemporaryDir dir;
  const QString example = QDir(QStringLiteral(COPPICE_EXAMPLES)).filePath(u"8x-dgx-a100.fabric.json"_s);
  const Finished finished = runProgram(
      {u"--export-image"_s, u"a.svg"_s, u"--mode"_s, u"analyse"_s, u"--collective"_s, u"reduce_scatter"_s, example},
      dir.path());
  QCOMPARE(finished.err, QByteArray());
  QCOMPARE(finished.code, 0);
  const QString svg = QString::fromUtf8(contents(dir.filePath(u"a.svg"_s)));
  QVERIFY(svg.contains(u"GPUs · "_s));
  QVERIFY(svg.contains(colorsOf(Scheme::light)[Token::cut].name()));
}

void TestDesignerRender::programDrawsSchedules() {
  const QTemporaryDir dir;
  const QString fabric = dir.filePath(u"two.fabric.json"_s);
  QVERIFY(QFile::copy(QDir(QStringLiteral(COPPICE_EXAMPLES)).filePath(u"2x-dgx-a100.fabric.json"_s), fabric));
  const auto draw = [&](const QString& name, const QStringList& options) {
    const Finished finished = runProgram(
        QStringList{u"--export-image"_s, name, u"--mode"_s, u"schedule"_s} + options + QStringList(fabric), dir.path());
    return finished.code == 0 ? QString::fromUtf8(contents(dir.filePath(name)))
                              : QString::fromUtf8("failed: " + finished.err);
  };
  const QString trees = draw(u"trees.svg"_s, {u"--trees"_s, u"2"_s});
  QVERIFY2(trees.contains(u"b0g0"_s) && trees.contains(u"b0g1"_s), qPrintable(trees.left(400)));
  const QString heat = draw(u"heat.svg"_s, {});
  QVERIFY2(heat.contains(u"linearGradient"_s), qPrintable(heat.left(400)));
  // Making a picture leaves nothing else behind.
  QCOMPARE(QDir(dir.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot).size(), 3);
  // A schedule file brings its fabric along; a saved schedule of another collective is not taken for this one.
  ScheduleOptions options;
  options.collective = Collective::broadcast;
  const auto made = makeSchedule(*presets::make("dgx-a100", {{"boxes", "2"}}), options, {});
  QVERIFY(made);
  QVERIFY(QDir(dir.path()).mkpath(ScheduleBook::folderOf(fabric)));
  const QString file = ScheduleBook::folderOf(fabric) + u"/b.forest.json"_s;
  QVERIFY(saveSchedule(file, **made));
  const Finished own = runProgram(
      {u"--export-image"_s, u"own.svg"_s, u"--mode"_s, u"schedule"_s, u"--trees"_s, u"3"_s, file}, dir.path());
  QVERIFY2(own.code == 0, own.err.constData());
  // One root alone has trees.
  QVERIFY(!QString::fromUtf8(contents(dir.filePath(u"own.svg"_s))).contains(u"b0g1"_s));
  QVERIFY(draw(u"again.svg"_s, {u"--trees"_s, u"2"_s, u"--collective"_s, u"allgather"_s}).contains(u"b0g1"_s));
}

/// Steps, moments, timelines and comparisons differ from each other, and have the size that was asked for.
void TestDesignerRender::programDrawsRuns() {
  const QTemporaryDir dir;
  const QString fabric = QDir(QStringLiteral(COPPICE_EXAMPLES)).filePath(u"fig-4-5.fabric.json"_s);
  const auto draw = [&](const QString& name, const QStringList& options) {
    const Finished finished =
        runProgram(QStringList{u"--export-image"_s, name} + options + QStringList(fabric), dir.path());
    if (finished.code != 0) {
      qWarning("%s", finished.err.constData());
      return QImage();
    }
    return QImage(dir.filePath(name));
  };
  const QStringList ring{u"--mode"_s, u"schedule"_s, u"--method"_s, u"ring"_s};
  const QImage early = draw(u"early.png"_s, ring + QStringList{u"--time"_s, u"20%"_s});
  const QImage late = draw(u"late.png"_s, ring + QStringList{u"--time"_s, u"80%"_s});
  const QImage step = draw(u"step.png"_s, ring + QStringList{u"--step"_s, u"1"_s});
  QVERIFY(!early.isNull() && !late.isNull() && !step.isNull());
  QCOMPARE(early.size(), late.size());
  QVERIFY(early != late);
  QVERIFY(step != early.copy(step.rect()));
  const QImage lanes = draw(u"lanes.png"_s, {u"--mode"_s, u"timeline"_s, u"--method"_s, u"ring"_s, u"--size"_s,
                                             u"900x300"_s, u"--scale"_s, u"2"_s});
  QCOMPARE(lanes.size(), QSize(1800, 600));
  const QImage other = draw(u"other.png"_s, {u"--mode"_s, u"timeline"_s, u"--method"_s, u"ring"_s, u"--size"_s,
                                             u"900x300"_s, u"--scale"_s, u"2"_s, u"--lanes"_s, u"gpus"_s});
  QVERIFY(lanes != other);
  const QImage compared = draw(u"compared.png"_s, {u"--mode"_s, u"compare"_s, u"--size"_s, u"1100x400"_s, u"--dark"_s});
  QCOMPARE(compared.size(), QSize(1100, 400));
  QVERIFY(countOf(compared, colorsOf(Scheme::dark)[Token::panel]) > 1000);
  const Finished trees = runProgram({u"--export-image"_s, u"a.svg"_s, u"--mode"_s, u"schedule"_s, u"--method"_s,
                                     u"forestcoll"_s, u"--step"_s, u"1"_s, fabric},
                                    dir.path());
  QCOMPARE(trees.code, 2);
  QVERIFY2(trees.err.contains("has no steps"), trees.err.constData());
  for (const auto& [time, message] :
       {std::pair(u"500%"_s, "more than 100%"), std::pair(u"3s"_s, "the run ends after")}) {
    const Finished refused = runProgram(
        QStringList{u"--export-image"_s, u"a.svg"_s} + ring + QStringList{u"--time"_s, time, fabric}, dir.path());
    QCOMPARE(refused.code, 2);
    QVERIFY2(refused.err.contains(message), refused.err.constData());
  }
}

void TestDesignerRender::programDrawsPrograms() {
  const QTemporaryDir dir;
  const QString xml = QStringLiteral(COPPICE_TEST_DATA) + u"/simulate/two_level_alltoall.xml"_s;
  for (const QString& suffix : {u"png"_s, u"svg"_s, u"pdf"_s}) {
    const Finished finished =
        runProgram({u"--export-image"_s, u"p."_s + suffix, u"--mode"_s, u"program"_s, xml}, dir.path());
    QVERIFY2(finished.code == 0, finished.err.constData());
    QVERIFY(contents(dir.filePath(u"p."_s + suffix)).size() > 4000);
  }
  QCOMPARE(QImage(dir.filePath(u"p.png"_s)).size(), QSize(1280, 620));
  const Finished fabric = runProgram({u"--export-image"_s, u"q.png"_s, u"--mode"_s, u"program"_s,
                                      QDir(QStringLiteral(COPPICE_EXAMPLES)).filePath(u"fig-4-5.fabric.json"_s)},
                                     dir.path());
  QCOMPARE(fabric.code, 2);
  QVERIFY(!QFile::exists(dir.filePath(u"q.png"_s)));
}

void TestDesignerRender::films_data() {
  QTest::addColumn<QString>("name");
  QTest::newRow("frames") << u"f-%03d.png"_s;
  QTest::newRow("animated") << u"f.webp"_s;
}

/// Ten frames of one size, of which no two neighbours are the same.
void TestDesignerRender::films() {
  QFETCH(QString, name);
  const bool isAnimated = filmFormatOf(name) == FilmFormat::webp;
  const QTemporaryDir dir;
  const Finished finished =
      runProgram({u"--export-film"_s, name, u"--method"_s, u"ring"_s, u"--seconds"_s, u"1"_s, u"--fps"_s, u"10"_s,
                  u"--size"_s, u"400x300"_s, QDir(QStringLiteral(COPPICE_EXAMPLES)).filePath(u"fig-4-5.fabric.json"_s)},
                 dir.path());
  if (isAnimated && !canWrite(FilmFormat::webp)) {
    QCOMPARE(finished.code, 2);
    QVERIFY2(finished.err.contains("libwebp"), finished.err.constData());
    return;
  }
  QVERIFY2(finished.code == 0, finished.err.constData());
  if (isAnimated) {
    const QByteArray film = contents(dir.filePath(name));
    QVERIFY(film.startsWith("RIFF") && film.mid(8, 4) == "WEBP");
    QVERIFY(film.contains("ANIM"));
    QCOMPARE(film.count("ANMF"), 10);
    return;
  }
  QImage before;
  for (int frame = 1; frame <= 10; ++frame) {
    const QImage image(dir.filePath(framePath(name, frame)));
    QVERIFY(!image.isNull() && image.width() <= 400 && image.height() <= 300);
    QVERIFY(before.isNull() || before.size() == image.size());
    QVERIFY(before != image);
    before = image;
  }
  QVERIFY(!QFile::exists(dir.filePath(framePath(name, 11))));
}

namespace {

/// What a replay plays, unpacked.
QJsonObject replayOf(const QByteArray& page) {
  static const QByteArray kBegin = R"(<script id="data" type="application/octet-stream">)";
  const qsizetype from = page.indexOf(kBegin) + kBegin.size();
  const QByteArray packed = QByteArray::fromBase64(page.mid(from, page.indexOf('<', from) - from));
  constexpr qint32 kLargest = 1 << 26;
  QByteArray withLength(4, '\0');
  qToBigEndian(kLargest, withLength.data());
  return QJsonDocument::fromJson(qUncompress(withLength + packed)).object();
}

}  // namespace

/// One file that refers to nothing outside itself. Its messages bring every GPU what it lacks, along lines of the
/// drawing.
void TestDesignerRender::replays() {
  const QTemporaryDir dir;
  const QString fabric = QDir(QStringLiteral(COPPICE_EXAMPLES)).filePath(u"2x-dgx-a100.fabric.json"_s);
  for (const QString& method : {u"forestcoll"_s, u"ring"_s}) {
    const QStringList words{u"--export-replay"_s, u"r.html"_s,  u"--method"_s, method, u"--bytes"_s, u"16M"_s,
                            u"--size"_s,          u"900x600"_s, fabric};
    const Finished finished = runProgram(words, dir.path());
    QVERIFY2(finished.code == 0, finished.err.constData());
    const QByteArray page = contents(dir.filePath(u"r.html"_s));
    QVERIFY(page.size() > 10'000 && page.size() < 300'000);
    for (const char* placeholder : {"@TITLE@", "@VERSION@", "@COLORS@", "@DATA@"}) {
      QVERIFY(!page.contains(placeholder));
    }
    QByteArray outside = page;
    outside.replace("http://www.w3.org/2000/svg", "");
    for (const char* reference : {"http:", "https:", "src=", "href=", "@import", "url("}) {
      QVERIFY2(!outside.contains(reference), reference);
    }
    const QJsonObject run = replayOf(page);
    const QJsonArray begins = run[u"begin"_s].toArray();
    QVERIFY(begins.size() > 100);
    for (const char* column : {"sending", "landing", "route", "part", "hue", "size"}) {
      QCOMPARE(run[QLatin1String(column)].toArray().size(), begins.size());
    }
    QVERIFY(run[u"svg"_s].toString().startsWith(u"<svg"_s));
    const qsizetype lanes = run[u"lanes"_s].toArray().size();
    const QJsonArray arcs = run[u"arcs"_s].toArray();
    for (const QJsonValue arc : arcs) {
      QVERIFY(!arc[u"lanes"_s].toArray().isEmpty());
      for (const QJsonValue lane : arc[u"lanes"_s].toArray()) {
        QVERIFY(lane.toInt() >= 0 && lane.toInt() < lanes);
      }
    }
    std::vector<double> received(16, 0);
    double last = 0;
    for (qsizetype i = 0; i < begins.size(); ++i) {
      last += begins[i].toDouble();
      const double landed = last + run[u"sending"_s][i].toDouble() + run[u"landing"_s][i].toDouble();
      QVERIFY(landed * run[u"tick"_s].toDouble() <= run[u"duration"_s].toDouble() * 1.00001);
      const QJsonValue route = run[u"routes"_s].toArray()[run[u"route"_s].toArray()[i].toInt()];
      for (const QJsonValue arc : route[u"arcs"_s].toArray()) {
        QVERIFY(arc.toInt() >= 0 && arc.toInt() < arcs.size());
      }
      received[static_cast<std::size_t>(route[u"to"_s].toInt())] +=
          run[u"sizes"_s].toArray()[run[u"size"_s].toArray()[i].toInt()].toDouble();
    }
    for (const double bytes : received) {
      QVERIFY(std::abs(bytes - 15.0 / 16 * (1 << 24)) < 1);
    }
    QVERIFY(runProgram(words, dir.path()).code == 0);
    QCOMPARE(contents(dir.filePath(u"r.html"_s)), page);
  }
}

/// In a browser: unpacked, at the time that is asked for, and playing by itself.
void TestDesignerRender::replaysInABrowser() {
  const QString browser = QStandardPaths::findExecutable(u"chromium"_s);
  if (browser.isEmpty()) {
    QSKIP("skipped: needs chromium");
  }
  const QTemporaryDir dir;
  const Finished finished = runProgram({u"--export-replay"_s, u"r.html"_s, u"--method"_s, u"ring"_s,
                                        QDir(QStringLiteral(COPPICE_EXAMPLES)).filePath(u"fig-4-5.fabric.json"_s)},
                                       dir.path());
  QVERIFY2(finished.code == 0, finished.err.constData());
  const auto shown = [&](const QString& place) {
    QProcess process;
    constexpr int kPatience = 60'000;
    process.start(browser, {u"--headless"_s, u"--no-sandbox"_s, u"--disable-gpu"_s, u"--no-first-run"_s,
                            u"--disable-background-networking"_s, u"--disable-component-update"_s, u"--disable-sync"_s,
                            u"--user-data-dir="_s + dir.filePath(u"profile"_s), u"--virtual-time-budget=3000"_s,
                            u"--dump-dom"_s, u"file://"_s + dir.filePath(u"r.html"_s) + place});
    process.waitForFinished(kPatience);
    return process.readAllStandardOutput();
  };
  const auto timeIn = [](const QByteArray& page) {
    const qsizetype from = page.indexOf("<span id=\"time\">") + 16;
    return page.mid(from, page.indexOf('<', from) - from);
  };
  const QByteArray start = shown(u"#0%"_s);
  QVERIFY2(start.contains("data-state=\"ready\""), start.right(2000).constData());
  QVERIFY2(timeIn(start).startsWith("0 ns of "), timeIn(start).constData());
  const QByteArray half = shown(u"#50%"_s);
  QVERIFY(timeIn(half) != timeIn(start));
  QVERIFY(half.count("<circle") > 0);
  const QByteArray playing = shown({});
  QVERIFY(timeIn(playing) != timeIn(start));
}

void TestDesignerRender::framePaths() {
  QCOMPARE(framePath(u"a/f-%04d.png"_s, 7), u"a/f-0007.png"_s);
  QCOMPARE(framePath(u"f%d.png"_s, 12), u"f12.png"_s);
  QCOMPARE(framePath(u"a.b/f.png"_s, 3), u"a.b/f-0003.png"_s);
  QVERIFY(!filmFormatOf(u"f.gif"_s));
  QVERIFY(!FilmWriter::create(u"f.gif"_s, 10));
}

QTEST_MAIN(TestDesignerRender)
#include "tst_designer_render.moc"
