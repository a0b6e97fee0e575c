// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "designer/export/plan_dialog.hpp"
#include "presets/presets.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

namespace {

std::vector<ComparedSchedule> madeBy(std::initializer_list<const char*> methods) {
  const auto facts = presets::make("dgx-a100", {{"boxes", "2"}});
  std::vector<ComparedSchedule> schedules;
  for (const char* method : methods) {
    ScheduleOptions options;
    options.collective = Collective::allreduce;
    options.method = method;
    const auto made = makeSchedule(*facts, options, {});
    if (!made) {
      qFatal("%s", describe(made.error()).c_str());
    }
    schedules.push_back({static_cast<int>(schedules.size()) + 1, QString::fromLatin1(method), *made});
  }
  return schedules;
}

}  // namespace

class TestDesignerPlan : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void writesAllBands();
  void namesWhatIsWrong();
  void stops();
};

/// The files say who is used from where to where, without a gap, and each program is there.
void TestDesignerPlan::writesAllBands() {
  const QTemporaryDir folder;
  const QString place = folder.filePath(u"a plan"_s);
  PlanDialog dialog(madeBy({"forestcoll", "ring", "recursive-doubling"}), place, {});
  QSignalSpy written(&dialog, &PlanDialog::written);
  dialog.findChild<QPushButton*>(u"planExport"_s)->click();
  QVERIFY(QTest::qWaitFor([&] { return written.count() == 1; }, 60000));
  QFile file(place + u"/plan.json"_s);
  QVERIFY(file.open(QIODevice::ReadOnly));
  const QJsonObject plan = QJsonDocument::fromJson(file.readAll()).object();
  QCOMPARE(plan[u"collective"_s].toString(), u"allreduce"_s);
  const QJsonArray programs = plan[u"programs"_s].toArray();
  QVERIFY(programs.size() >= 2);  // few steps for small sizes, trees for large ones
  const auto* table = dialog.findChild<QTableWidget*>(u"planTable"_s);
  QCOMPARE(table->rowCount(), static_cast<int>(programs.size()));
  qint64 next = 1024;
  for (int i = 0; i < programs.size(); ++i) {
    const QJsonObject program = programs[i].toObject();
    QCOMPARE(program[u"first"_s].toInteger(), next);
    next = program[u"last"_s].toInteger() + 1;
    QVERIFY(QFileInfo::exists(place + u'/' + program[u"program"_s].toString()));
    QVERIFY(QFileInfo::exists(place + u'/' + program[u"schedule_file"_s].toString()));
    QCOMPARE(table->item(i, PlanDialog::kFile)->text(), program[u"program"_s].toString());
    QCOMPARE(table->item(i, PlanDialog::kSchedule)->text(), program[u"method"_s].toString());
  }
  QCOMPARE(next, (qint64{1} << 30) + 1);
}

void TestDesignerPlan::namesWhatIsWrong() {
  const QTemporaryDir folder;
  QFile blocker(folder.filePath(u"file"_s));
  QVERIFY(blocker.open(QIODevice::WriteOnly));
  PlanDialog dialog(madeBy({"ring"}), folder.filePath(u"file/plan"_s), {});
  auto* first = dialog.findChild<QComboBox*>(u"planFirst"_s);
  auto* last = dialog.findChild<QComboBox*>(u"planLast"_s);
  auto* state = dialog.findChild<QLabel*>(u"planState"_s);
  auto* button = dialog.findChild<QPushButton*>(u"planExport"_s);
  first->setCurrentIndex(first->count() - 1);
  last->setCurrentIndex(0);
  QVERIFY(!button->isEnabled());
  QVERIFY(!state->text().isEmpty());
  first->setCurrentIndex(0);
  QVERIFY(button->isEnabled());
  button->click();
  QVERIFY(QTest::qWaitFor([&] { return !dialog.isWorking(); }, 60000));
  QVERIFY2(state->text().contains(u"folder"_s), qPrintable(state->text()));
  dialog.findChild<QLineEdit*>(u"planFolder"_s)->clear();
  QVERIFY(!button->isEnabled());
}

void TestDesignerPlan::stops() {
  const QTemporaryDir folder;
  PlanDialog dialog(madeBy({"forestcoll", "ring"}), folder.filePath(u"plan"_s), {});
  QSignalSpy written(&dialog, &PlanDialog::written);
  auto* button = dialog.findChild<QPushButton*>(u"planExport"_s);
  button->click();
  button->click();
  QVERIFY(QTest::qWaitFor([&] { return !dialog.isWorking(); }, 60000));
  QCOMPARE(written.count(), 0);
  QVERIFY(button->isEnabled());
}

QTEST_MAIN(TestDesignerPlan)
#include "tst_designer_plan.moc"
