// SPDX-License-Identifier: Apache-2.0
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

#include "coppice/test_paths.hpp"
#include "support/cli_runner.hpp"

using namespace coppice::test;

/// What programs read: bfb, baseline, alltoall, synthesize and generate --method keep the keys and values of their
/// JSON. tests/data/cli/methods.json has calls with their exit codes and answers, without times; "EX/" stands for the
/// folder of examples. Further keys may come.
class TestCliMethods : public QObject {
  Q_OBJECT

private slots:
  void answers_data();
  void answers();
};

void TestCliMethods::answers_data() {
  QTest::addColumn<QString>("call");
  QTest::addColumn<int>("exit");
  QTest::addColumn<QJsonObject>("answer");
  const auto document = QJsonDocument::fromJson(contents(QStringLiteral(COPPICE_TEST_DATA) + "/cli/methods.json"));
  for (const QJsonValue& row : document.array()) {
    const QString call = row["call"].toString();
    QTest::newRow(qPrintable(call)) << call << row["exit"].toInt() << row["answer"].toObject();
  }
}

void TestCliMethods::answers() {
  QFETCH(QString, call);
  QFETCH(int, exit);
  QFETCH(QJsonObject, answer);
  const Outcome outcome = run(call.replace("EX/", QStringLiteral(COPPICE_EXAMPLES) + "/").split(' ') << "--json");
  VERIFY_TOLD(outcome.code == exit, outcome);
  const QJsonObject json = outcome.json();
  QVERIFY(!answer.isEmpty());
  for (auto expected = answer.begin(); expected != answer.end(); ++expected) {
    QVERIFY2(json.contains(expected.key()), qPrintable(expected.key()));
    const QJsonValue value = json[expected.key()];
    const auto text = [](const QJsonValue& of) { return QJsonDocument(QJsonArray{of}).toJson(QJsonDocument::Compact); };
    QVERIFY2(value == expected.value(), expected.key().toUtf8() + " is " + text(value) + ", not " + text(*expected));
  }
}

QTEST_APPLESS_MAIN(TestCliMethods)
#include "tst_cli_methods.moc"
