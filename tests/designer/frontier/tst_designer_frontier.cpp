// SPDX-License-Identifier: Apache-2.0
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTest>

#include "bom/tables.hpp"
#include "designer/document/figures.hpp"
#include "designer/frontier/frontier_dialog.hpp"
#include "designer/palette/card_list.hpp"
#include "designer/palette/template_dialog.hpp"
#include "support/waiting.hpp"
#include "window/window_fixture.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;
using designer::test::Fixture;

namespace {

const workflow::Values kAsked{
    {"box", "dgx-h100"}, {"gpus", "256"}, {"network", "leaf-spine"}, {"oversubscription", "1,2,4"}};

/// The dialog in the window, with the answer for kAsked.
struct Prices {
  Prices() {
    fixture.run("file.price-networks");
    dialog = fixture.window->findChild<FrontierDialog*>();
  }
  [[nodiscard]] bool ask(const workflow::Values& values) const {
    dialog->form().setValues(values);
    dialog->search();
    return isDone();
  }
  [[nodiscard]] bool isDone() const {
    return QTest::qWaitFor([&] { return dialog->isSettled() && dialog->answer() != nullptr; },
                           coppice::waiting::kPatience);
  }
  [[nodiscard]] QString text(const char* name) const { return dialog->findChild<QLabel*>(QLatin1String(name))->text(); }
  [[nodiscard]] QPushButton* button(const char* name) const {
    return dialog->findChild<QPushButton*>(QLatin1String(name));
  }

  Fixture fixture;
  FrontierDialog* dialog = nullptr;
};

/// What the command line's flow finds.
workflow::Frontier expected(const workflow::Values& asked = kAsked) {
  const auto question = workflow::readFrontier(asked);
  return *workflow::findFrontier(question->request, question->priced.parts, {});
}

}  // namespace

class TestDesignerFrontier : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase() { designer::test::prepareApplication("frontier"); }
  void frontIsThatOfTheFlow();
  void chartHasTheNetworks();
  void opensANetwork();
  void savesBillAndCables();
  void faultsAreSaid();
  void stops();
  void asksForTheBoxesOfATemplate();
};

void TestDesignerFrontier::frontIsThatOfTheFlow() {
  const Prices shown;
  QVERIFY(shown.isDone());
  QVERIFY2(shown.text("frontierState").contains(u"round numbers of the sample"_s),
           qPrintable(shown.text("frontierState")));
  QVERIFY(shown.ask(kAsked));
  const workflow::Frontier frontier = expected();
  std::vector<const workflow::FrontierPoint*> front;
  for (const workflow::FrontierPoint& point : frontier.points) {
    if (point.isOnFront) {
      front.push_back(&point);
    }
  }
  QVERIFY(front.size() > 1);
  QCOMPARE(shown.dialog->table().rowCount(), static_cast<int>(front.size()));
  for (std::size_t i = 0; i < front.size(); ++i) {
    const int row = static_cast<int>(i);
    QCOMPARE(shown.dialog->table().item(row, 0)->text(), QString::fromStdString(front[i]->name));
    QCOMPARE(shown.dialog->table().item(row, 1)->text(), grouped(front[i]->bill.total.price));
  }
  // All networks: those of the front and the others.
  shown.dialog->findChild<QCheckBox*>(u"frontierAll"_s)->setChecked(true);
  QCOMPARE(shown.dialog->table().rowCount(), static_cast<int>(frontier.points.size()));
  // With the bill of the chosen one.
  QVERIFY2(shown.text("frontierBill").contains(u"256 × NIC 1 x 400G"_s), qPrintable(shown.text("frontierBill")));
}

void TestDesignerFrontier::chartHasTheNetworks() {
  const Prices shown;
  QVERIFY(shown.ask(kAsked));
  const workflow::Frontier frontier = expected();
  const auto* cost = shown.dialog->findChild<QComboBox*>(u"frontierCost"_s);
  const auto* gain = shown.dialog->findChild<QComboBox*>(u"frontierGain"_s);
  QVERIFY(cost != nullptr);
  for (int point = 0; point < static_cast<int>(frontier.points.size()); ++point) {
    const workflow::FrontierPoint& each = frontier.points[static_cast<std::size_t>(point)];
    QCOMPARE(*shown.dialog->chart().valueOf(point),
             QPointF(each.bill.total.price.toDouble(), toGBps(each.bounds.allreduce)));
  }
  shown.dialog->findChild<QComboBox*>(u"frontierCost"_s)->setCurrentIndex(1);
  shown.dialog->findChild<QComboBox*>(u"frontierGain"_s)->setCurrentIndex(1);
  QCOMPARE(gain->count(), 2);  // no model, no step
  QCOMPARE(*shown.dialog->chart().valueOf(0),
           QPointF(frontier.points[0].bill.total.watts.toDouble(), toGBps(frontier.points[0].bounds.alltoall)));
  // A click on a point chooses it, of the others too, which are then listed.
  const auto other = std::find_if(frontier.points.begin(), frontier.points.end(),
                                  [](const workflow::FrontierPoint& point) { return !point.isOnFront; });
  const int point = static_cast<int>(other - frontier.points.begin());
  QVERIFY(other != frontier.points.end());
  Q_EMIT shown.dialog->chart().pointClicked(point);
  QCOMPARE(shown.dialog->chosen(), point);
}

void TestDesignerFrontier::opensANetwork() {
  const Prices shown;
  QVERIFY(shown.ask(kAsked));
  shown.dialog->table().selectRow(1);
  const auto& point = shown.dialog->answer()->frontier.points[static_cast<std::size_t>(shown.dialog->chosen())];
  shown.button("frontierOpen")->click();
  QVERIFY(shown.fixture.editor() != nullptr);
  const auto opened = fabric::Fabric::build(*shown.fixture.editor()->document().facts());
  const auto wanted = fabric::Fabric::build(point.description);
  QCOMPARE(QString::fromStdString(opened->digest()), QString::fromStdString(wanted->digest()));
}

void TestDesignerFrontier::savesBillAndCables() {
  const Prices shown;
  QVERIFY(shown.ask(kAsked));
  const auto& point = shown.dialog->answer()->frontier.points[static_cast<std::size_t>(shown.dialog->chosen())];
  const auto saved = [&](const char* name) {
    shown.fixture.answers->saveTo = shown.fixture.dir.filePath(QLatin1String(name));
    shown.button(name)->click();
    QFile file(shown.fixture.answers->saveTo);
    return file.open(QIODevice::ReadOnly) ? file.readAll().toStdString() : std::string();
  };
  QCOMPARE(saved("frontierSaveBill"), bom::billCsv(point.bill, shown.dialog->answer()->parts));
  const auto fabric = fabric::Fabric::build(point.description);
  QCOMPARE(saved("frontierSaveCables"), bom::cableCsv(*fabric, point.bill, shown.dialog->answer()->parts));
}

void TestDesignerFrontier::faultsAreSaid() {
  const Prices shown;
  QVERIFY(shown.ask({{"gpus", "60"}}));
  QVERIFY2(shown.text("frontierState").contains(u"60 is not two or more boxes of 8 GPUs"_s),
           qPrintable(shown.text("frontierState")));
  QCOMPARE(shown.dialog->table().rowCount(), 0);
  QVERIFY(!shown.button("frontierOpen")->isEnabled());
  // The next question is answered as before.
  QVERIFY(shown.ask(kAsked));
  QVERIFY(shown.button("frontierOpen")->isEnabled());
}

/// What was there before stays, and nothing is said to be computed.
void TestDesignerFrontier::stops() {
  const Prices shown;
  QVERIFY(shown.ask(kAsked));
  const auto before = shown.dialog->answer();
  shown.dialog->form().setValues({{"gpus", "4096"}});
  shown.dialog->search();
  QVERIFY(shown.button("frontierStop")->isEnabled());
  shown.button("frontierStop")->click();
  QTRY_VERIFY_WITH_TIMEOUT(!shown.button("frontierStop")->isEnabled(), coppice::waiting::kPatience);
  QVERIFY2(!shown.text("frontierState").contains(u"Pricing"_s), qPrintable(shown.text("frontierState")));
  QCOMPARE(shown.dialog->answer(), before);
}

void TestDesignerFrontier::asksForTheBoxesOfATemplate() {
  const Fixture f;
  Q_EMIT f.window->findChild<CardList*>(u"startFabrics"_s)->chosen(u"preset/dgx-a100?boxes=4"_s);
  auto* dialog = f.window->findChild<TemplateDialog*>();
  QVERIFY(QTest::qWaitFor([&] { return dialog->part() != nullptr; }, coppice::waiting::kPatience));
  dialog->findChild<QPushButton*>(u"templatePrices"_s)->click();
  auto* prices = f.window->findChild<FrontierDialog*>();
  QVERIFY(prices != nullptr);
  const workflow::Values values = prices->form().values();
  QCOMPARE(values.at("box"), std::string("dgx-a100"));
  QCOMPARE(values.at("gpus"), std::string("32"));
  QVERIFY(
      QTest::qWaitFor([&] { return prices->isSettled() && prices->answer() != nullptr; }, coppice::waiting::kPatience));
  QVERIFY(!prices->answer()->frontier.points.empty());
}

QTEST_MAIN(TestDesignerFrontier)
#include "tst_designer_frontier.moc"
