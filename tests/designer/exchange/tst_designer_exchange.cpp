// SPDX-License-Identifier: Apache-2.0
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPushButton>
#include <QTest>
#include <QToolButton>

#include "designer/exchange/exchange_panel.hpp"
#include "designer/schedules/schedule_book.hpp"
#include "io/files.hpp"
#include "support/waiting.hpp"
#include "window/question_fixture.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

/// The dock Uneven All-to-All in the window, on two DGX H100.
namespace {

struct Shown : designer::test::QuestionFixture<ExchangePanel> {
  Shown() : QuestionFixture("dgx-h100", "view.exchange") {}
};

constexpr int kGpus = 16;

/// One byte from every GPU to rank 0, times a number.
QString allToOne(int bytes) {
  QString text;
  for (int from = 0; from < kGpus; ++from) {
    for (int to = 0; to < kGpus; ++to) {
      text += QString::number(to == 0 && from != 0 ? bytes : 0) + (to + 1 < kGpus ? u","_s : u"\n"_s);
    }
  }
  return text;
}

const workflow::Values kLayer{{"experts", "32"}, {"top-k", "2"}, {"tokens", "1000"}};

}  // namespace

class TestDesignerExchange : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase() { designer::test::prepareApplication("exchange"); }
  void pastedTable();
  void layerOfExperts();
  void improvesThePlacement();
  void marks();
  void addsASchedule_data();
  void addsASchedule();
  void faultsAreSaid_data();
  void faultsAreSaid();
  void copiesACommand();
};

/// 15 MB go into the links of one GPU, 450 GB/s of NVLink and 50 GB/s of its NIC: 30 us.
void TestDesignerExchange::pastedTable() {
  const Shown shown;
  QVERIFY2(shown.text("exchangeMessage").contains(u"drop a table"_s), qPrintable(shown.text("exchangeMessage")));
  QGuiApplication::clipboard()->setText(allToOne(1'000'000));
  shown.panel->findChild<QPushButton*>(u"exchangePaste"_s)->click();
  QVERIFY(shown.isDone());
  QVERIFY2(shown.text("exchangeHeadline").contains(u"No routes are faster."_s),
           qPrintable(shown.text("exchangeHeadline") + shown.text("exchangeMessage")));
  QCOMPARE(shown.table("exchangeTable")->rowCount(), 1);
  QCOMPARE(shown.table("exchangeTable")->item(0, 1)->toolTip(), u"30000 ns"_s);
  QCOMPARE(shown.cell("exchangeTable", 0, 8), u"15"_s);
  QCOMPARE(shown.cell("exchangeTable", 0, 9), u"100 %"_s);
  QCOMPARE(shown.table("exchangeGpus")->rowCount(), kGpus);
  QCOMPARE(shown.cell("exchangeGpus", 1, 2), u"1"_s);
  QCOMPARE(shown.cell("exchangeGpus", 1, 3), u"0"_s);
  double whole = 0;
  for (int row = 0; row < shown.table("exchangeLimits")->rowCount(); ++row) {
    whole += shown.cell("exchangeLimits", row, 2).remove(u" %"_s).toDouble();
  }
  QVERIFY2(std::abs(whole - 100) < 0.2, qPrintable(QString::number(whole)));
  // In a small window too, nothing lies over anything else.
  shown.fixture.window->resize(1272, 680);
  QCoreApplication::processEvents();
  const auto placeOf = [&](const QWidget* widget) {
    return QRect(widget->mapTo(shown.panel, QPoint()), widget->size());
  };
  QVERIFY(placeOf(shown.table("exchangeTable")).bottom() <
          placeOf(shown.panel->findChild<QPushButton*>(u"exchangeSchedule"_s)).top());
  // The same clipboard again is another question, as the file may be another.
  QVERIFY(shown.panel->isCurrent());
}

void TestDesignerExchange::layerOfExperts() {
  const Shown shown;
  // The numbers of the group stand in a column.
  const auto widthOf = [&](const char* option) {
    return shown.panel->findChild<QSpinBox*>(u"option-"_s + QLatin1String(option))->minimumWidth();
  };
  QVERIFY(widthOf("tokens") > 0);
  QCOMPARE(widthOf("experts"), widthOf("tokens"));
  QCOMPARE(widthOf("top-k"), widthOf("tokens"));
  QVERIFY(shown.compute(kLayer));
  QCOMPARE(shown.table("exchangeTable")->rowCount(), 2);
  QCOMPARE(shown.cell("exchangeTable", 0, 0), u"Dispatch"_s);
  QCOMPARE(shown.cell("exchangeTable", 1, 0), u"Combine"_s);
  // Twice the bytes the other way.
  QVERIFY(shown.panel->isCurrent());
  QCOMPARE(shown.table("exchangePlacement")->rowCount(), 32);
  QCOMPARE(shown.cell("exchangePlacement", 31, 1), shown.cell("exchangeGpus", 15, 1));
  QVERIFY(shown.text("exchangeHeadline").contains(u"times as long"_s) ||
          shown.text("exchangeHeadline").contains(u"gains nothing"_s));
}

/// All tokens of box 0 go to experts of box 1 and those of box 1 to experts of box 0: swapped, nothing has to cross.
void TestDesignerExchange::improvesThePlacement() {
  const Shown shown;
  QString counts;
  for (int from = 0; from < kGpus; ++from) {
    for (int expert = 0; expert < kGpus; ++expert) {
      counts += QString::number((from < 8) == (expert >= 8) ? 100 : 0) + (expert + 1 < kGpus ? u","_s : u"\n"_s);
    }
  }
  const QString path = shown.fixture.dir.filePath(u"tokens.csv"_s);
  QVERIFY(io::saveFile(path.toStdString(), counts.toStdString()));
  QVERIFY(shown.compute({{"counts", path.toStdString()}, {"improve-placement", "true"}}));
  QCOMPARE(shown.table("exchangeTable")->rowCount(), 3);
  QCOMPARE(shown.cell("exchangeTable", 0, 0), u"Dispatch as placed"_s);
  const auto nanoseconds = [&](int row) {
    return Rational::parse(shown.table("exchangeTable")->item(row, 1)->toolTip().section(u' ', -2, -2).toStdString());
  };
  // 64 x 100 tokens of 7168 bytes over the 400 GB/s of a box; then 700 of them over the 500 GB/s of a GPU.
  QCOMPARE(nanoseconds(0)->toString(), Rational(64 * 100 * 7168, 400).toString());
  QCOMPARE(nanoseconds(1)->toString(), Rational(7 * 100 * 7168, 500).toString());
  QVERIFY(!shown.cell("exchangePlacement", 0, 2).isEmpty());
}

void TestDesignerExchange::marks() {
  const Shown shown;
  QVERIFY(shown.fixture.waitForBound());
  shown.panel->askWith(allToOne(1000));
  QVERIFY(shown.isDone());
  QCOMPARE(shown.overlay().hulls.size(), std::size_t{1});
  QVERIFY2(shown.overlay().hulls.front().label.contains(u"busiest GPU"_s),
           qPrintable(shown.overlay().hulls.front().label));
  QCOMPARE(shown.overlay().marks.size(), std::size_t{2});
  // All GPUs of an even layer are alike.
  QVERIFY(shown.compute(kLayer));
  QCOMPARE(shown.cell("exchangeTable", 0, 6), u"all alike"_s);
  QVERIFY(shown.overlay().hulls.empty());
  QVERIFY(!shown.overlay().marks.empty());
  // The options have changed: what is marked is no answer to them.
  shown.panel->form().setValues({{"experts", "64"}, {"top-k", "2"}, {"tokens", "1000"}});
  shown.panel->findChild<QLineEdit*>(u"option-placement"_s)->setText(u"x"_s);
  QVERIFY(!shown.panel->isCurrent());
  QVERIFY(shown.overlay().hulls.empty() || shown.overlay().hulls.front().line == Token::cut);
}

void TestDesignerExchange::addsASchedule_data() {
  QTest::addColumn<int>("row");
  QTest::addColumn<QString>("name");
  QTest::newRow("dispatch") << 0 << u"Alltoall, dispatch"_s;
  QTest::newRow("combine") << 1 << u"Alltoall, combine"_s;
}

void TestDesignerExchange::addsASchedule() {
  QFETCH(int, row);
  QFETCH(QString, name);
  const Shown shown;
  QVERIFY(shown.compute(kLayer));
  shown.table("exchangeTable")->selectRow(row);
  shown.panel->findChild<QPushButton*>(u"exchangeSchedule"_s)->click();
  auto* book = shown.fixture.editor()->file().findChild<ScheduleBook*>();
  QVERIFY(QTest::qWaitFor([&] { return !book->isRunning(); }, coppice::waiting::kPatience));
  QVERIFY2(book->failure().isEmpty(), qPrintable(book->failure()));
  QCOMPARE(book->entries().size(), std::size_t{1});
  const ScheduleEntry& entry = book->entries().front();
  QCOMPARE(entry.name, name);
  QVERIFY(entry.result->stepSchedule() != nullptr);
  QVERIFY(entry.result->meetsBound);
  // Its options bring the same schedule.
  const Bandwidth algbw = entry.result->algbw;
  book->generate(ScheduleOptions(entry.result->options));
  QVERIFY(QTest::qWaitFor([&] { return !book->isRunning(); }, coppice::waiting::kPatience));
  QVERIFY2(book->failure().isEmpty(), qPrintable(book->failure()));
  QVERIFY(book->entries().back().result->algbw == algbw);
}

void TestDesignerExchange::faultsAreSaid_data() {
  QTest::addColumn<QString>("option");
  QTest::addColumn<QString>("value");
  QTest::addColumn<QString>("says");
  QTest::newRow("nothing asked") << u"top-k"_s << u"2"_s << u"tokens are not known"_s;
  QTest::newRow("no file") << u"demand"_s << u"/nowhere/bytes.csv"_s << u"bytes.csv"_s;
}

void TestDesignerExchange::faultsAreSaid() {
  QFETCH(QString, option);
  QFETCH(QString, value);
  QFETCH(QString, says);
  const Shown shown;
  QVERIFY(shown.compute({{option.toStdString(), value.toStdString()}}));
  const QString message = shown.text("exchangeMessage");
  QVERIFY2(message.contains(says), qPrintable(message));
  QVERIFY2(!message.contains(u"--"_s), qPrintable(message));
}

void TestDesignerExchange::copiesACommand() {
  const Shown shown;
  shown.panel->form().setValues(kLayer);
  shown.panel->findChild<QToolButton*>(u"exchangeCopy"_s)->click();
  QCOMPARE(QGuiApplication::clipboard()->text(),
           u"coppice-cli moe fabric.fabric.json --experts 32 --tokens 1000 --top-k 2"_s);
}

QTEST_MAIN(TestDesignerExchange)
#include "tst_designer_exchange.moc"
