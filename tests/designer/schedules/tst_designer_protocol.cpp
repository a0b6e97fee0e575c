// SPDX-License-Identifier: Apache-2.0
#include <QComboBox>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

#include "designer/export/export_dialog.hpp"
#include "presets/presets.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

/// Export of broadcast and reduce: roots, and protocols that hang.
namespace {

constexpr int kLong = 60000;

ScheduleResultPtr made(const char* boxes, Collective collective) {
  const auto description = presets::make("dgx-a100", {{"boxes", boxes}});
  if (!description) {
    return nullptr;
  }
  ScheduleOptions options;
  options.collective = collective;
  options.root = collective == Collective::allgather ? "" : "b0g3";
  options.methodOptions = {{kFixedK, "1"}};
  const auto result = makeSchedule(*description, options, {});
  return result ? *result : nullptr;
}

const CheckRow* rowNamed(const ExportCheck& check, const QString& name) {
  const auto row = std::find_if(check.rows.begin(), check.rows.end(),
                                [&](const CheckRow& candidate) { return candidate.name == name; });
  return row == check.rows.end() ? nullptr : &*row;
}

}  // namespace

class TestDesignerProtocol : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void aRowForTheRoot();
  void simpleBetweenBoxesIsMended();
  void theDialogBeginsWithAProtocolThatWorks_data();
  void theDialogBeginsWithAProtocolThatWorks();
  void aTargetHasItsOwnChecklist();
};

void TestDesignerProtocol::aRowForTheRoot() {
  const ScheduleResultPtr broadcast = made("1", Collective::broadcast);
  QVERIFY(broadcast);
  const ExportCheck check = checkExport(*broadcast, {}, {});
  QVERIFY2(check.isOk, qPrintable(check.summary));
  const CheckRow* root = rowNamed(check, u"Root"_s);
  QVERIFY(root != nullptr);
  QCOMPARE(root->state, CheckState::doubtful);
  QCOMPARE(root->value, u"rank 3"_s);
  QVERIFY(root->detail.contains(u"its data is wrong"_s));
  // The verifier's warning says the same; it is not listed again. In one box, Simple is right.
  QVERIFY(rowNamed(check, u"Warning"_s) == nullptr);
  const ScheduleResultPtr allgather = made("1", Collective::allgather);
  QVERIFY(allgather && rowNamed(checkExport(*allgather, {}, {}), u"Root"_s) == nullptr);
}

void TestDesignerProtocol::simpleBetweenBoxesIsMended() {
  const ScheduleResultPtr reduce = made("2", Collective::reduce);
  QVERIFY(reduce);
  const ExportCheck check = checkExport(*reduce, {.protocol = program::Protocol::simple}, {});
  QVERIFY(!check.isOk && !check.rows.empty());
  QVERIFY2(check.rows.front().detail.contains(u"hangs between boxes"_s), qPrintable(check.rows.front().detail));
  const auto& fixes = check.rows.front().fixes;
  const auto fix = std::find_if(fixes.begin(), fixes.end(),
                                [](const CheckFix& candidate) { return candidate.label == u"Use LL"_s; });
  QVERIFY(fix != fixes.end());
  const ExportCheck fixed = checkExport(*reduce, fix->options, {});
  QVERIFY2(fixed.isOk, qPrintable(fixed.summary));
  QVERIFY(fixed.xml.find("proto=\"LL\"") != std::string::npos);
}

void TestDesignerProtocol::theDialogBeginsWithAProtocolThatWorks_data() {
  QTest::addColumn<QString>("boxes");
  QTest::addColumn<int>("collective");
  QTest::addColumn<QString>("protocol");
  QTest::addColumn<QString>("suggestion");
  const auto row = [](const char* name, const char* boxes, Collective collective, const char* protocol,
                      const char* suggestion) {
    QTest::newRow(name) << boxes << static_cast<int>(collective) << protocol << suggestion;
  };
  row("broadcast, one box", "1", Collective::broadcast, "Simple", "mine-root3.xml");
  row("broadcast, two boxes", "2", Collective::broadcast, "LL", "mine-root3.xml");
  row("allgather, two boxes", "2", Collective::allgather, "Simple", "mine.xml");
}

void TestDesignerProtocol::theDialogBeginsWithAProtocolThatWorks() {
  QFETCH(QString, boxes);
  QFETCH(int, collective);
  QFETCH(QString, suggestion);
  const ScheduleResultPtr result = made(qPrintable(boxes), static_cast<Collective>(collective));
  QVERIFY(result);
  QStringList asked;
  ExportDialog dialog(result, u"mine"_s, u"mine.forest.json"_s, {}, [&](const QString& wanted, const QString&) {
    asked << wanted;
    return QString();
  });
  QTEST(dialog.findChild<QComboBox*>(u"exportProtocol"_s)->currentText(), "protocol");
  QCOMPARE(dialog.findChild<QComboBox*>(u"exportRuntime"_s)->count(),
           static_cast<int>(workflow::destinations().size()));
  QTRY_VERIFY_WITH_TIMEOUT(dialog.check() != nullptr, kLong);
  QVERIFY2(dialog.check()->isOk, qPrintable(dialog.check()->summary));
  dialog.findChild<QPushButton*>(u"exportSave"_s)->click();
  QCOMPARE(asked, QStringList{suggestion});
  QVERIFY2(dialog.command().endsWith(u"-o "_s + suggestion), qPrintable(dialog.command()));
}

/// A target has its own limits, and files of its own ending.
void TestDesignerProtocol::aTargetHasItsOwnChecklist() {
  const ScheduleResultPtr result = made("2", Collective::broadcast);
  QVERIFY(result);
  QStringList asked;
  ExportDialog dialog(result, u"mine"_s, u"mine.forest.json"_s, {}, [&](const QString& wanted, const QString&) {
    asked << wanted;
    return QString();
  });
  auto* runtime = dialog.findChild<QComboBox*>(u"exportRuntime"_s);
  runtime->setCurrentIndex(static_cast<int>(program::kRuntimes.size()));
  QTRY_VERIFY_WITH_TIMEOUT(dialog.check() != nullptr, kLong);
  QVERIFY2(dialog.check()->isOk, qPrintable(dialog.check()->summary));
  const CheckRow* operations = rowNamed(*dialog.check(), u"Operations per threadblock"_s);
  QVERIFY(operations != nullptr);
  QCOMPARE(operations->limit, u"at most 64"_s);
  QVERIFY(dialog.guide().contains(u"register_plans"_s) || dialog.guide().contains(u"AlgorithmCollectionBuilder"_s));
  dialog.findChild<QPushButton*>(u"exportSave"_s)->click();
  QCOMPARE(asked, QStringList{u"mine-root3.plan.json"_s});
  QVERIFY2(dialog.command().contains(u"--target mscclpp "_s), qPrintable(dialog.command()));
  // This one is for an allreduce through capable switches.
  runtime->setCurrentIndex(runtime->count() - 1);
  dialog.findChild<QComboBox*>(u"exportProtocol"_s)->setCurrentText(u"Simple"_s);
  QTRY_VERIFY_WITH_TIMEOUT(dialog.check() != nullptr, kLong);
  QVERIFY(!dialog.check()->isOk);
  QVERIFY(dialog.check()->rows.front().detail.contains(u"allreduce"_s));
}

QTEST_MAIN(TestDesignerProtocol)
#include "tst_designer_protocol.moc"
