// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <random>
#include <thread>

#include "base/checked.hpp"
#include "base/child.hpp"
#include "base/collective.hpp"
#include "base/duration.hpp"
#include "base/formatted.hpp"
#include "base/natural_order.hpp"
#include "base/one_line.hpp"
#include "base/rational.hpp"
#include "base/rows.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "base/throughput.hpp"
#include "base/units.hpp"
#include "support/processes.hpp"

using namespace coppice;

namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

QString toQString(const std::string& text) {
  return QString::fromStdString(text);
}

/// "value", "badInput" or "overflow", so that one column tells the whole outcome.
template <typename T>
QString outcome(const Result<T>& result) {
  if (result) {
    if constexpr (std::is_same_v<T, Rational>) {
      return toQString(result->toString());
    } else {
      return toQString(toExactText(*result));
    }
  }
  return result.error().code == ErrorCode::badInput   ? "badInput"
         : result.error().code == ErrorCode::overflow ? "overflow"
                                                      : "other";
}

}  // namespace

class TestBase : public QObject {
  Q_OBJECT

private slots:
  void rationalParse_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* name, const char* text, const char* expected) {
      QTest::newRow(name) << QString(text) << QString(expected);
    };
    row("integer", "12", "12");
    row("plus sign", "+12", "12");
    row("minus sign", "-3", "-3");
    row("minus zero", "-0", "0");
    row("leading zeros", "0007", "7");
    row("decimal", "12.5", "25/2");
    row("decimal that no double holds", "12.1", "121/10");
    row("no whole part", ".5", "1/2");
    row("negative decimal", "-0.25", "-1/4");
    row("trailing zeros", "1.000000000000000000000000000000000000000000000", "1");
    row("inner zeros", "1.0000000000000001", "10000000000000001/10000000000000000");
    row("exponent", "1e3", "1000");
    row("exponent with plus", "1E+3", "1000");
    row("negative exponent", "1e-3", "1/1000");
    row("exponent meets decimals", "0.0000000000000000000000001e25", "1");
    row("large mantissa shrinks", "1000000000000000000000e-10", "100000000000");
    row("zero with a large exponent", "0e999999999999", "0");
    row("fraction", "25/2", "25/2");
    row("fraction reduces", "50/4", "25/2");
    row("negative fraction", "-2125/6", "-2125/6");
    row("largest", "9223372036854775807", "9223372036854775807");
    row("least", "-9223372036854775808", "-9223372036854775808");
    row("one above the largest", "9223372036854775808", "overflow");
    row("one below the least", "-9223372036854775809", "overflow");
    row("too many decimals", "0.12345678901234567891", "overflow");
    row("exponent out of range", "1e19", "overflow");
    row("exponent far out of range", "1e99999999999999999999", "overflow");
    row("denominator out of range", "1/9223372036854775808", "overflow");
    row("forty digits", "1234567890123456789012345678901234567890", "overflow");
    row("empty", "", "badInput");
    row("sign alone", "-", "badInput");
    row("point alone", ".", "badInput");
    row("point without decimals", "1.", "badInput");
    row("two points", "1.2.3", "badInput");
    row("exponent without digits", "1e", "badInput");
    row("exponent then text", "0e9999999x", "badInput");
    row("overlong digits then text", "99999999999999999999999999999999999999999999x", "badInput");
    row("division by zero", "1/0", "badInput");
    row("no denominator", "1/", "badInput");
    row("no numerator", "/2", "badInput");
    row("decimal denominator", "1/2.5", "badInput");
    row("decimal numerator", "1.5/2", "badInput");
    row("two slashes", "1/2/3", "badInput");
    row("space", " 1", "badInput");
    row("hexadecimal", "0x10", "badInput");
    row("not a number", "nan", "badInput");
    row("infinity", "inf", "badInput");
    row("decimal comma", "1,5", "badInput");
  }
  void rationalParse() {
    QFETCH(QString, text);
    QTEST(outcome(Rational::parse(text.toStdString())), "expected");
  }

  void rationalTextReadsBack() {
    std::mt19937_64 random(7);
    for (int i = 0; i < 2000; ++i) {
      const auto numerator = static_cast<std::int64_t>(random()) >> (random() % 63);
      const auto denominator = std::max<std::int64_t>(static_cast<std::int64_t>(random() >> (1 + random() % 63)), 1);
      const Rational value(numerator, denominator);
      const auto again = Rational::parse(value.toString());
      QVERIFY2(again && *again == value, value.toString().c_str());
      const auto bandwidth = Bandwidth::parse(toExactText(value));
      QVERIFY2(bandwidth && bandwidth->gigabytesPerSecond() == value, toExactText(value).c_str());
    }
  }

  void rationalReduces() {
    const Rational value(-6, -4);
    QCOMPARE(value.numerator(), 3);
    QCOMPARE(value.denominator(), 2);
    QCOMPARE(Rational(6, -4), Rational(-3, 2));
    QCOMPARE(Rational(0, -5), Rational(0));
    QCOMPARE(Rational(kMin, kMin), Rational(1));
    QCOMPARE(Rational(kMin, 2).numerator(), kMin / 2);
    QCOMPARE(Rational(kMin, 1).numerator(), kMin);
    QCOMPARE(Rational(kMin, -2).numerator(), -(kMin / 2));
    QCOMPARE(Rational(6, kMin), Rational(-3, -(kMin / 2)));
    QVERIFY_EXCEPTION_THROWN(Rational(kMin, -1), OverflowError);
    QVERIFY_EXCEPTION_THROWN(Rational(1, kMin), OverflowError);
    QVERIFY_EXCEPTION_THROWN(Rational(1, 0), OverflowError);
    QVERIFY_EXCEPTION_THROWN(Rational(1, kMin), OverflowError);
  }

  void rationalArithmetic() {
    const Rational third(1, 3);
    const Rational quarter(-1, 4);
    QCOMPARE(third + quarter, Rational(1, 12));
    QCOMPARE(third - quarter, Rational(7, 12));
    QCOMPARE(third * quarter, Rational(-1, 12));
    QCOMPARE(third / quarter, Rational(-4, 3));
    QCOMPARE(-third, Rational(-1, 3));
    QCOMPARE(quarter.inverse(), Rational(-4));
    QCOMPARE(Rational(1, kMax) * Rational(kMax), Rational(1));
    QCOMPARE(Rational(kMax, 2) + Rational(kMax, 2), Rational(kMax));
    QCOMPARE(Rational(kMax - 1, kMax) + Rational(1, kMax), Rational(1));
    QCOMPARE(Rational(kMin) + Rational(kMax), Rational(-1));
    QCOMPARE(Rational(kMin, 3) - Rational(kMin, 3), Rational(0));
    QVERIFY_EXCEPTION_THROWN(Rational(kMax) + Rational(1), OverflowError);
    QVERIFY_EXCEPTION_THROWN(Rational(kMin) - Rational(1), OverflowError);
    QVERIFY_EXCEPTION_THROWN(-Rational(kMin), OverflowError);
    QVERIFY_EXCEPTION_THROWN(Rational(1, kMax) * Rational(1, 2), OverflowError);
    QVERIFY_EXCEPTION_THROWN(Rational(1, kMax) + Rational(1, kMax - 1), OverflowError);
    QVERIFY_EXCEPTION_THROWN(Rational(1) / Rational(0), OverflowError);
    QVERIFY_EXCEPTION_THROWN((void)Rational(0).inverse(), OverflowError);
  }

  /// Against 128-bit integers on small parts, where both are exact.
  void rationalArithmeticAgainstCrossProducts() {
    std::mt19937_64 random(11);
    std::uniform_int_distribution<std::int64_t> numerators(-1000000, 1000000);
    std::uniform_int_distribution<std::int64_t> denominators(1, 1000000);
    for (int i = 0; i < 2000; ++i) {
      const std::int64_t a = numerators(random);
      const std::int64_t b = denominators(random);
      const std::int64_t c = numerators(random);
      const std::int64_t d = denominators(random);
      QCOMPARE(Rational(a, b) + Rational(c, d), Rational(a * d + c * b, b * d));
      QCOMPARE(Rational(a, b) - Rational(c, d), Rational(a * d - c * b, b * d));
      QCOMPARE(Rational(a, b) * Rational(c, d), Rational(a * c, b * d));
      QCOMPARE(Rational(a, b) < Rational(c, d), a * d < c * b);
      QCOMPARE(Rational(a, b).floor(),
               static_cast<std::int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b))));
    }
  }

  void rationalCompares() {
    QVERIFY(Rational(1, 3) < Rational(1, 2));
    QVERIFY(Rational(-1, 3) > Rational(-1, 2));
    // A double cannot tell these two apart.
    QVERIFY(Rational(kMax - 1, kMax) > Rational(kMax - 2, kMax - 1));
    QVERIFY(Rational(kMin, kMax) < Rational(-1));
    QVERIFY(Rational(2, 4) == Rational(1, 2));
  }

  void rationalFloor_data() {
    QTest::addColumn<qint64>("numerator");
    QTest::addColumn<qint64>("denominator");
    QTest::addColumn<qint64>("expected");
    QTest::newRow("positive") << qint64{7} << qint64{2} << qint64{3};
    QTest::newRow("negative") << qint64{-7} << qint64{2} << qint64{-4};
    QTest::newRow("negative whole") << qint64{-8} << qint64{2} << qint64{-4};
    QTest::newRow("zero") << qint64{0} << qint64{2} << qint64{0};
    QTest::newRow("least") << qint64{kMin} << qint64{1} << qint64{kMin};
    QTest::newRow("near minus one") << qint64{-1} << qint64{kMax} << qint64{-1};
  }
  void rationalFloor() {
    QFETCH(qint64, numerator);
    QFETCH(qint64, denominator);
    QTEST(qint64{Rational(numerator, denominator).floor()}, "expected");
  }

  void leastCommonMultiples() {
    QCOMPARE(leastCommonMultiple(4, 6), 12);
    QCOMPARE(leastCommonMultiple(1, kMax), kMax);
    QVERIFY_EXCEPTION_THROWN((void)leastCommonMultiple(kMax, kMax - 1), OverflowError);
    QVERIFY_EXCEPTION_THROWN((void)leastCommonMultiple(0, 0), OverflowError);
    QVERIFY_EXCEPTION_THROWN((void)leastCommonMultiple(-2, 3), OverflowError);
  }

  void bandwidthParse_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* name, const char* text, const char* expected) {
      QTest::newRow(name) << QString(text) << QString(expected);
    };
    row("plain", "25", "25");
    row("decimal", "12.5", "12.5");
    row("fraction", "25/2", "12.5");
    row("fraction without finite decimal", "25/3", "25/3");
    row("exponent", "1e-3", "0.001");
    row("bytes", "50 GB/s", "50");
    row("bits", "400Gb/s", "50");
    row("bits, long spelling", "400 Gbit/s", "50");
    row("bits, bps", "100Gbps", "12.5");
    row("fraction with unit", "25/2 GB/s", "12.5");
    row("mega bytes", "12500 MB/s", "12.5");
    row("mega bits", "200000 Mb/s", "25");
    row("tera bytes", "1.8TB/s", "1800");
    row("tera bits", "1.6Tb/s", "200");
    row("lanes", "12x25 GB/s", "300");
    row("lanes with star", "18 * 50", "900");
    row("surrounding blanks", "\t 25 GB/s ", "25");
    row("zero is read", "0", "0");
    row("negative is read", "-5", "-5");
    row("empty", "", "badInput");
    row("blanks", "  ", "badInput");
    row("word", "fast", "badInput");
    row("unit alone", "GB/s", "badInput");
    row("no such unit", "25 GiB/s", "badInput");
    row("lower-case unit", "25gb/s", "badInput");
    row("two numbers", "25 26", "badInput");
    row("half lanes", "1.5x25", "badInput");
    row("no lanes", "0x25", "badInput");
    row("negative lanes", "-2x25", "badInput");
    row("lanes without rate", "12x", "badInput");
    row("lanes of lanes", "2x3x4", "badInput");
    row("rate over time", "25/s", "badInput");
    row("division by zero", "25/0", "badInput");
    row("nan", "nan", "badInput");
    row("overflow", "1e30", "overflow");
    row("overflow by the unit", "9223372036854775807 TB/s", "overflow");
    row("overflow by the lanes", "9223372036854775807x2", "overflow");
  }
  void bandwidthParse() {
    QFETCH(QString, text);
    QTEST(outcome(Bandwidth::parse(text.toStdString())), "expected");
  }

  void bandwidthMessageOnLanesOnlyAfterANumber() {
    QVERIFY(Bandwidth::parse("1.5x25").error().message.find("lanes") != std::string::npos);
    QVERIFY(Bandwidth::parse("max").error().message.find("lanes") == std::string::npos);
  }

  void bandwidthMessageShowsHostileTextEscaped() {
    const auto result = Bandwidth::parse("\x1b[31m" + std::string(1000, 'x'));
    QVERIFY(!result);
    QVERIFY(result.error().message.find('\x1b') == std::string::npos);
    QVERIFY(result.error().message.size() < 200);
  }

  void commonUnits() {
    QCOMPARE(greatestCommonDivisor(Rational(25, 2), Rational(10)), Rational(5, 2));
    QCOMPARE(greatestCommonDivisor(Rational(0), Rational(7, 3)), Rational(7, 3));
    QVERIFY_EXCEPTION_THROWN((void)greatestCommonDivisor(Rational(1, kMax), Rational(1, kMax - 1)), OverflowError);
    QCOMPARE(commonUnit(std::vector{Bandwidth(300), Bandwidth(25, 2), Bandwidth(10)}), Bandwidth(5, 2));
    QVERIFY(commonUnit(std::vector<Bandwidth>()).isZero());
    std::mt19937 random(3);
    for (int i = 0; i < 500; ++i) {
      std::vector<Bandwidth> all;
      for (int j = 0; j < 4; ++j) {
        all.emplace_back(1 + static_cast<std::int64_t>(random() % 900), 1 + static_cast<std::int64_t>(random() % 12));
      }
      const Bandwidth unit = commonUnit(all);
      std::int64_t together = 0;
      for (const Bandwidth& each : all) {
        QVERIFY((each / unit).isInteger());
        together = std::gcd(together, (each / unit).numerator());
      }
      QCOMPARE(together, 1);  // a larger unit does not divide them all
    }
  }

  void unitsOfQuotients() {
    const Bandwidth rate(25, 2);
    QCOMPARE(rate / Bandwidth(5), Rational(5, 2));
    QCOMPARE(Rational(3) / rate, InverseBandwidth(6, 25));
    QCOMPARE(rate.inverse().inverse(), rate);
    QCOMPARE(Rational(12) / InverseBandwidth(6, 25), Bandwidth(50));
    QCOMPARE(InverseBandwidth(6, 25) * rate, Rational(3));
    QVERIFY_EXCEPTION_THROWN((void)Bandwidth().inverse(), OverflowError);
    // 12.5 GB/s are 12,500 bytes a microsecond.
    QVERIFY(transferTime(Rational(25'000), rate) == ExactMicroseconds(2));
    QCOMPARE(bandwidthOf(Rational(25'000), ExactMicroseconds(2)), rate);
    QCOMPARE(bytesIn(ExactMicroseconds(2), rate), Rational(25'000));
    QVERIFY(Rational(1, 3) * ExactMicroseconds(6) == ExactMicroseconds(2));
    QCOMPARE(Throughput(25'000, Microseconds(2)).gigabytesPerSecond(), 12.5);
    QCOMPARE(Throughput(12.5).bytesPerMicrosecond(), 12'500.0);
  }

  void textsOfBandwidths() {
    QCOMPARE(toExactText(Bandwidth(25, 2)), std::string("12.5"));
    QCOMPARE(toFraction(Bandwidth(25, 2)), std::string("25/2"));
    QCOMPARE(toExactText(Bandwidth(1040, 3)), std::string("1040/3"));
    QCOMPARE(toDecimal(Bandwidth(1040, 3)), std::string("346.67"));
    QCOMPARE(toFraction(InverseBandwidth(3, 65)), std::string("3/65"));
  }

  void decimal_data() {
    QTest::addColumn<qint64>("numerator");
    QTest::addColumn<qint64>("denominator");
    QTest::addColumn<int>("places");
    QTest::addColumn<QString>("expected");
    QTest::newRow("rounds down") << qint64{1040} << qint64{3} << 2 << "346.67";
    QTest::newRow("no trailing zeros") << qint64{5} << qint64{2} << 4 << "2.5";
    QTest::newRow("half away from zero") << qint64{1} << qint64{8} << 2 << "0.13";
    QTest::newRow("negative half") << qint64{-1} << qint64{8} << 2 << "-0.13";
    QTest::newRow("carry into the whole part") << qint64{999} << qint64{1000} << 2 << "1";
    QTest::newRow("carry through nines") << qint64{19999} << qint64{1000} << 2 << "20";
    QTest::newRow("no places") << qint64{5} << qint64{2} << 0 << "3";
    QTest::newRow("rounds to zero without sign") << qint64{-1} << qint64{1000} << 2 << "0";
    QTest::newRow("largest") << qint64{kMax} << qint64{1} << 2 << "9223372036854775807";
    QTest::newRow("least") << qint64{kMin} << qint64{1} << 2 << "-9223372036854775808";
    QTest::newRow("tiny") << qint64{1} << qint64{kMax} << 20 << "0.00000000000000000011";
  }
  void decimal() {
    QFETCH(qint64, numerator);
    QFETCH(qint64, denominator);
    QFETCH(int, places);
    QTEST(toQString(toDecimal(Rational(numerator, denominator), places)), "expected");
  }

  void checkedArithmetic() {
    QCOMPARE(checkedAdd<std::int64_t>(kMax - 1, 1), kMax);
    QVERIFY_EXCEPTION_THROWN((void)checkedAdd<std::int64_t>(kMax, 1), OverflowError);
    QCOMPARE(checkedSub<std::int64_t>(kMin + 1, 1), kMin);
    QVERIFY_EXCEPTION_THROWN((void)checkedSub<std::int64_t>(kMin, 1), OverflowError);
    QCOMPARE(checkedMul<std::int64_t>(kMax / 3, 3), kMax - kMax % 3);
    QVERIFY_EXCEPTION_THROWN((void)checkedMul<std::int64_t>(kMax / 2 + 1, 2), OverflowError);
    QVERIFY_EXCEPTION_THROWN((void)checkedMul<std::int64_t>(kMin, -1), OverflowError);
    QCOMPARE(narrow64(Int128{kMin}), kMin);
    QVERIFY_EXCEPTION_THROWN((void)narrow64(Int128{kMax} + 1), OverflowError);
    QVERIFY_EXCEPTION_THROWN((void)narrow64(Int128{kMin} - 1), OverflowError);
  }

  void collectives() {
    for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                        Collective::broadcast, Collective::reduce}) {
      QVERIFY(parseCollective(toString(collective)) == collective);
    }
    QVERIFY(parseCollective("reducescatter") == Collective::reduceScatter);
    QVERIFY(parseCollective("reduce-scatter") == Collective::reduceScatter);
    QVERIFY(parseCollective("ReduceScatter") == Collective::reduceScatter);
    QVERIFY(parseCollective("all_gather") == Collective::allgather);
    QVERIFY(parseCollective("AllReduce") == Collective::allreduce);
    QVERIFY(parseCollective("all-to-all") == Collective::alltoall);
    QVERIFY(parseCollective("alltoall") == Collective::alltoall);
    QVERIFY(!parseForestCollective("alltoall"));
    QVERIFY(!parseCollective("alltoallv"));
    QVERIFY(!parseCollective(""));
  }

  void quoting_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("expected");
    QTest::newRow("plain") << QByteArray("gpu 0") << QByteArray("\"gpu 0\"");
    QTest::newRow("empty") << QByteArray("") << QByteArray("\"\"");
    QTest::newRow("quote and backslash") << QByteArray("a\"b\\") << QByteArray("\"a\\\"b\\\\\"");
    QTest::newRow("escape sequence") << QByteArray("\x1b[1m") << QByteArray("\"\\x1b[1m\"");
    QTest::newRow("zero byte") << QByteArray("a\0b", 3) << QByteArray("\"a\\x00b\"");
    QTest::newRow("C1 control") << QByteArray("\xc2\x85") << QByteArray("\"\\xc2\\x85\"");
    QTest::newRow("umlaut") << QByteArray("\xc3\xa4") << QByteArray("\"\xc3\xa4\"");
    QTest::newRow("four bytes") << QByteArray("\xf0\x9f\x98\x80") << QByteArray("\"\xf0\x9f\x98\x80\"");
    QTest::newRow("overlong form") << QByteArray("\xc0\x80") << QByteArray("\"\\xc0\\x80\"");
    QTest::newRow("surrogate") << QByteArray("\xed\xa0\x80") << QByteArray("\"\\xed\\xa0\\x80\"");
    QTest::newRow("cut sequence") << QByteArray("\xe2\x82") << QByteArray("\"\\xe2\\x82\"");
    QTest::newRow("long") << QByteArray(100, 'x') << "\"" + QByteArray(64, 'x') + "\"...";
  }
  void quoting() {
    QFETCH(QByteArray, text);
    QTEST(QByteArray::fromStdString(inQuotes(text.toStdString())), "expected");
  }

  void names_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("expected");
    QTest::newRow("plain") << QByteArray("DGX \"A100\" \\ \xc3\xa4") << QByteArray("DGX \"A100\" \\ \xc3\xa4");
    QTest::newRow("line end") << QByteArray("a\n  busbw 9") << QByteArray("a\\n  busbw 9");
    QTest::newRow("escape sequence") << QByteArray("\x1b[1m\r\t") << QByteArray("\\x1b[1m\\x0d\\x09");
    QTest::newRow("C1 control") << QByteArray(
                                       "a\xc2\x9b"
                                       "b")
                                << QByteArray(
                                       "a\\x9b"
                                       "b");
    QTest::newRow("long") << QByteArray(100, 'x') << QByteArray(100, 'x');
  }
  void names() {
    QFETCH(QByteArray, text);
    QTEST(QByteArray::fromStdString(oneLine(text.toStdString())), "expected");
  }

  void elements_data() {
    QTest::addColumn<ElementRef>("element");
    QTest::addColumn<QString>("text");
    const auto row = [](ElementRef element, const char* text) {
      QTest::newRow(text) << std::move(element) << QString(text);
    };
    row({}, "");
    row({RefKind::field, "nodes[3].kind"}, "nodes[3].kind");
    row({RefKind::key, "nnodes"}, R"(key "nnodes")");
    row({RefKind::option, "--nodes"}, "--nodes");
    row({RefKind::node, "g0", 7}, R"(node "g0")");
    row({RefKind::node, "", 7}, "node 7");
    row({RefKind::node, "a\nb"}, R"(node "a\x0ab")");
    row(ElementPart{RefKind::link, 3, "a", "b"}, R"(link 3 "a" -> "b")");
    row(ElementPart{RefKind::link, -1, "a", "b"}, R"(link "a" -> "b")");
    row(ElementPart{RefKind::link, 3, "a", ""}, R"(link 3 "a" -> "")");
    row({RefKind::link, 3}, "link 3");
    row(ElementRef(RefKind::rank, 2).with({RefKind::threadblock, 0}).with({RefKind::step, 5}),
        "rank 2, threadblock 0, step 5");
    row(ElementRef({RefKind::tree, "g0", 3}).with(ElementPart{RefKind::edge, -1, "a", "b"}),
        R"(tree 3 (root "g0"), edge "a" -> "b")");
  }
  void elements() {
    QFETCH(ElementRef, element);
    QTEST(toQString(toText(element)), "text");
  }
  void kindsOfElements() {
    for (int kind = 0; kind <= static_cast<int>(RefKind::arc); ++kind) {
      QCOMPARE(refKindNamed(toString(static_cast<RefKind>(kind))), std::optional(static_cast<RefKind>(kind)));
    }
    QVERIFY(!refKindNamed("Node"));
    const ElementRef step = ElementRef(RefKind::rank, 2).with({RefKind::step, 5});
    QVERIFY(step.as(RefKind::step) != nullptr && step.as(RefKind::step)->index == 5);
    QVERIFY(step.as(RefKind::rank) == nullptr && ElementRef().as(RefKind::field) == nullptr);
  }

  void describesErrorsOnOneLine() {
    QCOMPARE(toQString(describe(
                 Error{ErrorCode::badInput, "wrong", "fix it", {"a.json", 3, 7, {RefKind::field, "nodes[1]"}}})),
             QString("a.json:3:7: nodes[1]: wrong; fix it"));
    QCOMPARE(toQString(describe(Error{ErrorCode::badInput, "wrong"})), QString("wrong"));
    QCOMPARE(toQString(describe(
                 Finding{Severity::warning, ErrorCode::unbalanced, "odd", "", {.element = {RefKind::node, "a"}}})),
             QString("warning: node \"a\": odd"));
    QVERIFY(!hasErrors({Finding{Severity::warning, ErrorCode::unbalanced, "odd"}}));
    QVERIFY(hasErrors(
        {Finding{Severity::note, ErrorCode::badInput, "a"}, Finding{Severity::error, ErrorCode::badInput, "b"}}));
  }

  // ---- programs beside us

  void captures_data() {
    QTest::addColumn<QByteArray>("script");
    QTest::addColumn<int>("status");
    QTest::addColumn<QByteArray>("output");
    QTest::addColumn<QByteArray>("errors");
    QTest::newRow("its input comes back") << QByteArray("cat") << 0 << QByteArray("hello") << QByteArray();
    QTest::newRow("its input is not read") << QByteArray("exit 3") << 3 << QByteArray() << QByteArray();
    QTest::newRow("errors are apart") << QByteArray("echo out; echo err >&2") << 0 << QByteArray("out\n")
                                      << QByteArray("err\n");
    QTest::newRow("killed by a signal") << QByteArray("kill -9 $$") << 137 << QByteArray() << QByteArray();
    QTest::newRow("much of both") << QByteArray("i=0; while [ $i -lt 3000 ]; do echo 0123456789; i=$((i+1)); done") << 0
                                  << QByteArray("0123456789\n").repeated(3000) << QByteArray();
  }
  void captures() {
    QFETCH(QByteArray, script);
    const auto said = capture({"sh", "-c", script.toStdString()}, "hello", {}, {std::chrono::minutes(2)});
    QVERIFY(static_cast<bool>(said));
    QVERIFY(!said->isTimedOut);
    QTEST(said->status, "status");
    QTEST(QByteArray::fromStdString(said->output), "output");
    QTEST(QByteArray::fromStdString(said->errors), "errors");
  }
  void programsThatAreNotThere() {
    const auto said = capture({"no-such-program-of-ours"}, {}, {}, {std::chrono::minutes(2)});
    QVERIFY(!said);
    QVERIFY(said.error().code == ErrorCode::unavailable);
    QCOMPARE(findProgram("/"), std::string());
    QVERIFY(findProgram("sh").ends_with("/sh"));
  }
  /// The limit ends it, and all that it started; the slow child is named once before.
  void programsThatHang() {
    int notices = 0;
    const auto made = TemporaryFolder::make();
    QVERIFY(static_cast<bool>(made));
    const TemporaryFolder& folder = *made;
    const std::string mark = folder.file("pid").string();
    QFile file(QString::fromStdString(mark));
    // A slow machine gets more time to start it.
    for (std::chrono::milliseconds limit(200); file.size() == 0 && limit < std::chrono::minutes(1); limit *= 2) {
      notices = 0;
      const auto said = capture({"sh", "-c", "sleep 3600 & echo $! >" + mark + "; wait"}, {}, {},
                                {limit, std::chrono::milliseconds(1), [&] { ++notices; }});
      QVERIFY(static_cast<bool>(said));
      QVERIFY(said->isTimedOut);
      QCOMPARE(notices, 1);
    }
    QVERIFY(file.open(QIODevice::ReadOnly));
    const int pid = file.readAll().trimmed().toInt();
    QVERIFY(pid > 0);
    QTRY_VERIFY_WITH_TIMEOUT(test::isGone(pid), 60'000);
  }
  void programsThatAreStopped() {
    std::stop_source stop;
    std::jthread other([&] { stop.request_stop(); });
    const auto said = capture({"sleep", "3600"}, {}, stop.get_token(), {std::chrono::hours(1)});
    QVERIFY(!said);
    QVERIFY(said.error().code == ErrorCode::cancelled);
  }
  void wakes() {
    auto child = Child::start({"sleep", "3600"});
    QVERIFY(static_cast<bool>(child));
    child->wake();
    QVERIFY(!child->waitFor(std::chrono::hours(1)));
    QVERIFY(!child->waitFor(std::chrono::milliseconds(0)));
    child->signal(SIGTERM);
    QVERIFY(child->waitFor(std::chrono::hours(1)));
    QCOMPARE(child->wait(), 128 + SIGTERM);
  }
  void filesOfPrograms() {
    const auto made = TemporaryFolder::make();
    QVERIFY(static_cast<bool>(made));
    const TemporaryFolder& folder = *made;
    ChildOptions options;
    options.inputFile = "/dev/null";
    options.outputFile = options.errorsFile = folder.file("log").string();
    auto child = Child::start({"sh", "-c", "cat; echo one; echo two >&2"}, options);
    QVERIFY(static_cast<bool>(child));
    QCOMPARE(child->wait(), 0);
    QFile file(QString::fromStdString(options.outputFile));
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll(), QByteArray("one\ntwo\n"));
    options.inputFile = folder.file("absent").string();
    QVERIFY(!Child::start({"cat"}, options));
  }

  void formattedTexts() {
    QCOMPARE(formatted("%.2f", 346.666), std::string("346.67"));
    QCOMPARE(formatted("%d of %d", 3, 4), std::string("3 of 4"));
    const std::string longest(300, 'x');
    QCOMPARE(formatted("%s", longest.c_str()), std::string(255, 'x'));
    QCOMPARE(withPlaces(2.346, 2), std::string("2.35"));
  }

  void naturalOrder() {
    std::vector<std::string> names = {"mlx5_10", "gpu2",    "mlx5_2", "gpu",  "eth0",
                                      "mlx5_1",  "mlx5_01", "gpu10",  "gpu2a"};
    std::sort(names.begin(), names.end(), naturalLess);
    QCOMPARE(names, (std::vector<std::string>{"eth0", "gpu", "gpu2", "gpu2a", "gpu10", "mlx5_01", "mlx5_1", "mlx5_2",
                                              "mlx5_10"}));
  }

  void temporaryFolders() {
    std::filesystem::path path;
    {
      auto made = TemporaryFolder::make();
      QVERIFY(static_cast<bool>(made));
      const TemporaryFolder folder = std::move(*made);
      path = folder.path();
      QCOMPARE(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
      std::filesystem::create_directories(folder.file("a") / "b");
    }
    QVERIFY(!std::filesystem::exists(path));
    const auto again = TemporaryFolder::make();
    TemporaryFolder::removeAll();
    QVERIFY(!std::filesystem::exists(again->path()));
    QVERIFY(!TemporaryFolder::make("/no/such/folder"));
  }

  void rows() {
    struct Item {
      int row = 0;
      char name = ' ';
    };
    const std::vector<Item> items{{2, 'a'}, {0, 'b'}, {2, 'c'}, {3, 'd'}, {2, 'e'}};
    const auto listAll = [&](const auto& add) {
      for (const Item& item : items) {
        add(item.row, item.name);
      }
    };
    Rows<char> table(5, listAll);
    QCOMPARE(table.rowCount(), 5U);
    const auto text = [&](std::size_t row) { return std::string(table[row].begin(), table[row].end()); };
    QCOMPARE(text(0), "b");
    QCOMPARE(text(1), "");
    QCOMPARE(text(2), "ace");
    QCOMPARE(text(3), "d");
    QCOMPARE(text(4), "");
    QCOMPARE(table.start(3), 4U);
    QCOMPARE(table.start(5), table.entries().size());
    table[2][1] = 'x';
    QCOMPARE(text(2), "axe");
    table.assign(1, [](const auto& add) { add(0, 'z'); });
    QCOMPARE(table.rowCount(), 1U);
    QCOMPARE(text(0), "z");
    QCOMPARE(Rows<char>().rowCount(), 0U);
    const Rows<int> numbers = numbersByRow<int>(4, items, &Item::row);
    QVERIFY(std::ranges::equal(numbers[2], std::vector{0, 2, 4}));
    QCOMPARE(rowStarts(4, items, &Item::row), (std::vector<std::int32_t>{0, 1, 1, 4, 5}));
  }
};

QTEST_GUILESS_MAIN(TestBase)
#include "tst_base.moc"
