// SPDX-License-Identifier: Apache-2.0
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QPushButton>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTest>

#include "designer/document/fabric_file.hpp"
#include "designer/schedule/generate_dialog.hpp"
#include "presets/presets.hpp"
#include "workflow/generator.hpp"
#include "workflow/request.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

/// A method that is registered appears in the Generate dialog with its options, and no file of the window knows it.
namespace {

constexpr int kLong = 60000;

workflow::Generator trialMethod() {
  workflow::Generator method;
  method.id = "trial";
  method.title = "Trial";
  method.description = "ForestColl with a given number of trees";
  method.collectives = {Collective::allgather, Collective::broadcast};
  method.options = {{.name = "trees",
                     .title = "Trees",
                     .help = "Trees per root",
                     .kind = workflow::OptionKind::integer,
                     .defaultText = "1",
                     .min = 1,
                     .max = 8},
                    {.name = "limit",
                     .title = "Limit",
                     .help = "No effect",
                     .kind = workflow::OptionKind::integer,
                     .min = 1,
                     .max = 9},
                    {.name = "direction",
                     .title = "Direction",
                     .help = "No effect",
                     .kind = workflow::OptionKind::choice,
                     .defaultText = "up",
                     .words = {"up", "down"}},
                    {.name = "fast", .title = "Fast", .help = "No effect", .kind = workflow::OptionKind::flag}};
  method.generate = [](const fabric::Fabric& fabric, const workflow::Demand& demand,
                       const workflow::OptionValues& values, const Progress& progress) -> Result<workflow::Made> {
    forestcoll::Request request = workflow::requestOf(demand);
    request.fixedK = values.integer("trees");
    auto generated = forestcoll::generate(fabric, request, progress);
    if (!generated) {
      return generated.error();
    }
    return workflow::Made{.schedule = std::move(generated->schedule)};
  };
  return method;
}

struct Fixture {
  Fixture() {
    file.adopt(readModel(*presets::make("mi250", {{"boxes", "2"}})).model, {});
    dialog.setSubject(&book, &file, &selection, &bound);
  }
  template <typename Widget>
  [[nodiscard]] Widget* child(const char* name) const {
    return dialog.findChild<Widget*>(QLatin1String(name));
  }

  DocumentFile file;
  Selection selection{file.document()};
  LiveBound bound{file.document()};
  ScheduleBook book{file, bound};
  GenerateDialog dialog;
};

}  // namespace

class TestDesignerMethods : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase() { workflow::addGenerator(trialMethod()); }

  void appearsWithItsOptions() {
    Fixture fixture;
    auto* method = fixture.child<QComboBox>("generateMethod");
    for (const workflow::Generator& each : workflow::generators()) {
      const bool isShown = each.form == workflow::ScheduleForm::forest;
      QCOMPARE(method->findData(QString::fromStdString(each.id)) >= 0, isShown);
    }
    QCOMPARE(method->currentData().toString(), QLatin1String(workflow::kDefaultMethod));
    QVERIFY(!fixture.child<QWidget>("generateExact")->isHidden());
    QVERIFY(fixture.child<QWidget>("generateOptions") == nullptr);
    method->setCurrentText(u"Trial"_s);
    QVERIFY(fixture.child<QWidget>("generateOptions") != nullptr);
    QVERIFY(!fixture.child<QWidget>("generateExact")->isVisibleTo(&fixture.dialog));
    for (const char* name : {"option-trees", "option-limit", "option-direction", "option-fast"}) {
      QVERIFY2(fixture.child<QWidget>(name) != nullptr, name);
    }
    method->setCurrentIndex(0);
    QVERIFY(fixture.child<QWidget>("generateOptions") == nullptr);
    QVERIFY(fixture.child<QWidget>("generateExact")->isVisibleTo(&fixture.dialog));
  }

  void optionsAreValues() {
    Fixture fixture;
    fixture.child<QComboBox>("generateMethod")->setCurrentText(u"Trial"_s);
    QVERIFY(fixture.dialog.options().methodOptions.empty());
    fixture.child<QSpinBox>("option-trees")->setValue(3);
    fixture.child<QComboBox>("option-direction")->setCurrentText(u"down"_s);
    fixture.child<QCheckBox>("option-fast")->setChecked(true);
    const workflow::Values expected{{"trees", "3"}, {"direction", "down"}, {"fast", "true"}};
    QCOMPARE(fixture.dialog.options().method, std::string("trial"));
    QVERIFY(fixture.dialog.options().methodOptions == expected);
    // They are remembered with the document.
    QVERIFY(fixture.book.options().methodOptions == expected);
    fixture.child<QPushButton>("generateCopy")->click();
    const QString command = QGuiApplication::clipboard()->text();
    QVERIFY2(command.contains(u"--method trial --direction down --fast --trees 3"_s), qPrintable(command));
  }

  void generates() {
    Fixture fixture;
    fixture.child<QComboBox>("generateMethod")->setCurrentText(u"Trial"_s);
    fixture.child<QSpinBox>("option-trees")->setValue(2);
    fixture.child<QPushButton>("generateButton")->click();
    QTRY_VERIFY_WITH_TIMEOUT(!fixture.book.isRunning(), kLong);
    QVERIFY2(fixture.book.failure().isEmpty(), qPrintable(fixture.book.failure()));
    QVERIFY(fixture.book.current() != nullptr);
    const ScheduleResultPtr& result = fixture.book.current()->result;
    QCOMPARE(result->schedule.algbw.toString(), std::string("1024/3"));
    QVERIFY(result->verdict.ok);
    QVERIFY(fixture.book.current()->name.contains(u"Trial"_s));
    // Kept in the file with its options.
    QTemporaryDir folder;
    const QString path = folder.filePath(u"a.forest.json"_s);
    QVERIFY(saveSchedule(path, *result));
    const auto loaded = loadSchedule(path, {});
    QVERIFY2(loaded, loaded ? "" : describe(loaded.error()).c_str());
    QVERIFY((*loaded)->options == result->options);
  }

  void collectiveThatItDoesNotMake() {
    Fixture fixture;
    fixture.child<QComboBox>("generateMethod")->setCurrentText(u"Trial"_s);
    QVERIFY(fixture.child<QPushButton>("generateButton")->isEnabled());
    fixture.dialog.show();
    fixture.bound.setQuestion({.collective = Collective::allreduce});
    QTRY_VERIFY_WITH_TIMEOUT(!fixture.child<QPushButton>("generateButton")->isEnabled(), kLong);
    QVERIFY(fixture.child<QPushButton>("generateButton")->toolTip().contains(u"Trial"_s));
    ScheduleOptions options = fixture.dialog.options();
    const auto refused = makeSchedule(*fixture.file.document().facts(), options, {});
    QVERIFY(!refused);
    QVERIFY2(QString::fromStdString(refused.error().message).contains(u"Trial makes no schedule for allreduce"_s),
             refused.error().message.c_str());
  }
};

QTEST_MAIN(TestDesignerMethods)
#include "tst_designer_methods.moc"
