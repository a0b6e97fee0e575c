// SPDX-License-Identifier: Apache-2.0
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTest>
#include <set>

#include "designer/charts/plot.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/palette/card_loader.hpp"
#include "designer/palette/entries.hpp"
#include "designer/palette/fabric_picture.hpp"
#include "designer/palette/fabric_preview.hpp"
#include "designer/palette/palette_panel.hpp"
#include "designer/palette/sweep_dialog.hpp"
#include "designer/palette/template_dialog.hpp"
#include "designer/palette/template_store.hpp"
#include "designer/theme/theme.hpp"
#include "fabric/description.hpp"
#include "io/files.hpp"
#include "presets/presets.hpp"
#include "support/waiting.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

class TestDesignerPalette : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void everyEntryCanBeMade_data();
  void everyEntryCanBeMade();
  void everyPresetIsOffered();
  void sizes_data();
  void sizes();
  void searchFinds_data();
  void searchFinds();
  void picturesHaveInk();
  void picturesOfNothingAndOfTooMuch();
  void theLoaderTellsPictureAndBound();
  void theLoaderTellsFailures();
  void ownTemplates();
  void ownTemplatesRefuse();
  void theDialogCreates();
  void theDialogNamesWhatIsWrong();
  void theDialogHidesWhatHasNoEffect();
  void thePanelSearchesAndEnters();
  void sweeps_data();
  void sweeps();
  void sweptNumbersHaveTheirPlaces_data();
  void sweptNumbersHaveTheirPlaces();
};

void TestDesignerPalette::sweeps_data() {
  QTest::addColumn<QString>("parameter");
  QTest::addColumn<QString>("values");
  QTest::addColumn<QStringList>("bounds");  // "" where the value is refused
  // 32 GPUs with 25 GB/s each between boxes, 8 of them in a box.
  QTest::newRow("boxes") << u"boxes"_s << u"2..4"_s << QStringList{u"1040/3"_s, u"300"_s, u"800/3"_s};
  QTest::newRow("refused") << u"boxes"_s << u"2, none"_s << QStringList{u"1040/3"_s, QString()};
}

void TestDesignerPalette::sweeps() {
  QFETCH(QString, parameter);
  QFETCH(QString, values);
  QFETCH(QStringList, bounds);
  PaletteEntry entry;
  entry.kind = PaletteEntry::Kind::preset;
  entry.preset = u"dgx-a100"_s;
  SweepDialog dialog(entry, {});
  auto* list = dialog.findChild<QComboBox*>(u"sweepParameter"_s);
  list->setCurrentIndex(list->findData(parameter));
  auto* text = dialog.findChild<QLineEdit*>(u"sweepValues"_s);
  text->setText(values);
  Q_EMIT text->editingFinished();
  QTRY_VERIFY_WITH_TIMEOUT(dialog.isSettled(), coppice::waiting::kPatience);
  QStringList found;
  for (const SweepDialog::Point& point : dialog.points()) {
    found << (point.bound ? QString::fromStdString(toFraction(*point.bound)) : QString());
    QCOMPARE(point.bound.has_value(), point.why.isEmpty());
  }
  QCOMPARE(found, bounds);
  QCOMPARE(dialog.csv().trimmed().split(u'\n').size(), bounds.size() + 1);
}

void TestDesignerPalette::sweptNumbersHaveTheirPlaces_data() {
  QTest::addColumn<QString>("parameter");
  QTest::addColumn<QString>("values");
  QTest::addColumn<QList<double>>("places");
  QTest::newRow("whole") << u"boxes"_s << u"2, 4"_s << QList<double>{2, 4};
  QTest::newRow("fractions") << u"oversubscription"_s << u"1, 3/2, 4"_s << QList<double>{1, 1.5, 4};
  QTest::newRow("rates") << u"nic"_s << u"25, 400Gb/s"_s << QList<double>{25, 50};
  QTest::newRow("words") << u"network"_s << u"rails, simple"_s << QList<double>{1, 2};
}

void TestDesignerPalette::sweptNumbersHaveTheirPlaces() {
  QFETCH(QString, parameter);
  QFETCH(QString, values);
  QFETCH(QList<double>, places);
  PaletteEntry entry;
  entry.kind = PaletteEntry::Kind::preset;
  entry.preset = u"dgx-h100"_s;
  SweepDialog dialog(entry, {{"boxes", "2"}, {"network", "rails"}});
  auto* list = dialog.findChild<QComboBox*>(u"sweepParameter"_s);
  QVERIFY(list->findData(parameter) >= 0);
  list->setCurrentIndex(list->findData(parameter));
  auto* text = dialog.findChild<QLineEdit*>(u"sweepValues"_s);
  text->setText(values);
  Q_EMIT text->editingFinished();
  QTRY_VERIFY_WITH_TIMEOUT(dialog.isSettled(), coppice::waiting::kPatience);
  const auto* plot = dialog.findChild<Plot*>();
  QVERIFY(plot != nullptr && !plot->isEmpty());
  QList<double> found;
  for (const QPointF& point : plot->points(0)) {
    found << point.x();
  }
  QCOMPARE(found, places);
}

void TestDesignerPalette::initTestCase() {
  QCoreApplication::setOrganizationName(u"coppice-test"_s);
  QCoreApplication::setApplicationName(u"coppice-test-%1"_s.arg(QCoreApplication::applicationPid()));
  Theme::instance().applyTo(*qobject_cast<QApplication*>(QCoreApplication::instance()));
}

void TestDesignerPalette::everyEntryCanBeMade_data() {
  QTest::addColumn<QString>("id");
  std::set<QString> seen;
  for (const auto* list : {&deviceEntries(), &templateEntries(), &startEntries()}) {
    for (const PaletteEntry& entry : *list) {
      if (seen.insert(entry.id).second) {
        QTest::newRow(qPrintable(entry.id)) << entry.id;
      }
    }
  }
}

void TestDesignerPalette::everyEntryCanBeMade() {
  QFETCH(QString, id);
  const PaletteEntry* entry = findEntry(id);
  QVERIFY(entry != nullptr);
  QCOMPARE(entry->id, id);
  QVERIFY(!entry->title.isEmpty());
  QVERIFY(!entry->tip.isEmpty());
  const auto made = makePart(*entry);
  QVERIFY2(made, made ? "" : made.error().message.c_str());
  QVERIFY(!made->nodes().isEmpty() || entry->kind == PaletteEntry::Kind::box);
  if (entry->kind == PaletteEntry::Kind::preset || entry->kind == PaletteEntry::Kind::server) {
    for (const Finding& finding : fabric::validate(made->description())) {
      QVERIFY2(finding.severity != Severity::error, finding.text.c_str());
    }
  }
}

void TestDesignerPalette::everyPresetIsOffered() {
  std::set<QString> offered;
  for (const PaletteEntry& entry : templateEntries()) {
    offered.insert(entry.preset);
  }
  for (const presets::Preset& preset : presets::catalogue()) {
    QVERIFY2(offered.contains(QString::fromStdString(preset.name)), preset.name.c_str());
  }
  QVERIFY(startEntries().size() >= 10);
}

void TestDesignerPalette::sizes_data() {
  QTest::addColumn<QString>("id");
  QTest::addColumn<QString>("text");
  QTest::newRow("boxes") << u"preset/dgx-a100?boxes=4"_s << u"4 × 8"_s;
  QTest::newRow("one box") << u"preset/dgx-a100?boxes=1"_s << u"8"_s;
  QTest::newRow("no box") << u"preset/torus?dims=4x4x4"_s << u"64"_s;
  QTest::newRow("server") << u"server/pcie"_s << u"8"_s;
  QTest::newRow("a switch") << u"device/switch"_s << u"0"_s;
}

void TestDesignerPalette::sizes() {
  QFETCH(QString, id);
  QFETCH(QString, text);
  QCOMPARE(sizeOf(*makePart(*findEntry(id))).text, text);
}

void TestDesignerPalette::searchFinds_data() {
  QTest::addColumn<QString>("typed");
  QTest::addColumn<QString>("best");
  QTest::newRow("start of a word") << "nic"
                                   << "device/nic";
  QTest::newRow("two words") << "h100 rails"
                             << "preset/dgx-h100?boxes=4&network=rails";
  QTest::newRow("case") << "DRAGON"
                        << "preset/dragonfly";
  QTest::newRow("group") << "boxes mi300x"
                         << "preset/hgx-mi300x?boxes=1";
  QTest::newRow("nothing") << "toaster"
                           << "";
}

void TestDesignerPalette::searchFinds() {
  QFETCH(QString, typed);
  QFETCH(QString, best);
  int score = -1;
  QString found;
  for (const auto* list : {&deviceEntries(), &templateEntries()}) {
    for (const PaletteEntry& entry : *list) {
      if (entryScore(entry, typed) > score) {
        score = entryScore(entry, typed);
        found = entry.id;
      }
    }
  }
  QCOMPARE(found, best);
}

void TestDesignerPalette::picturesHaveInk() {
  const FabricPicture picture = fabricPicture(*makePart(*findEntry(u"preset/dgx-a100?boxes=4"_s)), {200, 120}, 2);
  QCOMPARE(picture.light.size(), QSize(400, 240));
  QVERIFY(picture.light != picture.dark);
  int ink = 0;
  for (int y = 0; y < picture.light.height(); ++y) {
    for (int x = 0; x < picture.light.width(); ++x) {
      ink += qAlpha(picture.light.pixel(x, y)) > 128 ? 1 : 0;
    }
  }
  QVERIFY2(ink > 2000, qPrintable(QString::number(ink)));
}

void TestDesignerPalette::picturesOfNothingAndOfTooMuch() {
  QVERIFY(fabricPicture({}, {100, 60}, 1).light.isNull());
  QVERIFY(fabricPicture(*makePart(*findEntry(u"device/gpu"_s)), {}, 1).light.isNull());
  // 1,024 GPUs in boxes: folded. 10,000 GPUs in no box: no picture.
  QVERIFY(
      !fabricPicture(readModel(*presets::make("dgx-a100", {{"boxes", "128"}})).model, {200, 120}, 1).light.isNull());
  QVERIFY(fabricPicture(readModel(*presets::make("ring", {{"gpus", "10000"}})).model, {200, 120}, 1).light.isNull());
}

void TestDesignerPalette::theLoaderTellsPictureAndBound() {
  CardLoader loader(false);
  QSignalSpy spy(&loader, &CardLoader::changed);
  const PaletteEntry& entry = *findEntry(u"preset/dgx-a100?boxes=4"_s);
  QVERIFY(loader.facts(u"a"_s) == nullptr);
  loader.submit(
      u"a"_s, [&entry] { return makePart(entry); }, {100, 60}, 1, true);
  loader.submit(
      u"a"_s, [&entry] { return makePart(entry); }, {100, 60}, 1, true);
  QTRY_COMPARE_WITH_TIMEOUT(spy.count(), 2, coppice::waiting::kPatience);
  const CardFacts& facts = *loader.facts(u"a"_s);
  QVERIFY(facts.hasPicture);
  QCOMPARE(facts.size.gpus, 32);
  QCOMPARE(facts.bound, u"266.67 GB/s"_s);
  QCOMPARE(facts.exact, u"800/3 GB/s"_s);
}

void TestDesignerPalette::theLoaderTellsFailures() {
  CardLoader loader(false);
  loader.submit(
      u"bad"_s,
      [] {
        return Result<Model>(Error{ErrorCode::io, "it is gone", "look elsewhere"});
      },
      {10, 10}, 1, true);
  loader.submit(
      u"worse"_s, []() -> Result<Model> { throw std::bad_alloc(); }, {10, 10}, 1, true);
  QTRY_VERIFY_WITH_TIMEOUT(loader.facts(u"worse"_s) != nullptr && !loader.facts(u"worse"_s)->why.isEmpty(),
                           coppice::waiting::kPatience);
  QVERIFY(loader.facts(u"bad"_s)->why.contains(u"it is gone"_s, Qt::CaseInsensitive));
  QVERIFY(loader.facts(u"bad"_s)->bound.isEmpty());
}

void TestDesignerPalette::ownTemplates() {
  const QTemporaryDir dir;
  const QString folder = dir.filePath(u"templates"_s);
  const Model model = *makePart(*findEntry(u"preset/dgx-a100?boxes=4"_s));
  QString id;
  {
    TemplateStore store(folder);
    QVERIFY(store.entries().empty());
    const auto saved = store.save(u"my: box/1"_s, model, {model.boxAtPath("b0")});
    QVERIFY(saved);
    id = *saved;
    QCOMPARE(id, u"own/my_ box_1"_s);
    QCOMPARE(*store.save(u"my: box/1"_s, model, {model.boxAtPath("b1")}), u"own/my_ box_1 2"_s);
    QCOMPARE(store.entries().size(), std::size_t(2));
  }
  TemplateStore again(folder);
  QVERIFY(again.find(id) != nullptr);
  const auto made = makePart(*again.find(id));
  QVERIFY(made);
  QCOMPARE(made->nodes().size(), model.allNodesIn(model.boxAtPath("b0")).size());
  const QString path = again.find(id)->path;
  QVERIFY(again.remove(id));
  QVERIFY(again.find(id) == nullptr);
  QVERIFY(!QFileInfo::exists(path));
  QVERIFY(!again.remove(id));
}

void TestDesignerPalette::ownTemplatesRefuse() {
  const QTemporaryDir dir;
  const Model model = *makePart(*findEntry(u"preset/dgx-a100?boxes=4"_s));
  TemplateStore store(dir.filePath(u"t"_s));
  QVERIFY(!store.save(u"x"_s, model, {}));
  QVERIFY(!store.save(u" .. "_s, model, {NodeId{1}}));
  QVERIFY(!TemplateStore({}).save(u"x"_s, model, {NodeId{1}}));
  // What is not a fabric is listed and says so when it is asked for.
  QVERIFY(QDir().mkpath(dir.filePath(u"t"_s)));
  QVERIFY(io::saveFile(dir.filePath(u"t/broken.fabric.json"_s).toStdString(), "{"));
  TemplateStore broken(dir.filePath(u"t"_s));
  QCOMPARE(broken.entries().size(), std::size_t(1));
  QVERIFY(!makePart(broken.entries().front()));
}

void TestDesignerPalette::theDialogCreates() {
  TemplateDialog dialog(*findEntry(u"preset/dgx-a100?boxes=4"_s), TemplateDialog::Drawing::none);
  dialog.open();
  QSignalSpy spy(&dialog, &TemplateDialog::createWanted);
  auto* chip = dialog.findChild<QPushButton*>(u"chip-boxes-2"_s);
  QVERIFY(chip != nullptr);
  QTest::mouseClick(chip, Qt::LeftButton);
  QCOMPARE(dialog.findChild<QSpinBox*>(u"parameter-boxes"_s)->value(), 2);
  // Before the preview of it is there.
  QTest::mouseClick(dialog.findChild<QPushButton*>(u"templateCreate"_s), Qt::LeftButton);
  QTRY_COMPARE_WITH_TIMEOUT(spy.count(), 1, coppice::waiting::kPatience);
  QCOMPARE(dialog.part()->nodes().size(), readModel(*presets::make("dgx-a100", {})).model.nodes().size());
  QVERIFY(!dialog.isVisible());
}

void TestDesignerPalette::theDialogNamesWhatIsWrong() {
  TemplateDialog dialog(*findEntry(u"preset/dgx-a100?boxes=4"_s), TemplateDialog::Drawing::empty);
  dialog.open();
  auto* create = dialog.findChild<QPushButton*>(u"templateCreate"_s);
  QVERIFY(dialog.findChild<FabricPreview*>() != nullptr);
  QTRY_VERIFY_WITH_TIMEOUT(!dialog.isWorking(), coppice::waiting::kPatience);
  const auto* bound = dialog.findChild<QLabel*>(u"templateBound"_s);
  QTRY_COMPARE_WITH_TIMEOUT(bound->text(), u"AllGather 266.67 GB/s"_s, coppice::waiting::kPatience);
  auto* nic = dialog.findChild<QLineEdit*>(u"parameter-nic"_s);
  nic->setText(u"fast"_s);
  auto* fault = dialog.findChild<QLabel*>(u"fault-nic"_s);
  QTRY_VERIFY_WITH_TIMEOUT(!fault->isHidden(), coppice::waiting::kPatience);
  QVERIFY(!create->isEnabled());
  QVERIFY(dialog.part() == nullptr);
  nic->setText(u"50"_s);
  QTRY_VERIFY_WITH_TIMEOUT(dialog.part() != nullptr, coppice::waiting::kPatience);
  QVERIFY(fault->isHidden());
  QTRY_VERIFY2_WITH_TIMEOUT(bound->text() != u"AllGather 266.67 GB/s"_s && bound->isEnabled(),
                            qPrintable(bound->text()), coppice::waiting::kPatience);
}

void TestDesignerPalette::theDialogHidesWhatHasNoEffect() {
  TemplateDialog dialog(*findEntry(u"preset/dgx-a100?boxes=4"_s), TemplateDialog::Drawing::empty);
  dialog.open();
  auto* spines = dialog.findChild<QSpinBox*>(u"parameter-spines"_s);
  QVERIFY(!spines->isVisible());
  dialog.findChild<QComboBox*>(u"parameter-network"_s)->setCurrentText(u"leaf-spine"_s);
  QVERIFY(spines->isVisible());
  QTRY_VERIFY_WITH_TIMEOUT(dialog.part() != nullptr, coppice::waiting::kPatience);
  QVERIFY(dialog.part()->nodeNamed("spine0").isValid());
}

void TestDesignerPalette::thePanelSearchesAndEnters() {
  CardLoader loader(false);
  TemplateStore store({});
  PalettePanel panel(loader, store);
  panel.resize(240, 600);
  panel.show();
  QString entered;
  int enteredCount = 0;
  connect(&panel, &PalettePanel::entered, &panel, [&](const PaletteEntry& entry, int count) {
    entered = entry.id;
    enteredCount = count;
  });
  QString chosen;
  connect(&panel, &PalettePanel::chosen, &panel, [&](const PaletteEntry& entry) { chosen = entry.id; });
  auto* search = panel.findChild<QLineEdit*>(u"paletteSearch"_s);
  QTest::keyClicks(search, u"dragonf"_s);
  QTest::keyClick(search, Qt::Key_Return);
  QCOMPARE(entered, u"preset/dragonfly"_s);
  search->clear();
  QTest::keyClick(search, Qt::Key_Down);
  QTest::keyClick(QApplication::focusWidget() != nullptr ? QApplication::focusWidget()
                                                         : panel.findChild<CardList*>(u"palette-Devices"_s),
                  Qt::Key_Return);
  QCOMPARE(entered, u"device/gpu"_s);
  auto* tiles = panel.findChild<CardList*>(u"palette-Devices"_s);
  QTest::mouseClick(tiles->viewport(), Qt::LeftButton, {}, tiles->visualItemRect(tiles->item(2)).center());
  QCOMPARE(chosen, u"device/switch"_s);
  // A number before the name of a device is how many; elsewhere it is a part of the name.
  search->setText(u"4 gpu"_s);
  QTest::keyClick(search, Qt::Key_Return);
  QCOMPARE(entered, u"device/gpu"_s);
  QCOMPARE(enteredCount, 4);
  search->setText(u"dragonfly"_s);
  QTest::keyClick(search, Qt::Key_Return);
  QCOMPARE(entered, u"preset/dragonfly"_s);
  QCOMPARE(enteredCount, 1);
}

QTEST_MAIN(TestDesignerPalette)
#include "tst_designer_palette.moc"
