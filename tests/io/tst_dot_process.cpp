// SPDX-License-Identifier: Apache-2.0
#include <QElapsedTimer>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <chrono>
#include <stop_token>
#include <thread>

#include "io/dot_process.hpp"

using namespace coppice;
using namespace coppice::io;

namespace {

/// Stand-ins for the helper: shell scripts that answer well, badly, late or never.
class Scripts {
public:
  std::filesystem::path make(const QString& body) {
    const QString path = m_folder.filePath(QStringLiteral("helper%1").arg(m_count++));
    QFile file(path);
    if (file.open(QIODevice::WriteOnly)) {
      file.write("#!/bin/sh\n" + body.toUtf8() + "\n");
    }
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return path.toStdString();
  }

private:
  QTemporaryDir m_folder;
  int m_count = 0;
};

const QString kFabric = QStringLiteral(R"({"nodes":[{"id":"a","kind":"gpu"}],"links":[]})");

}  // namespace

class TestDotProcess : public QObject {
  Q_OBJECT

private slots:
  void answers_data();
  void answers();
  void bigInputAndOutput();
  void findingsComeThrough();
  void stopsOnRequest();
  void absent();
  void writes();

private:
  Scripts m_scripts;
};

void TestDotProcess::answers_data() {
  QTest::addColumn<QString>("script");
  QTest::addColumn<int>("code");  // -1: success
  QTest::addColumn<QString>("message");
  QTest::newRow("good") << QStringLiteral("cat > /dev/null; echo '%1'").arg(kFabric) << -1 << "";
  QTest::newRow("reads nothing") << QStringLiteral("echo '%1'").arg(kFabric) << -1 << "";
  QTest::newRow("error with place")
      << R"(cat >/dev/null; echo '{"severity": "error", "line": 3, "column": 7, "text": "not good", "fix": "make it good"}' >&2; exit 2)"
      << int(ErrorCode::badInput) << "x.dot:3:7: not good; make it good";
  QTest::newRow("error with line")
      << R"(echo '{"severity": "error", "line": 12, "text": "not good", "fix": "make it good"}' >&2; exit 2)"
      << int(ErrorCode::badInput) << "x.dot:12: not good; make it good";
  QTest::newRow("error without place")
      << R"(echo '{"severity": "error", "parts": [{"kind": "edge", "index": -1, "name": "a; b", "head": "c"}], "text": "lost"}' >&2; exit 2)"
      << int(ErrorCode::badInput) << R"(x.dot: edge "a; b" -> "c": lost)";
  QTest::newRow("notes before the error")
      << R"(echo '{"severity": "note", "text": "hm"}' >&2; echo '{"severity": "error", "text": "no", "fix": "yes"}' >&2; exit 2)"
      << int(ErrorCode::badInput) << "x.dot: no; yes";
  QTest::newRow("fails silently") << "exit 3" << int(ErrorCode::io) << "status 3 and no message";
  QTest::newRow("crashes") << "kill -SEGV $$" << int(ErrorCode::io) << "ended by signal 11";
  QTest::newRow("answers nonsense") << "echo hello" << int(ErrorCode::io) << "answer cannot be read";
  QTest::newRow("never ends") << "exec sleep 100" << int(ErrorCode::limit) << "took longer than 300 ms";
  QTest::newRow("closes its output, never ends")
      << "exec <&- >&- 2>&-; exec sleep 100" << int(ErrorCode::limit) << "took longer than 300 ms";
  QTest::newRow("talks forever") << "exec yes >&2" << int(ErrorCode::limit) << "took longer than 300 ms";
}

void TestDotProcess::answers() {
  QFETCH(QString, script);
  QFETCH(int, code);
  QFETCH(QString, message);
  DotHelperOptions options;
  options.program = m_scripts.make(script);
  // Only the rows that never end wait for it.
  options.timeLimit = message.contains("300 ms") ? std::chrono::milliseconds(300) : std::chrono::seconds(60);
  const auto result = readDotWithHelper("digraph {}", "x.dot", options);
  if (code < 0) {
    QVERIFY2(result, result ? "" : describe(result.error()).c_str());
    QCOMPARE(result->description.nodes.size(), std::size_t{1});
  } else {
    QVERIFY(!result);
    const QString text = QString::fromStdString(describe(result.error()));
    QVERIFY2(text.contains(message), qPrintable(text));
    QCOMPARE(int(result.error().code), code);
    QCOMPARE(QString::fromStdString(result.error().where.file), QStringLiteral("x.dot"));
  }
}

void TestDotProcess::bigInputAndOutput() {
  // Far more than a pipe holds, both ways at once: "name" comes back as long as the text was.
  DotHelperOptions options;
  options.program = m_scripts.make("printf '{\"nodes\":[],\"links\":[],\"name\":\"'; cat; printf '\"}'");
  const std::string text(std::size_t{8} << 20, 'x');
  const auto result = readDotWithHelper(text, "x.dot", options);
  QVERIFY2(result, result ? "" : describe(result.error()).c_str());
  QCOMPARE(result->description.name.size(), text.size());
}

void TestDotProcess::findingsComeThrough() {
  DotHelperOptions options;
  options.program =
      m_scripts.make(QStringLiteral(R"(echo '{"severity": "note", "text": "a", "fix": "b"}' >&2; echo other >&2; )"
                                    R"(echo '{"severity": "warning", "text": "c"}' >&2; echo '%1')")
                         .arg(kFabric));
  const auto result = readDotWithHelper("", "x.dot", options);
  QVERIFY2(result, result ? "" : describe(result.error()).c_str());
  QCOMPARE(result->findings.size(), std::size_t{2});
  QCOMPARE(describe(result->findings[0]), std::string("note: x.dot: a; b"));
  QCOMPARE(describe(result->findings[1]), std::string("warning: x.dot: c"));
}

void TestDotProcess::stopsOnRequest() {
  std::stop_source source;
  DotHelperOptions options;
  options.program = m_scripts.make("exec sleep 100");
  options.stop = source.get_token();
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    source.request_stop();
  });
  const auto result = readDotWithHelper("digraph {}", "x.dot", options);
  QVERIFY(!result);
  QCOMPARE(result.error().code, ErrorCode::cancelled);
}

void TestDotProcess::absent() {
  DotHelperOptions options;
  options.program = "/nowhere/coppice-dot";
  QCOMPARE(readDotWithHelper("", "x.dot", options).error().code, ErrorCode::unavailable);

  // PATH is the last place looked at, and only its absolute folders.
  const QByteArray path = qgetenv("PATH");
  QTemporaryDir folder;
  qputenv("PATH", ".:" + folder.path().toUtf8());
  QCOMPARE(findDotHelper().hasValue(), false);
  QCOMPARE(findDotHelper().error().code, ErrorCode::unavailable);
  QVERIFY(QFile::copy(QString::fromStdString(m_scripts.make("exit 0").string()), folder.filePath("coppice-dot")));
  const auto found = findDotHelper();
  qputenv("PATH", path);
  QVERIFY(found);
  QCOMPARE(found->parent_path(), std::filesystem::path(folder.path().toStdString()));
}

void TestDotProcess::writes() {
  DotHelperOptions options;
  options.program = m_scripts.make("test \"$1\" = --records && test \"$2\" = write && cat");
  fabric::Description in;
  in.nodes = {{"a", "gpu"}};
  const auto text = writeDotWithHelper(in, options);
  QVERIFY2(text, text ? "" : describe(text.error()).c_str());
  QVERIFY(text->find("\"a\"") != std::string::npos);
}

QTEST_GUILESS_MAIN(TestDotProcess)
#include "tst_dot_process.moc"
