// SPDX-License-Identifier: Apache-2.0
#include <QDir>
#include <QFile>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

#include "mscclpp/plan_json.hpp"
#include "support/waiting.hpp"
#include "workflow/mscclpp_target.hpp"
#include "workflow/target.hpp"

using namespace coppice;
using namespace coppice::workflow;

namespace {

/// Ranks that copy their input; memory channels join those of a node.
mscclpp::ExecutionPlan planOf(const std::string& name, int ranks = 4, int perNode = 2) {
  mscclpp::ExecutionPlan plan{.name = name, .collective = "allreduce", .minBytes = 64, .maxBytes = 4096};
  for (int rank = 0; rank < ranks; ++rank) {
    mscclpp::Gpu gpu{.inputChunks = 2, .outputChunks = 2};
    for (int peer = rank / perNode * perNode; peer < (rank / perNode + 1) * perNode; ++peer) {
      if (peer != rank) {
        gpu.memoryPeers.push_back(peer);
      }
    }
    plan.gpus.push_back(std::move(gpu));
  }
  return plan;
}

LaunchFile fileOf(const std::string& name, const mscclpp::ExecutionPlan& plan) {
  return {name, mscclpp::writePlan(plan)};
}

QString textIn(const std::vector<LaunchFile>& files, const std::string& name) {
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const LaunchFile& file) { return file.name == name; });
  return found == files.end() ? QString() : QString::fromStdString(found->text);
}

}  // namespace

class TargetTest : public QObject {
  Q_OBJECT

private slots:
  void hasNames() {
    QVERIFY(!targets().empty());
    for (const Target& target : targets()) {
      QCOMPARE(findTarget(target.id), &target);
      QVERIFY(targetHelp().find(target.id) != std::string::npos);
    }
    QVERIFY(findTarget("none") == nullptr);
    QCOMPARE(destinations().size(), program::kRuntimes.size() + targets().size());
    QVERIFY(targetOfFile(mscclpp::writePlan(planOf("a"))) != nullptr);
    QVERIFY(targetOfFile("<algo/>") == nullptr);
  }

  void launches() {
    mscclpp::ExecutionPlan large = planOf("large \"one\"");
    large.minBytes = 4097;
    large.maxBytes = 1 << 20;
    const std::vector<LaunchFile> files{fileOf("b.plan.json", large), fileOf("a.plan.json", planOf("small"))};
    const auto launch = mscclppLaunch(files);
    QVERIFY2(launch.hasValue(), launch ? "" : describe(launch.error()).c_str());
    const QString python = textIn(*launch, "register_plans.py");
    QVERIFY(python.contains("WORLD_SIZE = 4\n"));
    QVERIFY(python.contains("RANKS_PER_NODE = 2\n"));
    QVERIFY(python.indexOf("a.plan.json") < python.indexOf("b.plan.json"));
    QVERIFY(textIn(*launch, "run-torch.sh").contains("--nnodes=2 --nproc-per-node=2"));
    QVERIFY(textIn(*launch, "run-mpi.sh").contains("mpirun -np 4"));
    // Multiples of two chunks of 16 bytes, inside the windows.
    QVERIFY(textIn(*launch, "test-plans.sh").contains("run a.plan.json 4096\n"));
    QVERIFY(textIn(*launch, "test-plans.sh").contains("run b.plan.json 1048576\n"));
    QVERIFY(textIn(*launch, "README.md").contains("| a.plan.json | allreduce, out of place | 64 to 4096 | 32 |"));
  }

  /// What it writes is Python and shell.
  void parses() {
    const std::vector<LaunchFile> files{fileOf("it's.plan.json", planOf("quotes ' \" \\ and \n breaks"))};
    const auto launch = mscclppLaunch(files);
    QVERIFY(launch);
    QTemporaryDir folder;
    for (const LaunchFile& file : *launch) {
      QFile out(folder.filePath(QString::fromStdString(file.name)));
      QVERIFY(out.open(QIODevice::WriteOnly));
      out.write(file.text.data(), static_cast<qint64>(file.text.size()));
    }
    for (const char* script : {"run-torch.sh", "run-mpi.sh", "test-plans.sh"}) {
      QCOMPARE(QProcess::execute("/bin/sh", {"-n", folder.filePath(script)}), 0);
    }
    const QString python = QStandardPaths::findExecutable("python3");
    if (python.isEmpty()) {
      QSKIP("there is no python3");
    }
    QProcess process;
    process.setWorkingDirectory(folder.path());
    process.start(python, {"-c",
                           "import register_plans as r\n"
                           "class Call:\n  collective='allreduce'; message_size=64; world_size=4; rank=1\n"
                           "plan=r.PLANS[0]\n"
                           "known={'allreduce': {plan['name']: 'it'}}\n"
                           "assert r.select(known, Call) == 'it'\n"
                           "Call.message_size=63\n"
                           "assert r.select(known, Call) is None\n"
                           "Call.collective='allgather'; Call.message_size=16\n"
                           "assert r.select(known, Call) is None\n"});
    QVERIFY(process.waitForFinished(coppice::waiting::kPatience));
    QVERIFY2(process.exitCode() == 0, process.readAllStandardError().constData());
  }

  void refuses_data() {
    QTest::addColumn<QString>("change");
    QTest::addColumn<QString>("says");
    QTest::newRow("equal names") << "name"
                                 << "two plans have the name";
    QTest::newRow("windows overlap") << "window"
                                     << "are both for allreduce of 64 bytes";
    QTest::newRow("in place and out of place") << "place"
                                               << "in place and another out of place";
    QTest::newRow("ranks") << "ranks"
                           << "is for 8 ranks";
    QTest::newRow("no plan") << "text"
                             << "not JSON";
    QTest::newRow("nothing") << "nothing"
                             << "no plan to start";
  }
  void refuses() {
    QFETCH(QString, change);
    QFETCH(QString, says);
    mscclpp::ExecutionPlan other = planOf(change == "name" ? "a" : "b", change == "ranks" ? 8 : 4);
    if (change != "window") {
      other.minBytes = 1 << 20;
      other.maxBytes = 1 << 21;
    }
    other.inPlace = change == "place";
    std::vector<LaunchFile> files{fileOf("a.plan.json", planOf("a")), fileOf("b.plan.json", other)};
    if (change == "text") {
      files[1].text = "?";
    } else if (change == "nothing") {
      files.clear();
    }
    const auto launch = mscclppLaunch(files);
    QVERIFY(!launch);
    QVERIFY2(describe(launch.error()).find(says.toStdString()) != std::string::npos, describe(launch.error()).c_str());
  }
};

QTEST_APPLESS_MAIN(TargetTest)
#include "tst_target.moc"
