// SPDX-License-Identifier: Apache-2.0
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTest>
#include <QToolButton>

#include "designer/document/edits.hpp"
#include "designer/groups/groups_panel.hpp"
#include "designer/groups/placement_panel.hpp"
#include "io/files.hpp"
#include "support/waiting.hpp"
#include "window/question_fixture.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

/// The dock Groups in the window, on two boxes of eight GPUs.
namespace {

struct Groups : designer::test::QuestionFixture<GroupsPanel> {
  Groups() : QuestionFixture("dgx-a100", "view.groups") {}
};

}  // namespace

class TestDesignerGroups : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase() { designer::test::prepareApplication("groups"); }
  void mesh();
  void file();
  void marks();
  void selectedGpus();
  void writesSchedules();
  void placesAJob();
  void followsTheFabric();
  void faultsAreSaid_data();
  void faultsAreSaid();
  void copiesACommand();
};

/// Four pairs across take 25 GB/s links: 50 = 25 * 2 each, while the boxes could do more.
void TestDesignerGroups::mesh() {
  const Groups shown;
  QVERIFY2(shown.text("groupsMessage").contains(u"4x8"_s), qPrintable(shown.text("groupsMessage")));
  // The example in the empty field fits the GPUs: two boxes of eight, and later one GPU more in no box.
  const auto* mesh = shown.panel->findChild<QLineEdit*>(u"option-mesh"_s);
  QCOMPARE(mesh->placeholderText(), u"2x8"_s);
  shown.fixture.editor()->document().edit(u"alone"_s,
                                          [](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {}, {}); });
  QCOMPARE(mesh->placeholderText(), u"17"_s);
  shown.fixture.editor()->document().undoStack()->undo();
  QCOMPARE(mesh->placeholderText(), u"2x8"_s);
  QVERIFY(shown.compute({{"mesh", "2x8"}}));
  QVERIFY2(shown.text("groupsHeadline").contains(u"10 groups at once: 50 GB/s each"_s),
           qPrintable(shown.text("groupsHeadline")));
  const QTableWidget* table = shown.table("groupsTable");
  QCOMPARE(table->rowCount(), 2);
  QCOMPARE(table->item(0, 0)->text(), u"8"_s);
  QCOMPARE(table->item(0, 2)->text(), u"2"_s);
  QCOMPARE(table->item(0, 4)->text(), u"100 %"_s);
  QCOMPARE(table->item(1, 4)->text(), u"0 %"_s);
  const QTableWidget* cut = shown.table("groupsCut");
  QVERIFY(cut->rowCount() > 0);
  QCOMPARE(cut->item(0, 1)->text(), u"25"_s);
}

void TestDesignerGroups::file() {
  const Groups shown;
  const QString path = shown.fixture.dir.filePath(u"groups.json"_s);
  QVERIFY(io::saveFile(path.toStdString(), R"([{"ranks": [0, 8], "weight": 2}, {"ranks": [1, 2, 3]}])"));
  QVERIFY(shown.compute({{"groups", path.toStdString()}}));
  // The pair has 25 GB/s each way, and an allgather of two moves half of its data across.
  QVERIFY2(shown.text("groupsHeadline").contains(u"2 groups at once: 25 GB/s times its weight each"_s),
           qPrintable(shown.text("groupsHeadline")));
  QCOMPARE(shown.table("groupsTable")->item(0, 3)->text(), u"50"_s);
}

void TestDesignerGroups::marks() {
  const Groups shown;
  QVERIFY(shown.fixture.waitForBound());
  QVERIFY(shown.compute({{"mesh", "2x8"}, {"axis", "1"}}));
  // Both groups, in colours of their own.
  QCOMPARE(shown.overlay().hulls.size(), std::size_t{2});
  QCOMPARE(shown.overlay().hulls.front().nodes.size(), std::size_t{8});
  QVERIFY(shown.overlay().hulls[0].category && shown.overlay().hulls[0].category != shown.overlay().hulls[1].category);
  const Colors& colors = colorsOf(Scheme::light);
  QVERIFY(lineOf(shown.overlay().hulls[0], colors) != lineOf(shown.overlay().hulls[1], colors));
  QVERIFY(!shown.overlay().hulls[0].label.isEmpty());
  QVERIFY(!shown.overlay().marks.empty());
  // The cut of the bound comes back.
  shown.fixture.window->findChild<QDockWidget*>(u"groupsDock"_s)->hide();
  QVERIFY(QTest::qWaitFor([&] { return !shown.panel->isVisible(); }, coppice::waiting::kPatience));
  QVERIFY(!shown.overlay().hulls.empty());
  QVERIFY(shown.overlay().hulls.front().line == Token::cut && !shown.overlay().hulls.front().category);
}

/// Two selections become two groups, and the form says which.
void TestDesignerGroups::selectedGpus() {
  const Groups shown;
  auto* add = shown.panel->findChild<QPushButton*>(u"groupsAddSelected"_s);
  add->click();
  QVERIFY(!shown.text("groupsHint").isEmpty());
  EditorContext& editor = *shown.fixture.editor();
  const auto select = [&](std::initializer_list<const char*> ids) {
    std::set<ElementId> chosen;
    for (const char* name : ids) {
      chosen.insert(editor.document().model().nodeNamed(name));
    }
    editor.selection().set(chosen);
  };
  select({"b0g0", "b1g0", "b0nvs"});
  add->click();
  QVERIFY(shown.isDone());
  QVERIFY2(shown.text("groupsHeadline").contains(u"1 group at once"_s), qPrintable(shown.text("groupsHeadline")));
  QVERIFY(shown.text("groupsHint").isEmpty());
  select({"b0g1", "b1g1"});
  add->click();
  QVERIFY(shown.isDone());
  QVERIFY2(shown.text("groupsHeadline").contains(u"2 groups at once"_s), qPrintable(shown.text("groupsHeadline")));
  QCOMPARE(shown.panel->form().values().at("ranks"), std::string("b0g0,b1g0;b0g1,b1g1"));
  QCOMPARE(shown.overlay().hulls.size(), std::size_t{2});
}

void TestDesignerGroups::writesSchedules() {
  const Groups shown;
  QVERIFY(shown.compute({{"mesh", "2x8"}, {"axis", "0"}}));
  const QString folder = shown.fixture.dir.filePath(u"written"_s);
  QVERIFY(QDir().mkpath(folder));
  shown.fixture.answers->folderChosen = folder;
  shown.panel->findChild<QPushButton*>(u"groupsWrite"_s)->click();
  QVERIFY(QTest::qWaitFor([&] { return !shown.panel->isWriting(); }, coppice::waiting::kPatience));
  QVERIFY2(shown.text("groupsWritten").contains(u"8 schedules"_s), qPrintable(shown.text("groupsWritten")));
  QVERIFY2(shown.text("groupsWritten").contains(u"All reach the rate"_s), qPrintable(shown.text("groupsWritten")));
  QCOMPARE(QDir(folder).entryList({u"group-*.forest.json"_s}).size(), 8);
  QVERIFY(QFile::exists(folder + u"/groups.json"_s) && QFile::exists(folder + u"/cluster.fabric.json"_s));
}

/// The job gets a whole box, which is then selected.
void TestDesignerGroups::placesAJob() {
  const Groups shown;
  QVERIFY(shown.fixture.waitForBound());
  shown.fixture.run("view.placement");
  auto* panel = shown.fixture.window->findChild<PlacementPanel*>();
  panel->form().setValues({{"place", "8"}, {"free", "1-15"}});
  panel->search();
  QVERIFY(QTest::qWaitFor([&] { return !panel->isSearching(); }, coppice::waiting::kPatience));
  const QString headline = panel->findChild<QLabel*>(u"placementHeadline"_s)->text();
  QVERIFY2(headline.contains(u"8 of 15 GPUs: 371.43 GB/s"_s) && headline.contains(u"No choice is faster"_s),
           qPrintable(headline));
  const auto* boxes = panel->findChild<QTableWidget*>(u"placementBoxes"_s);
  QCOMPARE(boxes->rowCount(), 1);
  QCOMPARE(boxes->item(0, 3)->text(), u"8-15"_s);
  QCOMPARE(shown.overlay().hulls.size(), std::size_t{1});
  panel->findChild<QPushButton*>(u"placementSelect"_s)->click();
  QCOMPARE(shown.fixture.editor()->selection().nodes().size(), std::size_t{8});
  panel->form().setValues({{"place", "17"}});
  panel->search();
  QVERIFY(QTest::qWaitFor([&] { return !panel->isSearching(); }, coppice::waiting::kPatience));
  QVERIFY(panel->findChild<QLabel*>(u"placementMessage"_s)->text().contains(u"16 are free"_s));
}

void TestDesignerGroups::followsTheFabric() {
  const Groups shown;
  QVERIFY(shown.compute({{"mesh", "2x8"}, {"axis", "0"}}));
  Document& document = shown.fixture.editor()->document();
  document.edit(u"faster"_s, [&](Edit& edit) {
    std::vector<LinkId> slow;
    for (const auto& [id, link] : document.model().links()) {
      if (link.bandwidth == "25") {
        slow.push_back(id);
      }
    }
    edits::changeLinks(edit, slow, [](Link& link) { link.bandwidth = "50"; });
  });
  if (!QTest::qWaitFor([&] { return shown.panel->isCurrent(); }, coppice::waiting::kPatience / 10)) {
    shown.panel->search();
    QVERIFY(shown.isDone());
  }
  QVERIFY2(shown.text("groupsHeadline").contains(u"100 GB/s"_s), qPrintable(shown.text("groupsHeadline")));
}

void TestDesignerGroups::faultsAreSaid_data() {
  QTest::addColumn<QString>("option");
  QTest::addColumn<QString>("value");
  QTest::addColumn<QString>("says");
  QTest::newRow("nothing asked") << u"relay"_s << u""_s << u"There are no groups"_s;
  QTest::newRow("axes of no mesh") << u"axis"_s << u"0"_s << u"“Mesh”"_s;
  QTest::newRow("sizes") << u"mesh"_s << u"3x5"_s << u"16"_s;
  QTest::newRow("no file") << u"groups"_s << u"/nowhere/groups.json"_s << u"groups.json"_s;
}

void TestDesignerGroups::faultsAreSaid() {
  QFETCH(QString, option);
  QFETCH(QString, value);
  QFETCH(QString, says);
  const Groups shown;
  workflow::Values values;
  if (!value.isEmpty()) {
    values[option.toStdString()] = value.toStdString();
  }
  QVERIFY(shown.compute(values));
  const QString message = shown.text("groupsMessage");
  QVERIFY2(message.contains(says), qPrintable(message));
  QVERIFY2(!message.contains(u"--"_s), qPrintable(message));
  QVERIFY(shown.overlay().hulls.empty() || shown.overlay().hulls.front().line == Token::cut);
}

void TestDesignerGroups::copiesACommand() {
  const Groups shown;
  shown.panel->form().setValues({{"mesh", "2x8"}, {"axis", "0,1"}, {"collective", "allreduce"}, {"relay", "true"}});
  QCOMPARE(shown.panel->findChild<QComboBox*>(u"option-collective"_s)->currentText(), u"AllReduce"_s);
  shown.panel->findChild<QToolButton*>(u"groupsCopy"_s)->click();
  QCOMPARE(QGuiApplication::clipboard()->text(),
           u"coppice-cli optimum fabric.fabric.json --axis 0,1 --collective allreduce --mesh 2x8 --relay"_s);
}

QTEST_MAIN(TestDesignerGroups)
#include "tst_designer_groups.moc"
