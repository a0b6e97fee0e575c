// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QListWidget>
#include <QMenu>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTabBar>
#include <QTabWidget>
#include <QTest>
#include <QTreeWidget>
#include <algorithm>

#include "coppice/test_paths.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/workspace/import_dialog.hpp"
#include "designer/workspace/recovery_dialog.hpp"
#include "io/fabric_json.hpp"
#include "io/files.hpp"
#include "presets/presets.hpp"
#include "window/window_fixture.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

using test::Fixture;

namespace {

constexpr int kLong = 60000;

QString data(const char* name) {
  return QDir(QStringLiteral(COPPICE_TEST_DATA)).filePath(QLatin1String(name));
}

ForeignText foreign(const char* name) {
  const auto text = io::readFile(data(name).toStdString());
  const auto open = text ? withOpenChoices(*text, name) : std::nullopt;
  return open ? *open : ForeignText{};
}

template <typename Widget>
Widget* field(const QWidget& dialog, const char* name) {
  return dialog.findChild<Widget*>(QLatin1String(name));
}

int countOf(const Model& model, fabric::NodeKind kind) {
  int count = 0;
  for (const auto& [id, node] : model.nodes()) {
    count += node.kind() == kind ? 1 : 0;
  }
  return count;
}

QString tabText(const Fixture& f, int index) {
  return f.window->findChild<QTabWidget*>(u"documentTabs"_s)->tabText(index);
}

void addGpu(EditorContext* editor) {
  editor->document().edit(u"Insert node"_s, [](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {1, 1}); });
}

}  // namespace

/// Documents as files: import, recovery, session, tabs.
class TestDesignerDocuments : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void cleanup();
  void menuOfATab();
  void importDialog_data();
  void importDialog();
  void importDialogTellsFaults();
  void importInTheWindow();
  void networkAndHostTogether();
  void fromNetworkAndDumpToTheBound();
  void comparedWithPlan();
  void importIsCancelled();
  void pastedMatrix();
  void notesAreProblemsToo();
  void recoveryDialog();
  void onlySchedulesAreUnsaved();
  void recoveryChoices_data();
  void recoveryChoices();
  void workComesBackAsItWas();
  void openFilesComeBackAfterACrash();
  void tabsKeepTheirOrderAfterACrash();
  void tabsOfTheSameName();
  void readOnlyFiles();
};

void TestDesignerDocuments::initTestCase() {
  designer::test::prepareApplication("documents");
}

void TestDesignerDocuments::cleanup() {
  QSettings().clear();
}

void TestDesignerDocuments::importDialog_data() {
  QTest::addColumn<QByteArray>("file");
  QTest::addColumn<int>("boxes");
  QTest::addColumn<QString>("scaleOut");
  QTest::addColumn<int>("gpus");
  QTest::addColumn<int>("nics");
  QTest::addColumn<int>("switches");
  QTest::newRow("NCCL, four boxes on rails") << QByteArray("import/dgx_a100.xml") << 4 << u"rails"_s << 32 << 32 << 12;
  QTest::newRow("NCCL, one box") << QByteArray("import/dgx_a100.xml") << 1 << u"none"_s << 8 << 0 << 1;
  QTest::newRow("nvidia-smi, two boxes") << QByteArray("import/h100_topo.txt") << 2 << u"switch"_s << 16 << 16 << 3;
}

void TestDesignerDocuments::importDialog() {
  QFETCH(QByteArray, file);
  QFETCH(int, boxes);
  QFETCH(QString, scaleOut);
  ImportDialog dialog(foreign(file.constData()));
  QTRY_VERIFY_WITH_TIMEOUT(!dialog.isWorking(), kLong);
  QVERIFY(dialog.fabric());
  auto* count = field<QSpinBox>(dialog, "import-boxes");
  auto* network = field<QComboBox>(dialog, "import-scale-out");
  count->setValue(boxes);
  // More than one box needs a network, so one is chosen.
  QCOMPARE(network->currentIndex() == 0, boxes == 1);
  network->setCurrentIndex(network->findData(scaleOut));
  QTRY_VERIFY_WITH_TIMEOUT(!dialog.isWorking(), kLong);
  const auto fabric = dialog.fabric();
  QVERIFY(fabric);
  QTEST(countOf(fabric->model, fabric::NodeKind::gpu), "gpus");
  QTEST(countOf(fabric->model, fabric::NodeKind::nic), "nics");
  QTEST(countOf(fabric->model, fabric::NodeKind::switchNode), "switches");
  // The choices are made: nothing is left to be said.
  QVERIFY(fabric->findings.empty());
}

void TestDesignerDocuments::importDialogTellsFaults() {
  ImportDialog dialog(foreign("import/h100_topo.txt"));
  QTRY_VERIFY_WITH_TIMEOUT(!dialog.isWorking(), kLong);
  auto* network = field<QComboBox>(dialog, "import-scale-out");
  auto* accept = field<QPushButton>(dialog, "importAccept");
  auto* fault = field<QLabel>(dialog, "importFault");
  auto* nics = field<QListWidget>(dialog, "import-nics");
  QCOMPARE(nics->count(), 8);
  // What was guessed is the choice that is shown.
  QCOMPARE(field<QComboBox>(dialog, "import-nvlink")->currentData().toString(), u"switch"_s);
  QVERIFY(field<QLineEdit>(dialog, "import-nvlink-bandwidth")->placeholderText().contains(u"25"_s));

  network->setCurrentIndex(1);
  field<QLineEdit>(dialog, "import-nic-bandwidth")->setText(u"fast"_s);
  QTRY_VERIFY_WITH_TIMEOUT(!dialog.isWorking(), kLong);
  QVERIFY(!dialog.fabric());
  QVERIFY(!accept->isEnabled());
  QVERIFY(!fault->isHidden() && fault->text().contains(u"fast"_s));
  field<QLineEdit>(dialog, "import-nic-bandwidth")->setText(u"400Gb/s"_s);
  QTRY_VERIFY_WITH_TIMEOUT(!dialog.isWorking(), kLong);
  QVERIFY(dialog.fabric() && fault->isHidden());

  for (int i = 0; i < nics->count(); ++i) {
    nics->item(i)->setCheckState(Qt::Unchecked);
  }
  QTRY_VERIFY_WITH_TIMEOUT(!dialog.isWorking(), kLong);
  QVERIFY(!dialog.fabric());
  nics->item(3)->setCheckState(Qt::Checked);
  QTRY_VERIFY_WITH_TIMEOUT(!dialog.isWorking(), kLong);
  QCOMPARE(countOf(dialog.fabric()->model, fabric::NodeKind::nic), 1);
  // Import while the fabric is being made takes it once it is.
  QSignalSpy accepted(&dialog, &QDialog::accepted);
  field<QSpinBox>(dialog, "import-boxes")->setValue(3);
  accept->click();
  QTRY_COMPARE_WITH_TIMEOUT(accepted.size(), 1, kLong);
  QCOMPARE(countOf(dialog.fabric()->model, fabric::NodeKind::gpu), 24);
}

void TestDesignerDocuments::importInTheWindow() {
  const Fixture f;
  f.answers->importer = [](QWidget* parent, const ForeignText& text) -> std::optional<ReadModel> {
    ImportDialog dialog(text, parent);
    field<QSpinBox>(dialog, "import-boxes")->setValue(2);
    return QTest::qWaitFor([&] { return !dialog.isWorking(); }, kLong) ? dialog.fabric() : std::nullopt;
  };
  QVERIFY(f.window->files().openFile(data("import/dgx_a100.xml")) != nullptr);
  QCOMPARE(f.answers->imports.size(), 1);
  QCOMPARE(countOf(f.editor()->model(), fabric::NodeKind::nic), 16);
  QVERIFY(f.waitForBound());
  QCOMPARE(f.editor()->problems().rowCount(), 0);
  QCOMPARE(f.strip("statusProblems"), u"no problems"_s);
  QVERIFY(f.editor()->file().isModified());
  QCOMPARE(f.answers->failures, QStringList());
}

void TestDesignerDocuments::networkAndHostTogether() {
  const Fixture f;
  f.answers->importer = [](QWidget* parent, const ForeignText& text) -> std::optional<ReadModel> {
    ImportDialog dialog(text, parent);
    if (!QTest::qWaitFor([&] { return !dialog.isWorking(); }, kLong)) {
      return std::nullopt;
    }
    // Each number with where it is from.
    auto* numbers = field<QTreeWidget>(dialog, "importNumbers");
    const auto rowOf = [&](const QString& number, const QString& what, const QString& from) -> QTreeWidgetItem* {
      for (int i = 0; i < numbers->topLevelItemCount(); ++i) {
        QTreeWidgetItem* row = numbers->topLevelItem(i);
        if (row->text(0) == number && row->text(1).startsWith(what) && row->text(2).startsWith(from)) {
          return row;
        }
      }
      return nullptr;
    };
    QTreeWidgetItem* cable = rowOf(u"50"_s, u"a cable between host and switch, 3"_s, u"file: ibnetdiscover"_s);
    if (cable == nullptr || rowOf(u"20"_s, u"a link between GPUs"_s, u"table: NCCL's src/graph/topo.h"_s) == nullptr ||
        field<QLineEdit>(dialog, "import-hosts") == nullptr || field<QSpinBox>(dialog, "import-boxes") != nullptr) {
      return std::nullopt;
    }
    // A person may set each.
    cable->setText(0, u"none"_s);
    if (!QTest::qWaitFor([&] { return !dialog.isWorking(); }, kLong) || dialog.fabric()) {
      return std::nullopt;
    }
    cable->setText(0, u"100"_s);
    if (!QTest::qWaitFor([&] { return !dialog.isWorking(); }, kLong) ||
        rowOf(u"100"_s, u"a cable between host and switch, 3"_s, u"stated: set in place of 50"_s) == nullptr) {
      return std::nullopt;
    }
    return dialog.fabric();
  };
  // Dropped in any order, they are one cluster, and its bound is known.
  f.window->files().openFiles({data("cluster/host.xml"), data("cluster/two_rails.ibnetdiscover.txt")});
  QCOMPARE(f.answers->failures, QStringList());
  QCOMPARE(f.answers->imports.size(), 1);
  QVERIFY(f.editor() != nullptr);
  QCOMPARE(countOf(f.editor()->model(), fabric::NodeKind::gpu), 4);
  QCOMPARE(countOf(f.editor()->model(), fabric::NodeKind::nic), 4);
  QCOMPARE(countOf(f.editor()->model(), fabric::NodeKind::switchNode), 3);
  const auto links = f.editor()->model().description().links;
  QCOMPARE(std::count_if(links.begin(), links.end(), [](const auto& link) { return link.bandwidth == "100"; }), 3);
  QVERIFY(f.waitForBound());
}

/// From what people have to the bound: each line with a number is an action of theirs.
void TestDesignerDocuments::fromNetworkAndDumpToTheBound() {
  const Fixture f;
  int actions = 0;
  f.answers->importer = [&](QWidget* parent, const ForeignText& text) -> std::optional<ReadModel> {
    ImportDialog dialog(text, parent);
    QSignalSpy accepted(&dialog, &QDialog::accepted);
    field<QPushButton>(dialog, "importAccept")->click();
    ++actions;  // Import
    return QTest::qWaitFor([&] { return accepted.size() == 1; }, kLong) ? dialog.fabric() : std::nullopt;
  };
  f.answers->open = {data("cluster/two_rails.ibnetdiscover.txt"), data("cluster/host.xml")};
  f.run("file.open");
  actions += 1 + static_cast<int>(f.answers->open.size()) + 1;  // Ctrl+O, a click on each file, Open
  QVERIFY(f.editor() != nullptr && f.waitForBound());
  QVERIFY(f.strip("statusBound").contains(u"AllGather"_s));
  QCOMPARE(actions, 5);
  QCOMPARE(f.answers->failures, QStringList());
}

void TestDesignerDocuments::comparedWithPlan() {
  const Fixture f;
  auto made = presets::make("dgx-a100", {{"boxes", "2"}, {"network", "simple"}});
  QVERIFY(made);
  const QString plan = f.dir.filePath(u"plan.fabric.json"_s);
  QVERIFY(io::saveFile(plan.toStdString(), io::writeFabricJson(*made)));
  const auto slow = std::find_if(made->links.begin(), made->links.end(),
                                 [](const fabric::LinkDescription& link) { return link.bandwidth == "300"; });
  QVERIFY(slow != made->links.end());
  slow->bandwidth = "150";
  f.window->workspace().adopt(readArranged(*made).model, {}, u"wired"_s);
  f.answers->open = {plan};
  f.run("analyse.against-plan");
  QTreeWidget* list = nullptr;
  QTRY_VERIFY_WITH_TIMEOUT((list = f.window->findChild<QTreeWidget*>(u"againstList"_s)) != nullptr, kLong);
  QCOMPARE(f.answers->failures, QStringList());
  QCOMPARE(list->topLevelItemCount(), 1);
  const QTreeWidgetItem* row = list->topLevelItem(0);
  QVERIFY2(row->text(0).contains(u"joined by 150 of 300 GB/s"_s), qPrintable(row->text(0)));
  QVERIFY2(row->text(3).startsWith(u"\u2212"_s) && row->text(3).contains(u" %: "_s), qPrintable(row->text(3)));
  list->window()->close();
}

void TestDesignerDocuments::importIsCancelled() {
  const Fixture f;
  QVERIFY(f.window->files().openFile(data("import/dgx_a100.xml")) == nullptr);
  QCOMPARE(f.answers->imports.size(), 1);
  QVERIFY(f.editor() == nullptr);
  QCOMPARE(f.answers->failures, QStringList());
  // A format that leaves nothing open asks nothing, and a file with faults says so before anything is asked.
  const QString table = f.dir.filePath(u"a.csv"_s);
  QVERIFY(io::saveFile(table.toStdString(), "tail,head,bandwidth\na,b,10\nb,c,10\n"));
  QVERIFY(f.window->files().openFile(table) != nullptr);
  const QString broken = f.dir.filePath(u"broken.xml"_s);
  QVERIFY(io::saveFile(broken.toStdString(), "<system><cpu></system>"));
  QVERIFY(f.window->files().openFile(broken) == nullptr);
  QCOMPARE(f.answers->failures.size(), 1);
  QCOMPARE(f.answers->imports.size(), 1);
}

void TestDesignerDocuments::pastedMatrix() {
  const Fixture f;
  f.window->workspace().newDocument();
  f.answers->importer = [](QWidget* parent, const ForeignText& text) -> std::optional<ReadModel> {
    ImportDialog dialog(text, parent);
    return QTest::qWaitFor([&] { return !dialog.isWorking(); }, kLong) ? dialog.fabric() : std::nullopt;
  };
  const auto text = io::readFile(data("import/h100_topo.txt").toStdString());
  QVERIFY(text);
  QGuiApplication::clipboard()->setText(QString::fromStdString(*text));
  f.run("edit.paste");
  QCOMPARE(f.answers->imports.size(), 1);
  QCOMPARE(countOf(f.editor()->model(), fabric::NodeKind::gpu), 8);
}

void TestDesignerDocuments::notesAreProblemsToo() {
  const Fixture f;
  const auto made = presets::make("dgx-a100", {});
  QVERIFY(made);
  f.window->workspace().adopt(readArranged(*made).model,
                              {{Severity::note, ErrorCode::badInput, "a guess", "say it", {}}}, u"x"_s);
  QVERIFY(f.waitForBound());
  QCOMPARE(f.editor()->problems().rowCount(), 1);
  QCOMPARE(f.strip("statusProblems"), u"1 note"_s);
}

void TestDesignerDocuments::recoveryDialog() {
  const auto made = presets::make("dgx-a100", {});
  QVERIFY(made);
  const auto model = std::make_shared<const Model>(readArranged(*made).model);
  const QDateTime time = QDateTime::currentDateTime();
  {
    RecoveryDialog dialog(std::vector<RecoveryItem>{{u"Untitled"_s, {}, time, 1, 0, model}});
    QCOMPARE(field<QLabel>(dialog, "recoveryHead")->text(),
             u"Coppice closed unexpectedly. 1 unsaved change to an untitled fabric."_s);
    QCOMPARE(dialog.choices(), std::vector{RecoveryChoice::later});
    field<QPushButton>(dialog, "recoveryLater")->click();
    QCOMPARE(dialog.choices(), std::vector{RecoveryChoice::later});
  }
  RecoveryDialog dialog(std::vector<RecoveryItem>{{u"Untitled"_s, {}, time, 3, 2, model},
                                                  {u"a.fabric.json"_s, u"/x/a.fabric.json"_s, time, 0, 1, model},
                                                  {u"DGX A100"_s, {}, time, 0, 0, model}});
  auto* list = field<QListWidget>(dialog, "recoveryList");
  QCOMPARE(list->count(), 3);
  QVERIFY(list->item(0)->text().contains(u"3 unsaved changes and 2 unsaved schedules"_s));
  QVERIFY(list->item(1)->text().startsWith(u"a.fabric.json\n1 unsaved schedule\n"_s));
  QVERIFY(list->item(1)->text().contains(u"/x"_s));
  QVERIFY(list->item(2)->text().contains(u"Never saved"_s));
  // Pictures come one by one.
  QTRY_VERIFY_WITH_TIMEOUT(qAlpha(list->item(2)->icon().pixmap(132, 88).toImage().pixel(66, 44)) > 0 ||
                               !list->item(2)->icon().pixmap(132, 88).toImage().allGray(),
                           kLong);
  auto* restore = field<QPushButton>(dialog, "recoveryRestore");
  QCOMPARE(restore->text(), u"Restore All"_s);
  list->item(1)->setCheckState(Qt::Unchecked);
  QCOMPARE(restore->text(), u"Restore Selected"_s);
  restore->click();
  QCOMPARE(dialog.choices(), (std::vector{RecoveryChoice::restore, RecoveryChoice::later, RecoveryChoice::restore}));
}

/// A file whose schedules alone were not saved is offered with them, and not with "0 unsaved changes".
void TestDesignerDocuments::onlySchedulesAreUnsaved() {
  QTemporaryDir dir;
  const QString path = dir.filePath(u"a.fabric.json"_s);
  QVERIFY(QFile::copy(QDir(QStringLiteral(COPPICE_EXAMPLES)).filePath(u"fig-4-5.fabric.json"_s), path));
  const WindowOptions options{
      .recoveryFolder = dir.filePath(u"recovery"_s), .templatesFolder = {}, .keepsSettings = false};
  {
    MainWindow window(options, std::make_unique<test::Answers>());
    window.show();
    QVERIFY(window.files().openFile(path) != nullptr);
    auto* schedules = window.findChild<ScheduleFeature*>();
    schedules->generate();
    QTRY_VERIFY_WITH_TIMEOUT(!schedules->book()->isRunning() && schedules->book()->isSettled(), kLong);
    QVERIFY(schedules->book()->current() != nullptr);
  }
  auto owned = std::make_unique<test::Answers>();
  test::Answers* answers = owned.get();
  MainWindow window(options, std::move(owned));
  window.show();
  QVERIFY(window.files().openFile(path) == nullptr);
  QCOMPARE(answers->questions, QStringList{u"Coppice closed unexpectedly. 1 unsaved schedule of a.fabric.json."_s});
  answers->chosen = true;
  QVERIFY(window.files().openFile(path) != nullptr);
  const ScheduleBook* book = window.findChild<ScheduleFeature*>()->book();
  QTRY_VERIFY_WITH_TIMEOUT(book->isSettled() && book->current() != nullptr, kLong);
}

void TestDesignerDocuments::recoveryChoices_data() {
  QTest::addColumn<int>("choice");
  QTest::newRow("restore") << static_cast<int>(RecoveryChoice::restore);
  QTest::newRow("discard") << static_cast<int>(RecoveryChoice::discard);
  QTest::newRow("later") << static_cast<int>(RecoveryChoice::later);
}

void TestDesignerDocuments::recoveryChoices() {
  QFETCH(int, choice);
  const Fixture f;
  const QString recovery = f.dir.filePath(u"recovery"_s);
  const QString path = f.example("2x-dgx-a100.fabric.json");
  const auto original = io::readFile(path.toStdString());
  {
    DocumentFile titled(recovery);
    QVERIFY(titled.open(path));
    titled.document().edit(u"Note"_s, [](Edit& edit) { edits::addNote(edit, "one", {}); });
    DocumentFile untitled(recovery);
    untitled.setUntitledName(u"Ring of 4"_s);
    for (const char* note : {"one", "two"}) {
      untitled.document().edit(u"Note"_s, [&](Edit& edit) { edits::addNote(edit, note, {}); });
    }
  }
  QStringList shown;
  f.answers->recoverer = [&](QWidget*, const std::vector<RecoveryItem>& items) {
    for (const RecoveryItem& item : items) {
      shown << u"%1: %2"_s.arg(item.name).arg(item.changes);
    }
    return std::vector(items.size(), static_cast<RecoveryChoice>(choice));
  };
  f.window->files().session().offerRecovery();
  QCOMPARE(f.answers->asked, 1);
  shown.sort();
  QCOMPARE(shown, (QStringList{u"2x-dgx-a100.fabric.json: 1"_s, u"Ring of 4: 2"_s}));
  const bool isRestored = choice == static_cast<int>(RecoveryChoice::restore);
  QCOMPARE(f.window->workspace().contexts().size(), isRestored ? 2U : 0U);
  QCOMPARE(DocumentFile::abandonedJournals(recovery).size(),
           choice == static_cast<int>(RecoveryChoice::later) ? 2U : 0U);
  QCOMPARE(*io::readFile(path.toStdString()), *original);
  for (EditorContext* editor : f.window->workspace().contexts()) {
    QVERIFY(editor->file().isModified());
    QCOMPARE(editor->document().undoStack()->undoText(), u"Note"_s);
  }
  QCOMPARE(f.answers->failures, QStringList());
}

void TestDesignerDocuments::workComesBackAsItWas() {
  // A window with an untitled fabric, a schedule and a history goes without a word, as in a crash.
  QTemporaryDir dir;
  const WindowOptions options{
      .recoveryFolder = dir.filePath(u"recovery"_s), .templatesFolder = {}, .keepsSettings = false};
  std::string lost;
  QString schedule;
  double seconds = 0;
  int commands = 0;
  {
    MainWindow window(options, std::make_unique<test::Answers>());
    window.show();
    EditorContext* editor = test::openPreset(window, u"dgx-a100"_s);
    QVERIFY(editor != nullptr);
    for (int i = 0; i < 3; ++i) {
      editor->document().edit(u"Note %1"_s.arg(i), [&](Edit& edit) { edits::addNote(edit, "n", {}); });
    }
    editor->document().undoStack()->undo();
    auto* schedules = window.findChild<ScheduleFeature*>();
    schedules->generate();
    QTRY_VERIFY_WITH_TIMEOUT(!schedules->book()->isRunning() && schedules->book()->isSettled(), kLong);
    QVERIFY(schedules->book()->current() != nullptr);
    schedule = schedules->book()->current()->name;
    seconds = schedules->book()->current()->result->seconds;
    commands = editor->document().undoStack()->count();
    lost = writeFabricFile(editor->model());
  }
  auto owned = std::make_unique<test::Answers>();
  owned->recover = RecoveryChoice::restore;
  test::Answers* answers = owned.get();
  MainWindow window(options, std::move(owned));
  window.show();
  window.files().session().offerRecovery();
  QCOMPARE(answers->asked, 1);
  EditorContext* editor = window.workspace().current();
  QVERIFY(editor != nullptr);
  QCOMPARE(editor->file().displayName(), QString::fromStdString(presets::find("dgx-a100")->title));
  QCOMPARE(writeFabricFile(editor->model()), lost);
  QCOMPARE(editor->document().undoStack()->count(), commands);
  QCOMPARE(editor->document().undoStack()->redoText(), u"Note 2"_s);
  QVERIFY(window.actions()[u"edit.undo"_s]->isEnabled());
  QVERIFY(window.actions()[u"edit.redo"_s]->isEnabled());
  const ScheduleBook* book = window.findChild<ScheduleFeature*>()->book();
  QTRY_VERIFY_WITH_TIMEOUT(book->isSettled() && book->current() != nullptr, kLong);
  QCOMPARE(book->current()->name, schedule);
  // With how long it took, and so with its method.
  QVERIFY(seconds > 0);
  QCOMPARE(book->current()->result->seconds, seconds);
  QVERIFY(window.findChild<QLabel*>(u"scheduleFacts"_s)->text().contains(u"Generated in"_s));
}

void TestDesignerDocuments::openFilesComeBackAfterACrash() {
  QStringList paths;
  QTemporaryDir dir;
  for (const char* name : {"a.fabric.json", "b.fabric.json"}) {
    paths << dir.filePath(QLatin1String(name));
    QVERIFY(QFile::copy(QDir(QStringLiteral(COPPICE_EXAMPLES)).filePath(u"fig-4-5.fabric.json"_s), paths.back()));
  }
  const WindowOptions options{
      .recoveryFolder = dir.filePath(u"recovery"_s), .templatesFolder = {}, .keepsSettings = true};
  {
    MainWindow window(options, std::make_unique<test::Answers>());
    window.files().session().keep();
    window.files().openFiles(paths);
    QVERIFY(window.files().close(*window.workspace().contexts().front()));
    // Not closed: destroyed.
  }
  MainWindow window(options, std::make_unique<test::Answers>());
  window.files().session().restore();
  QCOMPARE(window.workspace().contexts().size(), 1U);
  QCOMPARE(window.workspace().current()->file().path(), paths.back());
}

/// Saved and unsaved documents come back in their places, whichever of them had to be recovered.
void TestDesignerDocuments::tabsKeepTheirOrderAfterACrash() {
  QTemporaryDir dir;
  const QString saved = dir.filePath(u"saved.fabric.json"_s);
  QVERIFY(QFile::copy(QDir(QStringLiteral(COPPICE_EXAMPLES)).filePath(u"fig-4-5.fabric.json"_s), saved));
  const WindowOptions options{
      .recoveryFolder = dir.filePath(u"recovery"_s), .templatesFolder = {}, .keepsSettings = true};
  const auto names = [](MainWindow& window) {
    QStringList result;
    auto* tabs = window.findChild<QTabWidget*>(u"documentTabs"_s);
    for (int i = 0; i < tabs->count(); ++i) {
      result << qobject_cast<EditorPage*>(tabs->widget(i))->context().file().displayName();
    }
    return result;
  };
  QStringList before;
  {
    MainWindow window(options, std::make_unique<test::Answers>());
    window.files().session().keep();
    for (int i = 0; i < 2; ++i) {
      window.workspace().newDocument()->document().edit(u"Add"_s, [](Edit& edit) {
        edits::addNode(edit, fabric::NodeKind::gpu, {0, 0});
      });
    }
    QVERIFY(window.files().openFile(saved));
    window.workspace().move(2, 0);
    window.workspace().move(1, 2);
    before = names(window);
    QCOMPARE(before, (QStringList{u"saved.fabric.json"_s, u"Untitled 2"_s, u"Untitled"_s}));
    // Not closed: destroyed.
  }
  auto answering = std::make_unique<test::Answers>();
  answering->recover = RecoveryChoice::restore;
  MainWindow window(options, std::move(answering));
  window.files().session().offerRecovery();
  window.files().session().restore();
  window.files().session().keep();
  QCOMPARE(names(window), before);
}

void TestDesignerDocuments::tabsOfTheSameName() {
  const Fixture f;
  for (const char* folder : {"east/rack", "west/rack", "north"}) {
    const QString path = f.dir.filePath(QLatin1String(folder));
    QVERIFY(QDir().mkpath(path));
    QVERIFY(QFile::copy(QDir(QStringLiteral(COPPICE_EXAMPLES)).filePath(u"fig-4-5.fabric.json"_s),
                        path + u"/hand.fabric.json"_s));
  }
  f.window->files().openFile(f.dir.filePath(u"east/rack/hand.fabric.json"_s));
  QCOMPARE(tabText(f, 0), u"hand.fabric.json"_s);
  f.window->files().openFile(f.dir.filePath(u"west/rack/hand.fabric.json"_s));
  QCOMPARE(tabText(f, 0), u"hand.fabric.json — east/rack"_s);
  QCOMPARE(tabText(f, 1), u"hand.fabric.json — west/rack"_s);
  f.window->files().openFile(f.dir.filePath(u"north/hand.fabric.json"_s));
  QCOMPARE(tabText(f, 2), u"hand.fabric.json — north"_s);
  f.window->files().close(*f.window->workspace().contexts()[2]);
  f.window->files().close(*f.window->workspace().contexts()[1]);
  QCOMPARE(tabText(f, 0), u"hand.fabric.json"_s);
}

void TestDesignerDocuments::readOnlyFiles() {
  const Fixture f;
  const QString path = f.example("fig-4-5.fabric.json");
  QVERIFY(f.window->files().openFile(path) != nullptr);
  QVERIFY(!f.strip("statusSaved").contains(u"read-only"_s));
  QVERIFY(QFile::setPermissions(path, QFile::ReadOwner | QFile::ReadUser));
  QTRY_COMPARE_WITH_TIMEOUT(f.strip("statusSaved"), u"read-only file"_s, kLong);
  QVERIFY(tabText(f, 0).endsWith(u"(read-only)"_s));
  addGpu(f.editor());
  QCOMPARE(f.strip("statusSaved"), u"not saved, read-only file"_s);
  QVERIFY(QFile::setPermissions(path, QFile::ReadOwner | QFile::WriteOwner | QFile::ReadUser | QFile::WriteUser));
  QTRY_COMPARE_WITH_TIMEOUT(f.strip("statusSaved"), u"not saved"_s, kLong);
  QVERIFY(!tabText(f, 0).contains(u"read-only"_s));
}

/// A menu on the tab of a document.
void TestDesignerDocuments::menuOfATab() {
  const Fixture f;
  for (const char* preset : {"dgx-a100", "dgx-h100", "mi250"}) {
    test::openPreset(*f.window, QLatin1String(preset));
  }
  QTabBar* bar = f.window->findChild<QTabWidget*>(u"documentTabs"_s)->tabBar();
  const auto menuAt = [&](int tab) {
    Q_EMIT bar->customContextMenuRequested(bar->tabRect(tab).center());
    return f.window->findChild<QMenu*>(u"documentMenu"_s);
  };
  const auto actionOf = [](const QMenu* menu, const QString& text) {
    const QList<QAction*> actions = menu->actions();
    const auto found = std::find_if(actions.begin(), actions.end(),
                                    [&](const QAction* each) { return QString(each->text()).remove(u'&') == text; });
    return found != actions.end() ? *found : nullptr;
  };
  QMenu* menu = menuAt(1);
  QVERIFY(menu != nullptr);
  QVERIFY(!actionOf(menu, u"Copy Path"_s)->isEnabled());
  EditorContext* kept = f.window->workspace().contexts()[1];
  actionOf(menu, u"Close Others"_s)->trigger();
  QCOMPARE(f.window->workspace().contexts(), std::vector<EditorContext*>{kept});
  menu->close();
  QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  menu = menuAt(0);
  QVERIFY(!actionOf(menu, u"Close Others"_s)->isEnabled());
  actionOf(menu, u"Close"_s)->trigger();
  QVERIFY(f.window->workspace().contexts().empty());
  menu->close();
}

QTEST_MAIN(TestDesignerDocuments)
#include "tst_designer_documents.moc"
