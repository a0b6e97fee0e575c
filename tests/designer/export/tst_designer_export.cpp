// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

#include "coppice/test_paths.hpp"
#include "designer/export/export_command.hpp"
#include "designer/export/export_dialog.hpp"
#include "designer/export/export_feature.hpp"
#include "designer/schedules/methods_panel.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/window/window_fixture.hpp"
#include "fabric/description.hpp"
#include "io/fabric_json.hpp"
#include "io/files.hpp"
#include "program/msccl_xml.hpp"
#include "program/run_guide.hpp"
#include "program/used_sizes.hpp"
#include "schedule/peers.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

namespace {

constexpr int kLong = 60000;

ScheduleResultPtr made(const QString& name, const ScheduleOptions& options) {
  const QString path = QStringLiteral(COPPICE_EXAMPLES) + u'/' + name + u".fabric.json"_s;
  const auto text = io::readFile(path.toStdString());
  const auto description = io::readFabricJson(text.value(), name.toStdString());
  auto result = makeSchedule(description.value(), options, {});
  return result ? *result : nullptr;
}

ScheduleOptions withTrees(std::int64_t k, Collective collective = Collective::allgather) {
  ScheduleOptions options;
  options.collective = collective;
  if (k > 0) {
    options.methodOptions = {{kFixedK, std::to_string(k)}};
  }
  return options;
}

bool isJudged(const ExportDialog& dialog) {
  return QTest::qWaitFor([&] { return dialog.check() != nullptr; }, kLong);
}

const CheckRow* usedRow(const ExportDialog& dialog) {
  const auto& rows = dialog.check()->rows;
  const auto row =
      std::find_if(rows.begin(), rows.end(), [](const CheckRow& each) { return each.name == u"Used at"_s; });
  return row == rows.end() ? nullptr : &*row;
}

QPushButton* fixNamed(const ExportDialog& dialog, const QString& label) {
  for (QPushButton* button : dialog.findChildren<QPushButton*>(u"checkFix"_s)) {
    if (button->text() == label) {
      return button;
    }
  }
  return nullptr;
}

bool isUsedAtPowers(const std::string& xml, program::Runtime runtime) {
  const auto file = program::readMscclXml(xml, runtime);
  return file && program::usedSizes(program::sizeFacts(file->program), runtime).powersOfTwo;
}

}  // namespace

/// The export dialog: at which sizes a program is used, the setting that changes that, and what is said after saving.
class TestDesignerExport : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void usedAt_data();
  void usedAt();
  void oneClickGeneratesAndExports();
  void theBookHasTheNewSchedule();
  void fewerPeersWithOneClick();
  void limitedPeers();
  void instancesAlone();
  void savedIsSaidInTheDialog();
  void namesOfPrograms_data();
  void namesOfPrograms();
  void guide_data();
  void guide();
};

void TestDesignerExport::usedAt_data() {
  QTest::addColumn<std::int64_t>("k");
  QTest::addColumn<program::Runtime>("runtime");
  QTest::addColumn<QString>("value");
  QTest::addColumn<bool>("good");
  QTest::addColumn<QString>("detail");
  QTest::newRow("bytes") << std::int64_t{0} << program::Runtime::msccl << "208 bytes" << false
                         << "at a loss of 1/481 = 0.21 %";
  QTest::newRow("elements") << std::int64_t{0} << program::Runtime::mscclExecutorNccl << "208 elements" << false
                            << "Not at powers of two";
  QTest::newRow("powers of two") << std::int64_t{8} << program::Runtime::msccl << "128 bytes" << true
                                 << "At all powers of two from 256 bytes on";
  QTest::newRow("ROCm") << std::int64_t{1} << program::Runtime::rccl << "16 elements" << true << "Before ROCm 6.3";
}

void TestDesignerExport::usedAt() {
  QFETCH(std::int64_t, k);
  QFETCH(program::Runtime, runtime);
  QFETCH(QString, detail);
  const auto result = made(u"2x-dgx-a100"_s, withTrees(k));
  QVERIFY(result);
  lowering::Options options;
  options.runtime = runtime;
  const ExportCheck check = checkExport(*result, options, {});
  QVERIFY2(check.isOk, qPrintable(check.summary));
  const auto row = std::find_if(check.rows.begin(), check.rows.end(),
                                [](const CheckRow& each) { return each.name == u"Used at"_s; });
  QVERIFY(row != check.rows.end());
  QTEST(row->value, "value");
  QTEST(row->state == CheckState::good, "good");
  QVERIFY2(row->detail.contains(detail), qPrintable(row->detail));
  QCOMPARE(row->fixes.empty(), row->state == CheckState::good);
  // What there is to know comes before what is fine.
  QVERIFY(std::is_sorted(check.rows.begin(), check.rows.end(),
                         [](const CheckRow& a, const CheckRow& b) { return a.state > b.state; }));
}

void TestDesignerExport::oneClickGeneratesAndExports() {
  const auto result = made(u"2x-dgx-a100"_s, withTrees(0));
  QVERIFY(result);
  ExportDialog dialog(result, u"best"_s, {}, {}, [](const QString&, const QString&) { return QString(); });
  QSignalSpy regenerated(&dialog, &ExportDialog::regenerated);
  dialog.show();
  lowering::Options options = dialog.options();
  options.instances = 3;
  dialog.setOptions(options);
  QVERIFY(isJudged(dialog));
  QVERIFY(!isUsedAtPowers(dialog.check()->xml, program::Runtime::msccl));
  QPushButton* fix = fixNamed(dialog, u"Generate with k = 8, 2 instances"_s);
  QVERIFY(fix != nullptr);
  QTest::mouseClick(fix, Qt::LeftButton);
  QTRY_COMPARE_WITH_TIMEOUT(regenerated.size(), 1, kLong);
  QVERIFY(isJudged(dialog));
  QVERIFY2(dialog.check()->isOk, qPrintable(dialog.check()->summary));
  QCOMPARE(dialog.result()->k, std::int64_t{8});
  QCOMPARE(dialog.options().instances, 2);
  QVERIFY(isUsedAtPowers(dialog.check()->xml, program::Runtime::msccl));
  QCOMPARE(usedRow(dialog)->state, CheckState::good);
  QVERIFY(dialog.command().contains(u"--k 8"_s));
  // A fix that fails, or is stopped by closing, leaves nothing behind.
  dialog.close();
}

void TestDesignerExport::theBookHasTheNewSchedule() {
  test::Fixture fixture;
  QVERIFY(fixture.window->files().openFile(fixture.example("2x-dgx-a100.fabric.json")) != nullptr);
  auto* schedules = fixture.window->findChild<ScheduleFeature*>();
  fixture.run("schedule.generate");
  QVERIFY(QTest::qWaitFor([&] { return !schedules->book()->isRunning(); }, kLong));
  QVERIFY(schedules->book()->current() != nullptr && schedules->book()->current()->result);
  QCOMPARE(schedules->book()->current()->result->k, std::int64_t{13});
  ExportDialog* dialog = fixture.window->findChild<ExportFeature*>()->exportCurrent();
  QVERIFY(isJudged(*dialog));
  QPushButton* fix = fixNamed(*dialog, u"Generate with k = 8"_s);
  QVERIFY(fix != nullptr);
  QTest::mouseClick(fix, Qt::LeftButton);
  QTRY_COMPARE_WITH_TIMEOUT(schedules->book()->entries().size(), std::size_t{2}, kLong);
  const ScheduleEntry* entry = schedules->book()->current();
  QCOMPARE(entry->result->k, std::int64_t{8});
  QVERIFY2(dialog->windowTitle().contains(entry->name), qPrintable(dialog->windowTitle()));
  QVERIFY(isJudged(*dialog));
  QCOMPARE(dialog->result(), entry->result);
  QTRY_VERIFY_WITH_TIMEOUT(schedules->book()->isSettled(), kLong);
  QTRY_VERIFY_WITH_TIMEOUT(schedules->book()->isFresh(*schedules->book()->current()), kLong);
  QCOMPARE(fixture.answers->failures, QStringList());
}

/// What does not fit is offered with fewer peers, generated in the dialog and exported from there.
void TestDesignerExport::fewerPeersWithOneClick() {
  const auto result = made(u"2x-dgx-a100"_s, withTrees(0));
  QVERIFY(result);
  ExportDialog dialog(result, u"best"_s, {}, {}, [](const QString&, const QString&) { return QString(); });
  QSignalSpy regenerated(&dialog, &ExportDialog::regenerated);
  dialog.show();
  lowering::Options options = dialog.options();
  options.instances = 16;
  dialog.setOptions(options);
  QVERIFY(isJudged(dialog));
  QVERIFY(!dialog.check()->isOk);
  const CheckRow& row = dialog.check()->rows.front();
  const auto offer =
      std::find_if(row.fixes.begin(), row.fixes.end(), [](const CheckFix& fix) { return fix.newPeers.has_value(); });
  QVERIFY(offer != row.fixes.end());
  QVERIFY2(row.detail.contains(u"of the optimum"_s) || row.detail.contains(u"the optimum"_s), qPrintable(row.detail));
  const int peers = *offer->newPeers;
  QPushButton* fix = fixNamed(dialog, offer->label);
  QVERIFY(fix != nullptr);
  QTest::mouseClick(fix, Qt::LeftButton);
  QTRY_COMPARE_WITH_TIMEOUT(regenerated.size(), 1, kLong);
  QVERIFY(isJudged(dialog));
  QVERIFY2(dialog.check()->isOk, qPrintable(dialog.check()->summary));
  QCOMPARE(dialog.options().instances, 16);
  QVERIFY(dialog.result()->options.integer(kMaxPeers) == peers);
  QVERIFY(schedule::maxPeers(*dialog.result()->forests(), *dialog.result()->fabric) <= peers);
  QVERIFY(dialog.command().contains(u"--max-peers %1"_s.arg(peers)));
}

/// The limit is part of the options: in the dialog, in the name and in the file.
void TestDesignerExport::limitedPeers() {
  ScheduleOptions options;
  options.methodOptions = {{kMaxPeers, "8"}};
  const auto result = made(u"2x-dgx-a100"_s, options);
  QVERIFY(result);
  QVERIFY(schedule::maxPeers(*result->forests(), *result->fabric) <= 8);
  QVERIFY(result->meetsBound);
  QVERIFY(ScheduleBook::nameFor(*result).contains(u"8 peers, "_s));
  const QTemporaryDir folder;
  const QString path = folder.filePath(u"limited.forest.json"_s);
  QVERIFY(saveSchedule(path, *result));
  const auto loaded = loadSchedule(path, {});
  QVERIFY(loaded);
  QVERIFY((*loaded)->options == result->options);
  MethodsPanel dialog;
  QVERIFY(!dialog.options().integer(kMaxPeers));
  auto* box = dialog.findChild<QCheckBox*>(u"set-max-peers"_s);
  auto* peers = dialog.findChild<QSpinBox*>(u"option-max-peers"_s);
  QVERIFY(box != nullptr && peers != nullptr);
  box->setChecked(true);
  peers->setValue(9);
  QVERIFY(dialog.options().integer(kMaxPeers) == 9);
}

void TestDesignerExport::instancesAlone() {
  const auto result = made(u"2x-dgx-a100"_s, withTrees(1));
  QVERIFY(result);
  lowering::Options options;
  options.instances = 3;
  const ExportCheck check = checkExport(*result, options, {});
  const auto row = std::find_if(check.rows.begin(), check.rows.end(),
                                [](const CheckRow& each) { return each.name == u"Used at"_s; });
  QVERIFY(row != check.rows.end() && row->fixes.size() == 1);
  QVERIFY(!row->fixes.front().newK);
  QCOMPARE(row->fixes.front().options.instances, 2);
}

void TestDesignerExport::savedIsSaidInTheDialog() {
  const QTemporaryDir folder;
  const QString path = folder.filePath(u"a program.xml"_s);
  const auto result = made(u"2x-dgx-a100"_s, withTrees(8));
  QVERIFY(result);
  ExportDialog dialog(result, u"ag"_s, {}, {}, [&](const QString&, const QString&) { return path; });
  QSignalSpy saved(&dialog, &ExportDialog::saved);
  dialog.show();
  QVERIFY(isJudged(dialog));
  auto* said = dialog.findChild<QLabel*>(u"exportSaved"_s);
  auto* text = dialog.findChild<QPlainTextEdit*>(u"exportGuide"_s);
  auto* save = dialog.findChild<QPushButton*>(u"exportSave"_s);
  QVERIFY(said->isHidden());
  QVERIFY(text->isHidden());
  QTest::mouseClick(save, Qt::LeftButton);
  QCOMPARE(saved.size(), 1);
  QVERIFY(!said->isHidden());
  QVERIFY2(said->text().startsWith(u"Saved "_s) && said->text().contains(u"a program.xml"_s), qPrintable(said->text()));
  QVERIFY(!text->isHidden());
  QCOMPARE(text->toPlainText(), dialog.guide());
  QVERIFY2(dialog.guide().contains(u"MSCCL_XML_FILES='"_s + path + u"'"_s), qPrintable(dialog.guide()));
  QTest::mouseClick(dialog.findChild<QPushButton*>(u"exportCopyGuide"_s), Qt::LeftButton);
  QCOMPARE(QGuiApplication::clipboard()->text(), dialog.guide());
  // What has the keyboard is in the dialog, and Esc closes it from there.
  QVERIFY(dialog.focusWidget() != nullptr);
  text->setFocus();
  QTest::keyClick(text, Qt::Key_Escape);
  QVERIFY(dialog.isHidden());
  // Other settings are another program, which is not saved.
  dialog.show();
  lowering::Options options = dialog.options();
  options.runtime = program::Runtime::rccl;
  dialog.setOptions(options);
  QVERIFY(isJudged(dialog));
  QVERIFY(said->isHidden());
  QVERIFY2(dialog.guide().contains(u"MSCCL_ALGO_DIR="_s), qPrintable(dialog.guide()));
}

void TestDesignerExport::guide_data() {
  QTest::addColumn<program::Runtime>("runtime");
  QTest::newRow("msccl") << program::Runtime::msccl;
  QTest::newRow("executor") << program::Runtime::mscclExecutorNccl;
  QTest::newRow("rccl") << program::Runtime::rccl;
}

/// Before anything is saved too, and in the manual.
void TestDesignerExport::guide() {
  QFETCH(program::Runtime, runtime);
  const auto result = made(u"2x-dgx-a100"_s, withTrees(8, Collective::allreduce));
  QVERIFY(result);
  ExportDialog dialog(result, u"ar"_s, {}, {}, [](const QString&, const QString&) { return QString(); });
  dialog.show();
  lowering::Options options = dialog.options();
  options.runtime = runtime;
  options.instances = 1;
  dialog.setOptions(options);
  QVERIFY(isJudged(dialog));
  auto* show = dialog.findChild<QPushButton*>(u"exportShowGuide"_s);
  QVERIFY2(dialog.check()->isOk, qPrintable(dialog.check()->summary));
  QVERIFY(show->isEnabled());
  QTest::mouseClick(show, Qt::LeftButton);
  auto* text = dialog.findChild<QPlainTextEdit*>(u"exportGuide"_s);
  QVERIFY(!text->isHidden());
  QVERIFY(text->toPlainText().contains(u"all_reduce_perf"_s));
  QFile manual(u":/help/export.md"_s);
  QVERIFY(manual.open(QIODevice::ReadOnly));
  const QString page = QString::fromUtf8(manual.readAll());
  const program::RunGuide guide = program::runGuide(dialog.check()->facts, runtime, "ar.xml");
  QVERIFY(!guide.settings.empty());
  for (const program::RunSetting& setting : guide.settings) {
    QVERIFY2(page.contains(QString::fromStdString(setting.name)), setting.name.c_str());
  }
}

void TestDesignerExport::namesOfPrograms_data() {
  QTest::addColumn<QString>("schedule");
  QTest::addColumn<int>("treesPerRoot");
  QTest::addColumn<QString>("program");
  QTest::newRow("trees") << u"AllGather, 160 trees"_s << 10 << u"allgather-k10"_s;
  QTest::newRow("one tree") << u"Broadcast, 1 tree"_s << 1 << u"broadcast-k1"_s;
  QTest::newRow("a name of one's own") << u"after the upgrade"_s << 10 << u"after-the-upgrade"_s;
  QTest::newRow("method") << u"AllReduce Double binary tree"_s << 0 << u"allreduce-double-binary-tree"_s;
  QTest::newRow("commas") << u"Alltoall (6, 3, 7)"_s << 0 << u"alltoall-6-3-7"_s;
  QTest::newRow("nothing") << u"=="_s << 0 << u"program"_s;
}

void TestDesignerExport::namesOfPrograms() {
  QFETCH(QString, schedule);
  QFETCH(int, treesPerRoot);
  QTEST(programName(schedule, treesPerRoot), "program");
}

QTEST_MAIN(TestDesignerExport)
#include "tst_designer_export.moc"
