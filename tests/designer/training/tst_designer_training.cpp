// SPDX-License-Identifier: Apache-2.0
#include <QClipboard>
#include <QComboBox>
#include <QDockWidget>
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QTest>
#include <QToolButton>
#include <algorithm>

#include "coppice/test_paths.hpp"
#include "designer/document/edits.hpp"
#include "designer/timeline/time_text.hpp"
#include "designer/training/training_panel.hpp"
#include "support/waiting.hpp"
#include "support/window_turns.hpp"
#include "window/question_fixture.hpp"
#include "workflow/training_timeline.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

/// The dock Training in the window: a small model on two boxes, a graph on one.
namespace {

const workflow::Values kAsked{
    {"model", "gpt-2"}, {"gpu", "a100"}, {"batch", "64"}, {"sequence", "1024"}, {"plan", "cp=1,ep=1,mb=1"}};

struct Training : designer::test::QuestionFixture<TrainingPanel> {
  explicit Training(const char* boxes = "2") : QuestionFixture("dgx-a100", "view.training", boxes) {
    panel->form().setValues(kAsked);
  }
};

/// What the command line's flow finds on the fabric as it is drawn.
workflow::TrainingChoice expected(const Document& document, const workflow::Values& asked = kAsked) {
  const auto fabric = fabric::Fabric::build(*document.facts());
  const auto request = workflow::readTraining(asked);
  return *workflow::chooseTraining(*fabric, request->demand, request->limits, {});
}

/// The ends of a link, in either direction.
std::pair<std::string, std::string> endsOf(const std::string& a, const std::string& b) {
  return std::minmax(a, b);
}

}  // namespace

class TestDesignerTraining : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase() { designer::test::prepareApplication("training"); }
  void emptyStates();
  void plansAreThoseOfTheFlow();
  void timelineOfAStep();
  void rowsMarkTheirLinks();
  void followsTheFabric();
  void marksGoWithTheTab();
  void otherOptionsGreyThePlans();
  void graphOfTorch();
  void problemWithItsMesh();
  void filesAreDropped();
  void faultsAreSaid_data();
  void faultsAreSaid();
  void closingStopsTheSearch();
  void copiesACommand();
};

void TestDesignerTraining::emptyStates() {
  TrainingPanel panel;
  const auto* message = panel.findChild<QLabel*>(u"trainingMessage"_s);
  QVERIFY2(message->text().startsWith(u"Open a fabric"_s), qPrintable(message->text()));
  QVERIFY(!panel.findChild<QPushButton*>(u"trainingSearch"_s)->isEnabled());
  const Training shown;
  QVERIFY2(shown.text("trainingMessage").startsWith(u"How fast can a training step be"_s),
           qPrintable(shown.text("trainingMessage")));
}

void TestDesignerTraining::plansAreThoseOfTheFlow() {
  const Training shown;
  QVERIFY(shown.compute());
  const workflow::TrainingChoice choice = expected(shown.fixture.editor()->document());
  QVERIFY(choice.plans.size() > 1);
  QCOMPARE(shown.panel->table().rowCount(), static_cast<int>(choice.plans.size()));
  const workflow::StepUnit unit = workflow::stepUnit(choice.plans.front().overlapped().toDouble());
  QCOMPARE(shown.panel->table().horizontalHeaderItem(0)->text(), u"Step, ms"_s);
  for (std::size_t i = 0; i < choice.plans.size(); ++i) {
    const int row = static_cast<int>(i);
    QCOMPARE(shown.panel->table().item(row, 0)->text(), inUnit(unit, choice.plans[i].overlapped()));
    QCOMPARE(shown.panel->table().item(row, 1)->text(), QString::fromStdString(choice.plans[i].priced.layout.text()));
  }
  QVERIFY(shown.panel->isCurrent());
  const QString headline = shown.text("trainingHeadline");
  QVERIFY2(headline.contains(stepTime(choice.plans.front().overlapped()) + u" per step"_s), qPrintable(headline));
  QVERIFY2(headline.contains(u"(A100)"_s), qPrintable(headline));
  // Another plan, another headline.
  shown.panel->table().selectRow(1);
  const QString second = stepTime(choice.plans[1].overlapped());
  QVERIFY2(shown.text("trainingHeadline").contains(second), qPrintable(shown.text("trainingHeadline")));
}

/// The tab has the computation and a row of each axis that moves something, and says for which the computation waits.
void TestDesignerTraining::timelineOfAStep() {
  const Training shown;
  workflow::Values asked = kAsked;
  asked["plan"] = "dp=16,mb=1";
  asked["bucket"] = "100MB";
  shown.panel->form().setValues(asked);
  QVERIFY(shown.compute());
  QTabWidget& tabs = shown.panel->details();
  auto* step = shown.panel->findChild<QWidget*>(u"trainingTimeline"_s);
  tabs.setCurrentWidget(step);
  const auto* view = step->findChild<TimelineView*>();
  QVERIFY(QTest::qWaitFor([&] { return view->laneCount() > 0; }, coppice::waiting::kPatience));
  const auto request = workflow::readTraining(asked);
  const workflow::TrainingChoice choice = expected(shown.fixture.editor()->document(), asked);
  const auto timeline = training::timelineOf(request->demand, choice.plans.front(), request->timeline, {});
  QVERIFY(timeline.hasValue());
  std::size_t bars = 0;
  for (const TimelineLane& lane : view->lanes()) {
    bars += lane.bars.size();
  }
  QCOMPARE(bars, timeline->events.size());
  QCOMPARE(view->lanes()[0].name, u"computation"_s);
  QCOMPARE(view->lanes()[1].name, u"dp"_s);
  QVERIFY(qFuzzyCompare(view->end(), timeline->nanoseconds(timeline->length)));
  const std::vector<workflow::ExposedPart> exposed = workflow::exposedParts(*timeline);
  QCOMPARE(exposed.size(), std::size_t{1});
  constexpr double kMilli = 1e6;
  QCOMPARE(shown.text("trainingTimelineText"),
           u"A step takes %1 with this overlap. Computation waits %2 for dp."_s.arg(
               timeText(timeline->nanoseconds(timeline->length)), timeText(exposed.front().milliseconds * kMilli)));
}

void TestDesignerTraining::rowsMarkTheirLinks() {
  const Training shown;
  workflow::Values asked = kAsked;
  asked["plan"] = "dp=16,mb=1";
  shown.panel->form().setValues(asked);
  QVERIFY(shown.compute());
  EditorContext* editor = shown.fixture.editor();
  QTableWidget* parts = shown.table("trainingParts");
  QVERIFY(parts->rowCount() > 0);
  QCOMPARE(parts->item(0, 1)->text(), u"AllGather"_s);
  parts->selectRow(0);
  // One group of all GPUs, and the links of its shared cut.
  const Overlay& overlay = editor->canvas().overlay();
  QCOMPARE(overlay.hulls.size(), std::size_t{1});
  QCOMPARE(overlay.hulls.front().nodes.size(), std::size_t{16});
  const workflow::TrainingChoice choice = expected(editor->document(), asked);
  const workflow::Limits limits =
      workflow::limitsOf(workflow::readTraining(asked)->demand, choice, choice.plans.front());
  const auto fabric = fabric::Fabric::build(*editor->document().facts());
  std::set<std::pair<std::string, std::string>> wanted;
  for (const workflow::CutLinks& links : limits.parts.front().cut) {
    for (const int at : links.arcs) {
      const fabric::Arc& arc = fabric->arcs()[static_cast<std::size_t>(at)];
      wanted.insert(endsOf(fabric->nodes()[arc.tail].id, fabric->nodes()[arc.head].id));
    }
  }
  QVERIFY(!wanted.empty());
  std::set<std::pair<std::string, std::string>> marked;
  for (const LinkMark& mark : overlay.marks) {
    const Link* link = editor->model().find(mark.link);
    QVERIFY(link != nullptr);
    marked.insert(
        endsOf(editor->model().find(link->tail.node)->facts.name, editor->model().find(link->head.node)->facts.name));
  }
  QVERIFY(marked == wanted);
  // The cut of the bound comes back with the last mark, and with another mode nothing is left.
  shown.fixture.window->findChild<QDockWidget*>(u"trainingDock"_s)->hide();
  QVERIFY(QTest::qWaitFor([&] { return !shown.panel->isVisible(); }, coppice::waiting::kPatience));
  QVERIFY(shown.fixture.waitForBound());
  QVERIFY(std::ranges::none_of(editor->canvas().overlay().hulls,
                               [](const Hull& hull) { return hull.line == Token::accent; }));
  QVERIFY(!editor->canvas().overlay().marks.empty());
}

void TestDesignerTraining::followsTheFabric() {
  const Training shown;
  QVERIFY(shown.compute());
  const QString before = shown.panel->table().item(0, 7)->text();
  Document& document = shown.fixture.editor()->document();
  document.edit(u"slower"_s, [&](Edit& edit) {
    std::vector<LinkId> links;
    for (const auto& [id, link] : document.model().links()) {
      links.push_back(id);
    }
    edits::changeLinks(edit, links, [](Link& link) { link.bandwidth = "1"; });
  });
  QVERIFY(QTest::qWaitFor([&] { return shown.panel->isCurrent() || !shown.panel->isSearching(); },
                          coppice::waiting::kPatience));
  if (!shown.panel->isCurrent()) {
    // The first search took long on this machine: then it waits to be asked.
    QVERIFY2(shown.text("trainingState").contains(u"have changed"_s), qPrintable(shown.text("trainingState")));
    QVERIFY(shown.compute());
  }
  QVERIFY(shown.panel->table().item(0, 7)->text() != before);
  const workflow::TrainingChoice choice = expected(document);
  QCOMPARE(shown.panel->table().item(0, 7)->text(),
           inUnit(workflow::stepUnit(choice.plans.front().overlapped().toDouble()), choice.plans.front().inSequence()));
}

/// What is drawn belongs to the panel in front: behind another tab it marks nothing.
void TestDesignerTraining::marksGoWithTheTab() {
  const Training shown;
  workflow::Values asked = kAsked;
  asked["plan"] = "dp=16,mb=1";
  QVERIFY(shown.compute(asked));
  shown.table("trainingParts")->selectRow(0);
  const auto isMarked = [&] {
    return shown.overlay().hulls.size() == 1 && shown.overlay().hulls.front().nodes.size() == 16;
  };
  QVERIFY(isMarked());
  shown.fixture.run("view.upgrades");
  QVERIFY(QTest::qWaitFor([&] { return !isMarked(); }, coppice::waiting::kPatience));
  shown.fixture.run("view.training");
  QVERIFY(QTest::qWaitFor(isMarked, coppice::waiting::kPatience));
}

void TestDesignerTraining::otherOptionsGreyThePlans() {
  const Training shown;
  QVERIFY(shown.compute());
  QVERIFY(shown.panel->details().isEnabled());
  shown.panel->findChild<QComboBox*>(u"option-gpu"_s)->setCurrentText(u"H100"_s);
  QVERIFY(!shown.panel->details().isEnabled());
  QVERIFY2(shown.text("trainingState").contains(u"have changed"_s), qPrintable(shown.text("trainingState")));
  // Also while they are searched for, and after a stop: the plans are still those of the other GPU.
  shown.panel->search();
  QVERIFY(!shown.panel->details().isEnabled());
  shown.panel->search();
  QVERIFY(shown.isDone());
  QVERIFY(!shown.panel->isCurrent() && !shown.panel->details().isEnabled());
}

/// Meshes, plans and states are those of the flow, and a row of what is moved marks its links.
void TestDesignerTraining::graphOfTorch() {
  const Training shown("1");
  const workflow::Values asked{{"model", COPPICE_EXAMPLES "/mlp.fx.txt"}, {"gpu", "a100"}};
  shown.panel->form().setValues(asked);
  QVERIFY(shown.compute());
  EditorContext* editor = shown.fixture.editor();
  const auto fabric = fabric::Fabric::build(*editor->document().facts());
  const auto request = workflow::readTrainingGraph(asked);
  QVERIFY(request.hasValue());
  const auto meshes = workflow::searchGraph(*fabric, *request, {}, {});
  QVERIFY(meshes.hasValue());
  const QTableWidget* table = shown.table("graphMeshes");
  QCOMPARE(table->rowCount(), static_cast<int>(meshes->size()));
  for (std::size_t i = 0; i < meshes->size(); ++i) {
    QCOMPARE(table->item(static_cast<int>(i), 0)->text(), QString::fromStdString((*meshes)[i].mesh));
    QCOMPARE(table->item(static_cast<int>(i), 1)->text(), microseconds((*meshes)[i].step()));
  }
  QVERIFY2(shown.text("trainingHeadline").contains(microseconds(meshes->front().step()) + u" µs per step"_s),
           qPrintable(shown.text("trainingHeadline")));
  // Another mesh has other plans; of a plan the states of all tensors are listed.
  shown.table("graphMeshes")->selectRow(1);
  const workflow::MeshAnswer& second = (*meshes)[1];
  QCOMPARE(shown.table("graphPlans")->rowCount(), static_cast<int>(second.front.plans.size()));
  QVERIFY2(shown.text("trainingHeadline").contains(QString::fromStdString(second.mesh)),
           qPrintable(shown.text("trainingHeadline")));
  const training::Plan& plan = second.front.plans[*second.best];
  const QTableWidget* states = shown.table("graphStates");
  QCOMPARE(states->rowCount(), static_cast<int>(second.problem.nodes.size()));
  for (int row = 0; row < states->rowCount(); ++row) {
    QCOMPARE(states->item(row, 1)->text(),
             QString::fromStdString(workflow::stateText(second.problem, plan.strategies[row].output)));
  }
  // The fastest plan may move nothing; one of the others does.
  QTableWidget* parts = shown.table("graphParts");
  for (int row = 0; parts->rowCount() == 0 && row < shown.table("graphPlans")->rowCount(); ++row) {
    shown.table("graphPlans")->selectRow(row);
  }
  QVERIFY(parts->rowCount() > 0);
  parts->selectRow(0);
  QCOMPARE(editor->canvas().overlay().hulls.size(), std::size_t{1});
  QVERIFY(!editor->canvas().overlay().marks.empty());
  // A model afterwards shows its plans again.
  shown.panel->form().setValues(kAsked);
  QVERIFY(shown.compute());
  QVERIFY(shown.panel->table().isVisible() && shown.panel->table().rowCount() > 0);
}

void TestDesignerTraining::problemWithItsMesh() {
  const Training shown;
  shown.panel->form().setValues({{"model", COPPICE_TEST_DATA "/reference/training/matmul_fsdp_2.json"}});
  QVERIFY(shown.compute());
  const QTableWidget* plans = shown.table("graphPlans");
  QCOMPARE(plans->rowCount(), 2);
  // 4096/25 and 6144/25 ns; 65,536 and 32,768 bytes.
  QCOMPARE(plans->item(0, 2)->text(), u"0.164"_s);
  QCOMPARE(plans->item(1, 2)->text(), u"0.246"_s);
  QCOMPARE(plans->item(0, 3)->text(), u"0.066"_s);
  QVERIFY2(shown.text("trainingHeadline").contains(u"those of the file"_s), qPrintable(shown.text("trainingHeadline")));
  shown.table("graphParts")->selectRow(0);
  QVERIFY(shown.panel->marks().isEmpty());
}

void TestDesignerTraining::filesAreDropped() {
  const Training shown;
  const std::string file = COPPICE_TEST_DATA "/reference/training/matmul_fsdp_2.json";
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(QString::fromStdString(file))});
  QDragEnterEvent enter({1, 1}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  shown.panel->form().setValues({{"memory", "1GB"}});
  QCoreApplication::sendEvent(shown.panel, &enter);
  QVERIFY(enter.isAccepted());
  QDropEvent drop({1, 1}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(shown.panel, &drop);
  QVERIFY(shown.isDone());
  QCOMPARE(shown.panel->form().values(), (workflow::Values{{"memory", "1GB"}, {"model", file}}));
  QCOMPARE(shown.table("graphPlans")->rowCount(), 2);
  // Without a fabric there is nothing to ask.
  TrainingPanel alone;
  QDragEnterEvent other({1, 1}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  other.ignore();
  QCoreApplication::sendEvent(&alone, &other);
  QVERIFY(!other.isAccepted());
}

void TestDesignerTraining::faultsAreSaid_data() {
  QTest::addColumn<QString>("option");
  QTest::addColumn<QString>("value");
  QTest::addColumn<QString>("says");
  QTest::newRow("model") << u"model"_s << u"gpt-17"_s << u"There is no model"_s;
  QTest::newRow("no model") << u"model"_s << u""_s << u"There is no model"_s;
  QTest::newRow("a plan that does not fit") << u"plan"_s << u"tp=7"_s << u"“Parallelism”"_s;
  QTest::newRow("sequences of a graph") << u"model"_s << QStringLiteral(COPPICE_EXAMPLES) + u"/mlp.fx.txt"_s
                                        << u"has its own sizes"_s;
  QTest::newRow("memory") << u"memory"_s << u"1MB"_s << u"No plan fits into the 0 GB of a GPU"_s;
}

void TestDesignerTraining::faultsAreSaid() {
  QFETCH(QString, option);
  QFETCH(QString, value);
  QFETCH(QString, says);
  const Training shown;
  workflow::Values values = kAsked;
  values[option.toStdString()] = value.toStdString();
  shown.panel->form().setValues(values);
  QVERIFY(shown.compute());
  QVERIFY2(shown.text("trainingMessage").contains(says), qPrintable(shown.text("trainingMessage")));
  QVERIFY2(!shown.text("trainingMessage").contains(u"--"_s), qPrintable(shown.text("trainingMessage")));
}

void TestDesignerTraining::closingStopsTheSearch() {
  const Training shown;
  shown.panel->form().setValues({{"model", "llama-3-405b"}});
  shown.panel->search();
  QVERIFY(shown.panel->isSearching());
  shown.fixture.window->workspace().removeAll();
  QVERIFY(shown.isDone());
  QCOMPARE(shown.panel->table().rowCount(), 0);
  QVERIFY2(shown.text("trainingMessage").startsWith(u"Open a fabric"_s), qPrintable(shown.text("trainingMessage")));
}

void TestDesignerTraining::copiesACommand() {
  const Training shown;
  shown.panel->findChild<QToolButton*>(u"trainingCopy"_s)->click();
  QCOMPARE(QGuiApplication::clipboard()->text(),
           u"coppice-cli train fabric.fabric.json --batch 64 --gpu a100 --model gpt-2 --plan cp=1,ep=1,mb=1 "
           "--sequence 1024"_s);
}

QTEST_MAIN(TestDesignerTraining)
#include "tst_designer_training.moc"
