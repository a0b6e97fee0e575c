// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QProcess>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "designer/document/document_file.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/document/patch_json.hpp"
#include "io/files.hpp"
#include "presets/presets.hpp"
#include "random_edits.hpp"
#include "support/waiting.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

namespace {

constexpr int kSteps = 2000;

QString digest(const Model& model) {
  return QString::fromLatin1(
      QCryptographicHash::hash(QByteArray::fromStdString(modelToJson(model)), QCryptographicHash::Sha1).toHex());
}

/// Without which boxes are folded, which is not part of the history.
QString unfoldedDigest(Model model) {
  Edit edit(model);
  std::vector<BoxId> boxes;
  for (const auto& [id, box] : model.boxes()) {
    boxes.push_back(id);
  }
  edits::fold(edit, boxes, false);
  model.applyTrusted(edit.patch());
  return digest(model);
}

/// Edits as fast as it can and says after each edit where it is; another process kills it.
int editUntilKilled(const QString& path, const QString& folder, unsigned seed) {
  DocumentFile file(folder);
  if (!path.isEmpty() && !file.open(path)) {
    return 1;
  }
  test::RandomEditor editor(file.document(), seed);
  for (int i = 0; i < kSteps; ++i) {
    if (!editor.step()) {
      continue;
    }
    const QByteArray line = digest(file.document().model()).toLatin1() + '\n';
    std::fwrite(line.constData(), 1, static_cast<std::size_t>(line.size()), stdout);
    std::fflush(stdout);
  }
  ::raise(SIGSTOP);
  return 0;
}

Model twoBoxes() {
  return readArranged(*presets::make("dgx-a100", {{"boxes", "2"}})).model;
}

}  // namespace

class TestDesignerRecovery : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void patchesAsText_data();
  void patchesAsText();
  void killedAtAnyMoment_data();
  void killedAtAnyMoment();
  void journalsCutShort();
  void theHistoryComesBack_data();
  void theHistoryComesBack();
  void nameAndPartsComeBack();
  void hostileJournals_data();
  void hostileJournals();
  void savingForgetsTheJournal();
  void aCleanDocumentLeavesNoJournal();
  void anAbandonedJournalIsNeverOverwritten();
  void readOnlyFolder();
  void othersChangeTheFile();
  void saveAsFailure();
};

void TestDesignerRecovery::patchesAsText_data() {
  QTest::addColumn<unsigned>("seed");
  for (unsigned seed = 100; seed < 104; ++seed) {
    QTest::addRow("seed %u", seed) << seed;
  }
}

void TestDesignerRecovery::patchesAsText() {
  QFETCH(unsigned, seed);
  Document document;
  document.reset(twoBoxes(), true);
  Model replayed;
  QVERIFY(replayed.apply(*patchFromJson(modelToJson(document.model()), replayed)));
  connect(&document, &Document::patched, this, [&](const Patch& patch) {
    const auto read = patchFromJson(patchToJson(patch), replayed);
    QVERIFY(read);
    QVERIFY(*read == patch);
    QVERIFY(replayed.apply(*read));
  });
  test::RandomEditor editor(document, seed);
  for (int i = 0; i < 200; ++i) {
    editor.step();
    if (i % 7 == 0) {
      document.undoStack()->undo();
    }
  }
  QCOMPARE(modelToJson(replayed), modelToJson(document.model()));
  QCOMPARE(writeFabricFile(replayed), writeFabricFile(document.model()));
}

void TestDesignerRecovery::killedAtAnyMoment_data() {
  QTest::addColumn<bool>("isUntitled");
  QTest::addColumn<int>("lines");
  for (const int lines : {1, 2, 7, 60, 300}) {
    QTest::addRow("titled, after %d edits", lines) << false << lines;
  }
  QTest::addRow("untitled, after 20 edits") << true << 20;
}

void TestDesignerRecovery::killedAtAnyMoment() {
  QFETCH(bool, isUntitled);
  QFETCH(int, lines);
  const unsigned seed = 7000U + static_cast<unsigned>(lines);
  QTemporaryDir dir;
  const QString path = isUntitled ? QString() : dir.filePath(u"a.fabric.json"_s);
  const QString folder = dir.filePath(u"recovery"_s);
  std::string original;
  if (!isUntitled) {
    original = writeFabricFile(twoBoxes());
    QVERIFY(io::saveFile(path.toStdString(), original));
  }

  QProcess child;
  child.start(QCoreApplication::applicationFilePath(), {u"--edit"_s, path, folder, QString::number(seed)});
  QVERIFY(child.waitForStarted());
  QByteArray said;
  while (said.count('\n') < lines) {
    QVERIFY(child.waitForReadyRead(30000));
    said += child.readAllStandardOutput();
  }
  const QString journal = isUntitled ? QString() : DocumentFile::journalBeside(path);
  if (!isUntitled) {
    QVERIFY(isJournalHeld(journal));
    QVERIFY(!recover(journal));
  }
  QCOMPARE(::kill(static_cast<pid_t>(child.processId()), SIGKILL), 0);
  QVERIFY(child.waitForFinished(coppice::waiting::kPatience));
  said += child.readAllStandardOutput();
  const auto last = static_cast<std::size_t>(said.count('\n'));

  const std::vector<QString> found = DocumentFile::abandonedJournals(folder);
  QCOMPARE(found.size(), std::size_t(1));
  if (!isUntitled) {
    QCOMPARE(found.front(), journal);
    QCOMPARE(*io::readFile(path.toStdString()), original);
  }
  const auto recovered = recover(found.front());
  QVERIFY2(recovered, recovered ? "" : recovered.error().message.c_str());
  QCOMPARE(recovered->head.documentPath, path);

  // The same edits again, here.
  Document document;
  if (!isUntitled) {
    document.reset(readFabricFile(original, "")->model, true);
  }
  test::RandomEditor editor(document, seed);
  QStringList states;
  while (states.size() <= static_cast<int>(last)) {
    if (editor.step()) {
      states << digest(document.model());
    }
  }
  // All it said it had done, and at most the one edit that it could not report.
  const QString state = digest(recovered->model);
  QVERIFY2(state == states[static_cast<int>(last) - 1] || state == states[static_cast<int>(last)],
           qPrintable(u"seed %1: not the state after %2 edits"_s.arg(seed).arg(last)));
}

void TestDesignerRecovery::journalsCutShort() {
  QTemporaryDir dir;
  const QString path = dir.filePath(u"a"_s);
  std::string text;
  std::vector<std::pair<std::size_t, QString>> states;  // journal length, state
  {
    Document document;
    document.reset(twoBoxes(), true);
    auto journal = Journal::create(path, {u"x"_s}, document.model());
    QVERIFY(journal);
    const auto length = [&] { return static_cast<std::size_t>(QFileInfo(path).size()); };
    states.emplace_back(length(), digest(document.model()));
    connect(&document, &Document::patched, this, [&](const Patch& patch, const HistoryStep& step) {
      QVERIFY((*journal)->append(patch, step));
      states.emplace_back(length(), digest(document.model()));
    });
    test::RandomEditor editor(document, 5);
    for (int i = 0; i < 12; ++i) {
      editor.step();
    }
    text = *io::readFile(path.toStdString());
  }
  for (std::size_t length = states.front().first; length <= text.size(); ++length) {
    // Every length near the ends of records, some between them.
    constexpr std::size_t kStride = 211;
    const bool isNearEnd = std::any_of(states.begin(), states.end(), [&](const auto& state) {
      return length + 2 >= state.first && length <= state.first + 60;
    });
    if (!isNearEnd && length % kStride != 0) {
      continue;
    }
    QVERIFY(io::saveFile(path.toStdString(), std::string_view(text).substr(0, length)));
    const auto recovered = recover(path);
    QVERIFY(recovered);
    const auto state = std::find_if(states.rbegin(), states.rend(), [&](const auto& s) { return s.first <= length; });
    QCOMPARE(digest(recovered->model), state->second);
    QCOMPARE(recovered->isCutShort, state->first != length);
  }
}

void TestDesignerRecovery::theHistoryComesBack_data() {
  QTest::addColumn<unsigned>("seed");
  QTest::addColumn<int>("savedAfter");  // steps; -1 = never
  for (unsigned seed = 1; seed <= 6; ++seed) {
    QTest::addRow("seed %u", seed) << seed << static_cast<int>(seed) * 12 - 13;
  }
}

void TestDesignerRecovery::theHistoryComesBack() {
  QFETCH(unsigned, seed);
  QFETCH(int, savedAfter);
  QTemporaryDir dir;
  const QString folder = dir.filePath(u"recovery"_s);
  int index = 0;
  int clean = -1;
  {
    DocumentFile file(folder);
    file.adopt(twoBoxes(), {});
    test::RandomEditor editor(file.document(), seed);
    for (int i = 0; i < 60; ++i) {
      editor.step();
      if (i == savedAfter) {
        QVERIFY(file.saveAs(dir.filePath(u"a.fabric.json"_s)));
      }
      if (i % 9 == 8) {
        file.document().undoStack()->undo();
        editor.endGesture();
      }
      if (i % 14 == 13) {
        // Folding is not a command, and may come between any two.
        file.document().edit(u"Fold"_s, [&](Edit& edit) {
          const std::vector<BoxId> boxes = edit.base().boxesIn({});
          edits::fold(edit, boxes, !boxes.empty() && !edit.find(boxes.front())->isFolded);
        });
      }
    }
    QUndoStack* stack = file.document().undoStack();
    stack->undo();
    stack->undo();
    index = stack->index();
    clean = stack->cleanIndex();
    QVERIFY(file.isModified());
  }
  const std::vector<QString> journals = DocumentFile::abandonedJournals(folder);
  QCOMPARE(journals.size(), std::size_t(1));
  const auto recovered = recover(journals.front());
  QVERIFY2(recovered, recovered ? "" : describe(recovered.error()).c_str());
  QVERIFY(!recovered->isCutShort);
  QCOMPARE(recovered->changes, clean >= 0 ? std::abs(index - clean) : index);

  // The same again without a crash, to compare with.
  DocumentFile twin;
  twin.adopt(twoBoxes(), {});
  test::RandomEditor editor(twin.document(), seed);
  for (int i = 0; i < 60; ++i) {
    editor.step();
    if (i == savedAfter) {
      QVERIFY(twin.saveAs(dir.filePath(u"b.fabric.json"_s)));
    }
    if (i % 9 == 8) {
      twin.document().undoStack()->undo();
      editor.endGesture();
    }
    if (i % 14 == 13) {
      twin.document().edit(u"Fold"_s, [&](Edit& edit) {
        const std::vector<BoxId> boxes = edit.base().boxesIn({});
        edits::fold(edit, boxes, !boxes.empty() && !edit.find(boxes.front())->isFolded);
      });
    }
  }
  twin.document().undoStack()->undo();
  twin.document().undoStack()->undo();

  DocumentFile restored(folder);
  restored.restore(*recovered);
  QUndoStack* mine = restored.document().undoStack();
  QUndoStack* other = twin.document().undoStack();
  QVERIFY(restored.isModified());
  QCOMPARE(mine->index(), index);
  QCOMPARE(mine->count(), other->count());
  QCOMPARE(digest(restored.document().model()), digest(twin.document().model()));
  for (int to = mine->count(); to >= 0; --to) {
    mine->setIndex(to);
    other->setIndex(to);
    QCOMPARE(unfoldedDigest(restored.document().model()), unfoldedDigest(twin.document().model()));
    QCOMPARE(mine->undoText(), other->undoText());
  }
  for (int to = 0; to <= mine->count(); ++to) {
    mine->setIndex(to);
    other->setIndex(to);
    QCOMPARE(unfoldedDigest(restored.document().model()), unfoldedDigest(twin.document().model()));
  }
}

void TestDesignerRecovery::nameAndPartsComeBack() {
  QTemporaryDir dir;
  const QString folder = dir.filePath(u"recovery"_s);
  {
    DocumentFile file(folder);
    file.setUntitledName(u"DGX A100"_s);
    QVERIFY(!file.isModified());
    QVERIFY(QDir().mkpath(file.workFolder()));
    QVERIFY(io::saveFile((file.workFolder() + u"/a.forest.json"_s).toStdString(), "{}"));
    file.setUnsavedParts(true);
    QVERIFY(file.isModified());
  }
  const std::vector<QString> journals = DocumentFile::abandonedJournals(folder);
  QCOMPARE(journals.size(), std::size_t(1));
  const auto recovered = recover(journals.front());
  QVERIFY(recovered);
  QCOMPARE(recovered->changes, 0);
  QCOMPARE(recovered->head.name, u"DGX A100"_s);
  QVERIFY(QFile::remove(journals.front()));
  DocumentFile restored(folder);
  restored.restore(*recovered);
  QCOMPARE(restored.displayName(), u"DGX A100"_s);
  QVERIFY(QFile::exists(restored.workFolder() + u"/a.forest.json"_s));
  restored.discardChanges();
  QVERIFY(!QFile::exists(restored.workFolder()));
  QVERIFY(DocumentFile::abandonedJournals(folder).empty());
}

void TestDesignerRecovery::hostileJournals_data() {
  QTest::addColumn<QByteArray>("text");
  QTest::newRow("empty") << QByteArray();
  QTest::newRow("another file") << QByteArray("{\"nodes\": []}");
  QTest::newRow("endless head") << QByteArray(100000, 'H');
  QTest::newRow("huge length") << QByteArray("H 99999999999999999999 0123456789abcdef\nx\n");
  QTest::newRow("length of all") << QByteArray("H 18446744073709551615 0123456789abcdef\nx\n");
  QTest::newRow("wrong checksum") << QByteArray("H 17 0123456789abcdef\ncoppice-journal 1\n");
}

void TestDesignerRecovery::hostileJournals() {
  QFETCH(QByteArray, text);
  QTemporaryDir dir;
  const QString path = dir.filePath(u"j"_s);
  QVERIFY(io::saveFile(path.toStdString(), text.toStdString()));
  const auto recovered = recover(path);
  QVERIFY(!recovered);
  QCOMPARE(recovered.error().code, ErrorCode::badInput);
}

void TestDesignerRecovery::savingForgetsTheJournal() {
  QTemporaryDir dir;
  const QString path = dir.filePath(u"a.fabric.json"_s);
  const QString folder = dir.filePath(u"recovery"_s);
  DocumentFile file(folder);
  file.document().edit(u"add"_s, [](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {1, 1}); });
  QVERIFY(file.isModified());
  QVERIFY(DocumentFile::abandonedJournals(folder).empty());  // it is held
  QVERIFY(file.saveAs(path));
  QVERIFY(!file.isModified());
  QCOMPARE(QDir(folder).entryList(QDir::Files).size(), 0);
  file.document().edit(u"add"_s, [](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {2, 1}); });
  QVERIFY(QFileInfo::exists(DocumentFile::journalBeside(path)));
  QVERIFY(file.save());
  QVERIFY(!QFileInfo::exists(DocumentFile::journalBeside(path)));
  QCOMPARE(*io::readFile(path.toStdString()), writeFabricFile(file.document().model()));
}

void TestDesignerRecovery::aCleanDocumentLeavesNoJournal() {
  QTemporaryDir dir;
  const QString path = dir.filePath(u"a.fabric.json"_s);
  QVERIFY(io::saveFile(path.toStdString(), writeFabricFile(twoBoxes())));
  {
    DocumentFile file(dir.filePath(u"recovery"_s));
    QVERIFY(file.open(path));
    file.document().edit(u"add"_s, [](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {1, 1}); });
    file.document().undoStack()->undo();
  }
  QVERIFY(!QFileInfo::exists(DocumentFile::journalBeside(path)));
  {
    DocumentFile file(dir.filePath(u"recovery"_s));
    QVERIFY(file.open(path));
    file.document().edit(u"add"_s, [](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {1, 1}); });
  }
  // Work that nobody gave up stays.
  QVERIFY(QFileInfo::exists(DocumentFile::journalBeside(path)));
}

void TestDesignerRecovery::anAbandonedJournalIsNeverOverwritten() {
  QTemporaryDir dir;
  const QString path = dir.filePath(u"a.fabric.json"_s);
  const QString folder = dir.filePath(u"recovery"_s);
  QVERIFY(io::saveFile(path.toStdString(), writeFabricFile(twoBoxes())));
  for (int i = 0; i < 3; ++i) {
    DocumentFile file(folder);
    QVERIFY(file.open(path));
    file.document().edit(u"add"_s, [](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {1, 1}); });
  }
  QCOMPARE(DocumentFile::abandonedJournals(folder).size(), std::size_t(3));
}

void TestDesignerRecovery::readOnlyFolder() {
  QTemporaryDir dir;
  const QString inner = dir.filePath(u"inner"_s);
  QVERIFY(QDir().mkdir(inner));
  const QString path = inner + u"/a.fabric.json"_s;
  QVERIFY(io::saveFile(path.toStdString(), writeFabricFile(twoBoxes())));
  QVERIFY(QFile::setPermissions(inner, QFile::ReadOwner | QFile::ExeOwner));
  DocumentFile file(dir.filePath(u"recovery"_s));
  QSignalSpy failed(&file, &DocumentFile::journalFailed);
  QVERIFY(file.open(path));
  file.document().edit(u"add"_s, [](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {1, 1}); });
  QCOMPARE(failed.size(), 0);
  QVERIFY(QFile::setPermissions(inner, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
}

void TestDesignerRecovery::othersChangeTheFile() {
  QTemporaryDir dir;
  const QString path = dir.filePath(u"a.fabric.json"_s);
  QVERIFY(io::saveFile(path.toStdString(), writeFabricFile(twoBoxes())));
  DocumentFile file;
  QVERIFY(file.open(path));
  QSignalSpy changed(&file, &DocumentFile::changedOnDisk);
  QVERIFY(!file.isChangedOnDisk());
  // In place, then by renaming, as editors do.
  std::ofstream(path.toStdString(), std::ios::app) << "\n";
  QVERIFY(changed.wait(5000));
  QVERIFY(file.isChangedOnDisk());
  QVERIFY(io::saveFile(path.toStdString(), "{}"));
  QVERIFY(changed.wait(5000));
  QCOMPARE(changed.size(), 2);
  // Our own saving is no news.
  QVERIFY(file.save());
  QVERIFY(!changed.wait(600));
  QVERIFY(QFile::remove(path));
  QVERIFY(changed.wait(5000));
}

void TestDesignerRecovery::saveAsFailure() {
  QTemporaryDir dir;
  DocumentFile file;
  file.document().edit(u"add"_s, [](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {1, 1}); });
  const Outcome saved = file.saveAs(dir.filePath(u"absent/a.fabric.json"_s));
  QVERIFY(!saved);
  QCOMPARE(saved.error().code, ErrorCode::io);
  QVERIFY(file.path().isEmpty());
  QVERIFY(file.isModified());
}

int main(int argc, char** argv) {
  QCoreApplication app(argc, argv);
  const QStringList arguments = QCoreApplication::arguments();
  constexpr int kChildArguments = 5;
  if (arguments.size() == kChildArguments && arguments[1] == u"--edit"_s) {
    return editUntilKilled(arguments[2], arguments[3], arguments[4].toUInt());
  }
  TestDesignerRecovery test;
  return QTest::qExec(&test, argc, argv);
}

#include "tst_designer_recovery.moc"
