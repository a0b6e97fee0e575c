// SPDX-License-Identifier: Apache-2.0
#include <QAbstractItemModelTester>
#include <QLabel>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QSlider>
#include <QTableView>
#include <QTest>
#include <QUndoStack>

#include "designer/analysis/cut_lens.hpp"
#include "designer/analysis/ranking_panel.hpp"
#include "designer/analysis/upgrade_bars.hpp"
#include "designer/analysis/what_if_panel.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/models/element_table_model.hpp"
#include "live/failures.hpp"
#include "presets/presets.hpp"
#include "support/waiting.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

namespace {

Model modelOf(const std::string& preset, const std::map<std::string, std::string>& arguments = {}) {
  return readModel(*presets::make(preset, arguments)).model;
}

/// Two GPUs a, b in a box with 10 GB/s each to switch s; c outside with 4 GB/s to it.
Model smallModel() {
  return readFabricFile(R"({"nodes":[{"id":"a","kind":"gpu","box":"x"},{"id":"b","kind":"gpu","box":"x"},
    {"id":"c","kind":"gpu"},{"id":"s","kind":"switch","box":"x"}],"links":[
    {"src":"a","dst":"s","bandwidth":10},{"src":"b","dst":"s","bandwidth":10},{"src":"c","dst":"s","bandwidth":2,"count":2}]})",
                        "")
      ->model;
}

struct Fixture {
  Fixture() { document.reset(smallModel(), true); }
  Document document;
  Question question;

  Ranking ranking(Ranking (*rank)(const BoundSolver&, const Snapshot&, const Question&, const WorkDone&,
                                  std::stop_token)) {
    BoundSolver solver;
    const Snapshot snapshot = Snapshot::of(document);
    solver.reset(snapshot);
    (void)solver.compute(question, {});
    return rank(solver, snapshot, question, std::make_shared<std::atomic<int>>(0), {});
  }
};

void setBandwidth(Document& document, LinkId id, const std::string& bandwidth) {
  document.edit(u"x"_s, [&](Edit& edit) {
    edits::changeLinks(edit, std::vector{id}, [&](Link& link) { link.bandwidth = bandwidth; });
  });
}

}  // namespace

class TestDesignerAnalysis : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void upgrades();
  void barsOfLimitingLinks();
  void upgradesAgreeWithEdits_data();
  void upgradesAgreeWithEdits();
  void damage();
  void alikeFailuresAreOneRow();
  void rankingModel();
  void panelStates();
  void panelFollows();
  void lens();
  void lensOfABoundCut_data();
  void lensOfABoundCut();
  void curve();
  void curveAgreesWithEdits();
  void changes();
  void whatIfPanel();
};

void TestDesignerAnalysis::upgrades() {
  Fixture f;
  const Ranking ranking = f.ranking(rankUpgrades);
  QVERIFY2(ranking.why.isEmpty(), qPrintable(ranking.why));
  // The bound: 2 GPUs' shards enter c through 4 GB/s: 3 * 4 / 2 = 6. One more on each of the two parallel links: +3.
  const RankedRow& best = ranking.rows.front();
  QCOMPARE(best.elements, std::set<ElementId>{LinkId{3}});
  QCOMPARE(best.cells[0].text, u"c – s"_s);
  QCOMPARE(best.cells[1].text, u"2"_s);
  QCOMPARE(best.cells[2].text, u"2"_s);
  QCOMPARE(best.cells[3].text, u"+3"_s);
  // 15 is what a and b allow (3 * 10 / 2): reached when the two links carry 10 together, 5 each.
  QCOMPARE(best.cells[4].text, u"5"_s);
  QCOMPARE(best.cells[5].text, u"−3"_s);
  QVERIFY2(best.cells[3].toolTip.contains(u"up to 3 GB/s more"_s), qPrintable(best.cells[3].toolTip));
  // Class of the two links of the box, and the three links.
  QCOMPARE(ranking.rows.size(), std::size_t{4});
  for (std::size_t i = 1; i < ranking.rows.size(); ++i) {
    QCOMPARE(ranking.rows[i].cells[3].text, u"nothing"_s);
  }
}

/// The links that limit an allreduce are no cut that has a name.
void TestDesignerAnalysis::barsOfLimitingLinks() {
  Fixture fixture;
  BoundSolver solver;
  const Snapshot snapshot = Snapshot::of(fixture.document);
  solver.reset(snapshot);
  (void)solver.compute(fixture.question, {});
  const std::set<LinkId> some{fixture.document.model().linksOf(fixture.document.model().nodeNamed("a")).front()};
  const auto titles = [&](const QString& name) {
    QStringList list;
    for (const UpgradeBar& bar : upgradeBars(solver, snapshot, fixture.question, some, name, {}).bars) {
      list << bar.title;
    }
    return list;
  };
  QVERIFY2(titles({}).contains("the limiting links alone"), qPrintable(titles({}).join(u'|')));
  QVERIFY2(titles(u"x"_s).contains("links of x alone"), qPrintable(titles(u"x"_s).join(u'|')));
}

void TestDesignerAnalysis::upgradesAgreeWithEdits_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<Collective>("collective");
  QTest::newRow("dgx-a100 allgather") << "dgx-a100" << Collective::allgather;
  QTest::newRow("dgx-a100 allreduce") << "dgx-a100" << Collective::allreduce;
  QTest::newRow("dgx-a100 reduce") << "dgx-a100" << Collective::reduce;
}

void TestDesignerAnalysis::upgradesAgreeWithEdits() {
  QFETCH(QString, preset);
  QFETCH(Collective, collective);
  Fixture f;
  f.document.reset(modelOf(preset.toStdString(), {{"boxes", "2"}}), true);
  f.question.collective = collective;
  const Ranking ranking = f.ranking(rankUpgrades);
  QVERIFY(!ranking.rows.empty());
  const Bandwidth before = *computeBound(Snapshot::of(f.document), f.question, {}).algbw;
  // Raise what the best row names by little: the bound rises by the slope it tells.
  const Rational step(1, 1000);
  for (const std::size_t row : {std::size_t{0}, ranking.rows.size() - 1}) {
    f.document.edit(u"x"_s, [&](Edit& edit) {
      std::vector<LinkId> links;
      for (const ElementId& id : ranking.rows[row].elements) {
        links.push_back(id.link());
      }
      edits::changeLinks(edit, links, [&](Link& link) {
        link.bandwidth = toExactText(Bandwidth::parse(link.bandwidth)->gigabytesPerSecond() + step);
      });
    });
    const Bandwidth after = *computeBound(Snapshot::of(f.document), f.question, {}).algbw;
    QCOMPARE((after - before).isPositive(), ranking.rows[row].cells[3].value->isPositive());
    QCOMPARE(toFraction(after - before), (*ranking.rows[row].cells[3].value * step).toString());
    f.document.undoStack()->undo();
  }
}

void TestDesignerAnalysis::damage() {
  Fixture f;
  const Ranking ranking = f.ranking(rankDamage);
  QVERIFY2(ranking.why.isEmpty(), qPrintable(ranking.why));
  // 3 links (of two parallel ones one fails), 1 switch, 3 GPUs.
  QCOMPARE(ranking.rows.size(), std::size_t{7});
  std::map<QString, const RankedRow*> rows;
  for (std::size_t i = 0; i < ranking.rows.size(); ++i) {
    rows[ranking.rows[i].cells[0].text] = &ranking.rows[i];
    QVERIFY(i == 0 || !(*ranking.rows[i - 1].cells[2].value < *ranking.rows[i].cells[2].value));
  }
  QCOMPARE(rows.at(u"s"_s)->cells[2].text, u"100 %"_s);
  QCOMPARE(rows.at(u"s"_s)->cells[3].text, u"none"_s);
  QCOMPARE(rows.at(u"s"_s)->elements, std::set<ElementId>{NodeId{4}});
  QCOMPARE(rows.at(u"a – s"_s)->cells[2].text, u"100 %"_s);
  QCOMPARE(rows.at(u"c – s"_s)->cells[2].text, u"50 %"_s);
  QCOMPARE(rows.at(u"c – s"_s)->elements, std::set<ElementId>{LinkId{3}});
  // Without c two GPUs send each other a half at 10: 2 * 10 / 1 = 20, more than before.
  QCOMPARE(rows.at(u"c"_s)->cells[2].value->toString(), (Rational(1) - Rational(20, 6)).toString());
  QCOMPARE(rows.at(u"c"_s)->cells[4].text, u"2"_s);
  QCOMPARE(rows.at(u"c"_s)->cells[1].text, u"GPU"_s);
}

/// Parts that are alike are one row.
void TestDesignerAnalysis::alikeFailuresAreOneRow() {
  Fixture f;
  f.document.reset(readModel(*presets::make("dgx-a100", {{"boxes", "4"}})).model, true);
  const Ranking ranking = f.ranking(rankDamage);
  QVERIFY2(ranking.why.isEmpty(), qPrintable(ranking.why));
  QVERIFY2(ranking.rows.size() <= 12, qPrintable(QString::number(ranking.rows.size())));
  int parts = 0;
  const QRegularExpression several(u"^any of (\\d+) like "_s);
  for (const RankedRow& row : ranking.rows) {
    const QRegularExpressionMatch match = several.match(row.cells[0].text);
    parts += match.hasMatch() ? match.captured(1).toInt() : 1;
    QCOMPARE(row.elements.size(), std::size_t{1});
  }
  QCOMPARE(parts, static_cast<int>(live::singleFailures(*f.document.facts()).size()));
}

void TestDesignerAnalysis::rankingModel() {
  RankingModel model({u"a"_s, u"b"_s});
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
  model.setRows({{{{u"x"_s}, {u"1/3"_s, Rational(1, 3), true, u"tip"_s}}, {LinkId{2}}},
                 {{{u"y"_s}, {u"–"_s, std::nullopt, true}}, {}},
                 {{{u"z"_s}, {u"9"_s, Rational(9), true}}, {}}});
  QCOMPARE(model.rowCount(), 3);
  QCOMPARE(model.columnCount(), 2);
  QVERIFY(model.isLess(model.index(0, 1), model.index(2, 1)));
  QVERIFY(model.isLess(model.index(2, 1), model.index(1, 1)));
  QVERIFY(!model.isLess(model.index(1, 1), model.index(1, 1)));
  QVERIFY(model.isLess(model.index(0, 0), model.index(1, 0)));
  QCOMPARE(model.index(0, 1).data(Qt::ToolTipRole).toString(), u"tip"_s);
  QVERIFY(!model.index(1, 1).data(Qt::ToolTipRole).isValid());
  QVERIFY(model.index(0, 0).data(kElementRole).value<ElementId>() == ElementId(LinkId{2}));
  QVERIFY(!model.index(2, 0).data(kElementRole).isValid());
  model.setRows({});
  QCOMPARE(model.rowCount(), 0);
}

void TestDesignerAnalysis::panelStates() {
  RankingPanel panel(upgradesKind());
  const auto* message = panel.findChild<QLabel*>(u"upgradesMessage"_s);
  panel.show();
  QVERIFY2(message->text().startsWith(u"Open a fabric"_s), qPrintable(message->text()));
  Document document;
  LiveBound bound(document);
  panel.setSubject(&document, &bound);
  QCOMPARE(message->text(), u"Working…"_s);
  QVERIFY(QTest::qWaitFor([&] { return bound.isCurrent(); }, coppice::waiting::kPatience));
  // Nothing is drawn yet: the same words as the bound has.
  QCOMPARE(message->text(), bound.bound()->why);
  QVERIFY(!message->text().isEmpty());
  panel.setSubject(nullptr, nullptr);
  QVERIFY2(message->text().startsWith(u"Open a fabric"_s), qPrintable(message->text()));
}

void TestDesignerAnalysis::panelFollows() {
  Fixture f;
  LiveBound bound(f.document);
  RankingPanel panel(damageKind());
  const QAbstractItemModelTester tester(&panel.model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
  panel.setSubject(&f.document, &bound);
  QVERIFY(QTest::qWaitFor([&] { return bound.isCurrent(); }, coppice::waiting::kPatience));
  // Nobody sees it: no work.
  coppice::waiting::settle();
  QCOMPARE(panel.model().rowCount(), 0);
  panel.show();
  QVERIFY(QTest::qWaitFor([&] { return panel.isCurrent(); }, coppice::waiting::kPatience));
  QCOMPARE(panel.model().rowCount(), 7);
  auto* table = panel.findChild<QTableView*>(u"damageTable"_s);
  QVERIFY(table->isEnabled());
  // Numbers take no more room than they need while a name is cut short.
  panel.resize(900, 300);
  QVERIFY(table->columnWidth(0) >= static_cast<QAbstractItemView*>(table)->sizeHintForColumn(0));
  for (int column = 1; column < panel.model().columnCount(); ++column) {
    QVERIFY(table->columnWidth(column) >= static_cast<QAbstractItemView*>(table)->sizeHintForColumn(column));
  }
  for (int column = 0; column < panel.model().columnCount(); ++column) {
    QCOMPARE(panel.model().headerData(column, Qt::Horizontal, Qt::TextAlignmentRole),
             panel.model().index(0, column).data(Qt::TextAlignmentRole));
    // A head that has no room can be read.
    QCOMPARE(panel.model().headerData(column, Qt::Horizontal, Qt::ToolTipRole),
             panel.model().headerData(column, Qt::Horizontal, Qt::DisplayRole));
  }
  QSignalSpy chosen(&panel, &RankingPanel::elementsChosen);
  Q_EMIT table->clicked(table->model()->index(0, 0));
  QCOMPARE(chosen.size(), 1);
  QCOMPARE(chosen.front().front().value<std::set<ElementId>>(), panel.model().rows().front().elements);
  // Stale values stay, greyed, and cannot be chosen.
  for (int i = 1; i <= 20; ++i) {
    setBandwidth(f.document, LinkId{1}, std::to_string(i));
    QVERIFY(!panel.isCurrent());
    QVERIFY(!table->isEnabled());
    Q_EMIT table->clicked(table->model()->index(0, 0));
    if (i % 3 == 0) {
      coppice::waiting::settle();
    }
  }
  QCOMPARE(chosen.size(), 1);
  QVERIFY(QTest::qWaitFor([&] { return panel.isCurrent(); }, coppice::waiting::kPatience));
  QVERIFY(table->isEnabled());
  // There and back again: the solver has been elsewhere meanwhile.
  for (int i = 0; i < 5; ++i) {
    bound.setQuestion({Collective::allreduce, {}});
    if (i % 2 == 0) {
      coppice::waiting::settle();
    }
    bound.setQuestion({});
    QVERIFY(QTest::qWaitFor([&] { return panel.isCurrent(); }, coppice::waiting::kPatience));
    QCOMPARE(panel.model().rowCount(), 7);
  }
  // A fabric that falls apart has no ranking, and says so.
  f.document.edit(u"x"_s, [](Edit& edit) { edits::remove(edit, {LinkId{1}}); });
  const auto* message = panel.findChild<QLabel*>(u"damageMessage"_s);
  QVERIFY(QTest::qWaitFor([&] { return bound.isCurrent(); }, coppice::waiting::kPatience));
  QCOMPARE(message->text(), bound.bound()->why);
}

void TestDesignerAnalysis::lens() {
  const Model model = smallModel();
  const NodeId a{1};
  const NodeId b{2};
  const NodeId c{3};
  const NodeId s{4};
  const auto box = lensOf(model, {a, b, s}, {});
  QVERIFY(box.has_value());
  QCOMPARE(box->out.gpus, 2);
  QCOMPARE(toFraction(box->out.bandwidth), std::string("4"));
  QCOMPARE(toFraction(*box->out.algbw), std::string("6"));
  QCOMPARE(toFraction(*box->in.algbw), std::string("12"));
  QCOMPARE(lensText(*box, Collective::allgather),
           u"Out: 2 GPUs through 4 GB/s → 6 GB/s\nIn: 1 GPU through 4 GB/s → 12 GB/s"_s);
  // The broadcast from a: only what holds the root must send.
  const auto rooted = lensOf(model, {b}, {Collective::broadcast, a});
  QVERIFY(!rooted->out.algbw);
  QCOMPARE(toFraction(*rooted->in.algbw), std::string("10"));
  // One way and the other differ, and a reduction runs against the data.
  const Model oneWay = readFabricFile(R"({"nodes":[{"id":"a","kind":"gpu"},{"id":"b","kind":"gpu"}],"links":[
    {"src":"a","dst":"b","bandwidth":5,"duplex":false},{"src":"b","dst":"a","bandwidth":3,"duplex":false}]})",
                                      "")
                           ->model;
  QCOMPARE(toFraction(lensOf(oneWay, {a}, {})->out.bandwidth), std::string("5"));
  QCOMPARE(toFraction(lensOf(oneWay, {a}, {})->in.bandwidth), std::string("3"));
  QCOMPARE(toFraction(lensOf(oneWay, {a}, {Collective::reduceScatter, {}})->out.bandwidth), std::string("3"));
  QCOMPARE(toFraction(lensOf(oneWay, {a}, {Collective::reduceScatter, {}})->in.bandwidth), std::string("5"));
  // No cut: nothing, all, a switch alone, a node that is not there.
  QVERIFY(!lensOf(model, {}, {}));
  QVERIFY(!lensOf(model, {a, b, c}, {}));
  QVERIFY(!lensOf(model, {s}, {}));
  QVERIFY(!lensOf(model, {a, NodeId{77}}, {}));
}

void TestDesignerAnalysis::lensOfABoundCut_data() {
  QTest::addColumn<Collective>("collective");
  QTest::newRow("allgather") << Collective::allgather;
  QTest::newRow("reduce-scatter") << Collective::reduceScatter;
  QTest::newRow("broadcast") << Collective::broadcast;
  QTest::newRow("reduce") << Collective::reduce;
}

void TestDesignerAnalysis::lensOfABoundCut() {
  QFETCH(Collective, collective);
  Document document;
  document.reset(modelOf("dgx-a100", {{"boxes", "2"}}), true);
  const Question question{collective, {}};
  const Bound bound = computeBound(Snapshot::of(document), question, {});
  QVERIFY(!bound.cuts.empty());
  for (const CutView& cut : bound.cuts) {
    const auto lens = lensOf(document.model(), {cut.inside.begin(), cut.inside.end()}, question);
    QVERIFY(lens.has_value());
    QCOMPARE(toFraction(*lens->out.algbw), toFraction(*bound.algbw));
    QCOMPARE(toFraction(lens->out.bandwidth), toFraction(cut.exitBandwidth));
  }
}

void TestDesignerAnalysis::curve() {
  const Fixture f;
  BoundSolver solver;
  const Snapshot snapshot = Snapshot::of(f.document);
  solver.reset(snapshot);
  (void)solver.compute({}, {});
  const WhatIf answer = whatIf(solver, snapshot, {}, {LinkId{3}}, {});
  QVERIFY2(answer.why.isEmpty(), qPrintable(answer.why));
  QCOMPARE(answer.count, 2);
  QCOMPARE(toFraction(answer.min), std::string("2"));
  // Up from nothing at 0, 3 for each GB/s, until a and b take over at 5 each with 15.
  QCOMPARE(answer.curve.points.size(), std::size_t{3});
  QCOMPARE(toFraction(answer.curve.points[1].change), std::string("3"));
  QCOMPARE(toFraction(valueAt(answer.curve, Bandwidth(-2)).algbw), std::string("0"));
  QCOMPARE(toFraction(valueAt(answer.curve, Bandwidth(0)).algbw), std::string("6"));
  QCOMPARE(toFraction(valueAt(answer.curve, Bandwidth(1, 3)).algbw), std::string("7"));
  QCOMPARE(toFraction(valueAt(answer.curve, Bandwidth(5)).algbw), std::string("15"));
  // Steps meet what matters exactly, whatever their number.
  for (const int steps : {7, 100, 400}) {
    for (const Bandwidth& mark : {Bandwidth(0), Bandwidth(3), Bandwidth(-2), Bandwidth(6)}) {
      QCOMPARE(toFraction(changeAt(answer.curve, stepOf(answer.curve, mark, steps), steps)), toFraction(mark));
    }
  }
  QVERIFY(!whatIf(solver, snapshot, {}, {LinkId{99}}, {}).why.isEmpty());
  QVERIFY(!whatIf(solver, snapshot, {Collective::reduce, {}}, {LinkId{3}}, {}).isAnswered);
}

void TestDesignerAnalysis::curveAgreesWithEdits() {
  Document document;
  document.reset(modelOf("dgx-a100", {{"boxes", "2"}}), true);
  BoundSolver solver;
  const Snapshot snapshot = Snapshot::of(document);
  solver.reset(snapshot);
  (void)solver.compute({}, {});
  const std::set<LinkId> links = {LinkId{1}, LinkId{2}, LinkId{20}, LinkId{33}};
  const WhatIf answer = whatIf(solver, snapshot, {}, links, {});
  QVERIFY2(answer.why.isEmpty(), qPrintable(answer.why));
  for (const int step : {1, 30, 150, 399}) {
    const Bandwidth change = changeAt(answer.curve, step, 400);
    Outcome outcome = Done{};
    document.edit(u"x"_s, [&](Edit& edit) { outcome = changeBandwidths(edit, links, change); });
    QVERIFY(outcome.hasValue());
    QCOMPARE(toFraction(*computeBound(Snapshot::of(document), {}, {}).algbw),
             toFraction(valueAt(answer.curve, change).algbw));
    if (!change.isZero()) {
      document.undoStack()->undo();
    }
  }
}

void TestDesignerAnalysis::changes() {
  Fixture f;
  const auto change = [&](const Bandwidth& by) {
    Outcome outcome = Done{};
    f.document.edit(u"x"_s, [&](Edit& edit) { outcome = changeBandwidths(edit, {LinkId{1}, LinkId{3}}, by); });
    return outcome.hasValue();
  };
  // A link that would have nothing left: neither is changed, and there is no step of history.
  QVERIFY(!change(Bandwidth(-2)));
  QCOMPARE(f.document.undoStack()->count(), 0);
  QVERIFY(change(Bandwidth(1, 2)));
  QCOMPARE(f.document.undoStack()->count(), 1);
  QCOMPARE(f.document.model().find(LinkId{1})->bandwidth, std::string("10.5"));
  QCOMPARE(f.document.model().find(LinkId{3})->bandwidth, std::string("2.5"));
  f.document.undoStack()->undo();
  QCOMPARE(f.document.model().find(LinkId{1})->bandwidth, std::string("10"));
  setBandwidth(f.document, LinkId{3}, "fast");
  QVERIFY(!change(Bandwidth(1)));
  QCOMPARE(f.document.model().find(LinkId{1})->bandwidth, std::string("10"));
}

void TestDesignerAnalysis::whatIfPanel() {
  Fixture f;
  Selection selection(f.document);
  LiveBound bound(f.document);
  WhatIfPanel panel;
  const auto* message = panel.findChild<QLabel*>(u"whatIfMessage"_s);
  const auto* result = panel.findChild<QLabel*>(u"whatIfResult"_s);
  auto* slider = panel.findChild<QSlider*>(u"whatIfSlider"_s);
  auto* apply = panel.findChild<QPushButton*>(u"whatIfApply"_s);
  panel.show();
  QVERIFY2(message->text().startsWith(u"Open a fabric"_s), qPrintable(message->text()));
  panel.setSubject(&f.document, &selection, &bound);
  QVERIFY2(message->text().startsWith(u"Select links"_s), qPrintable(message->text()));
  selection.set({LinkId{3}, NodeId{1}});
  QVERIFY(QTest::qWaitFor([&] { return panel.isCurrent(); }, coppice::waiting::kPatience));
  QCOMPARE(result->text(), u"6 GB/s"_s);
  QVERIFY(!apply->isEnabled());
  // The keyboard alone: one step of 8 / 400.
  slider->setFocus();
  QTest::keyClick(slider, Qt::Key_Right);
  QCOMPARE(toFraction(panel.change()), std::string("1/50"));
  QTest::mouseClick(panel.findChild<QPushButton*>(u"whatIfAfter"_s), Qt::LeftButton);
  QCOMPARE(toFraction(panel.change()), std::string("3"));
  QCOMPARE(result->text(), u"15 GB/s (+150 %)"_s);
  // Nothing has changed yet; then all at once, and back.
  QCOMPARE(f.document.undoStack()->count(), 0);
  QTest::mouseClick(apply, Qt::LeftButton);
  QCOMPARE(f.document.undoStack()->count(), 1);
  QCOMPARE(f.document.model().find(LinkId{3})->bandwidth, std::string("5"));
  QVERIFY(!apply->isEnabled());
  QVERIFY(QTest::qWaitFor([&] { return panel.isCurrent(); }, coppice::waiting::kPatience));
  QCOMPARE(result->text(), u"15 GB/s"_s);
  QVERIFY(panel.change().isZero());
  f.document.undoStack()->undo();
  QVERIFY(QTest::qWaitFor([&] { return panel.isCurrent(); }, coppice::waiting::kPatience));
  QCOMPARE(result->text(), u"6 GB/s"_s);
  // At 0 there is nothing to apply.
  slider->setValue(slider->minimum());
  QCOMPARE(toFraction(panel.change()), std::string("-2"));
  QVERIFY(!apply->isEnabled());
  selection.clear();
  QVERIFY2(message->text().startsWith(u"Select links"_s), qPrintable(message->text()));
}

QTEST_MAIN(TestDesignerAnalysis)
#include "tst_designer_analysis.moc"
