// SPDX-License-Identifier: Apache-2.0
#include <QDir>
#include <QTemporaryDir>
#include <QtTest>
#include <functional>
#include <sstream>

#include "io/fabric_json.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "schedule/expansion.hpp"
#include "support/rotated_clusters.hpp"
#include "support/sample_schedules.hpp"
#include "verify/schedule_verifier.hpp"

using namespace coppice;
using samples::Sample;

namespace {

using Make = std::function<Sample()>;

std::string textOf(const Sample& sample, const fabric::Description* description = nullptr) {
  std::ostringstream out;
  const auto outcome = io::writeForestJson(out, sample.schedule, sample.fabric, description);
  if (!outcome) {
    throw std::runtime_error(describe(outcome.error()));
  }
  return out.str();
}

/// Replaces the first occurrence; the text must be there.
std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) {
    throw std::runtime_error("not in the text: " + what);
  }
  return text.replace(at, what.size(), with);
}

}  // namespace

Q_DECLARE_METATYPE(Make)

class TestForestFiles : public QObject {
  Q_OBJECT

private:
  void addSamples() {
    QTest::addColumn<Make>("make");
    QTest::newRow("two GPUs") << Make(samples::twoGpus);
    QTest::newRow("ring") << Make(samples::ring);
    QTest::newRow("pruned star") << Make(samples::prunedStar);
    QTest::newRow("reduce-scatter") << Make([] { return samples::reduceScattered(samples::prunedStar()); });
    QTest::newRow("allreduce") << Make([] {
      Sample sample = samples::allreduced(samples::star());
      sample.schedule.allreduceBound = Bandwidth(15, 2);
      sample.schedule.fixedK = 1;
      return sample;
    });
    QTest::newRow("halves that overlap") << Make([] {
      Sample sample = samples::allreduced(samples::prunedStar());
      sample.schedule.overlapped = true;
      sample.schedule.allreduceBound = sample.schedule.bound;
      return sample;
    });
    QTest::newRow("own copies") << Make([] {
      Sample sample = samples::prunedStar();
      sample.schedule.ownCopies = true;
      return sample;
    });
    QTest::newRow("rotations") << Make([] { return samples::RegularCluster{1, 3, 2}.sample(); });
    QTest::newRow("rotations of pods") << Make([] { return samples::RegularCluster{2, 2, 2}.sample(); });
    QTest::newRow("reduce-scatter with rotations") << Make([] {
      return samples::reduceScattered(samples::RegularCluster{2, 2, 2}.sample());
    });
    QTest::newRow("allreduce with rotations") << Make([] {
      return samples::allreduced(samples::RegularCluster{1, 3, 2}.sample());
    });
    QTest::newRow("half with rotations") << Make([] {
      Sample sample = samples::allreduced(samples::RegularCluster{1, 3, 2}.sample());
      sample.schedule.reduceForest = schedule::expanded(*sample.schedule.reduceForest, sample.fabric).value();
      return sample;
    });
    QTest::newRow("broadcast") << Make(samples::broadcastStar);
    QTest::newRow("uneven") << Make(samples::unevenStar);
    QTest::newRow("one-sided") << Make(samples::oneSidedAllreduce);
    QTest::newRow("odd names") << Make([] {
      Sample sample = samples::twoGpus();
      sample.description.name = "a \"b\"\\ \xc3\xa9";
      sample.description.nodes[0].id = "(0, 'GPU', 0)";
      sample.description.links[0].src = "(0, 'GPU', 0)";
      sample.description.links[0].bandwidth = "1000000007/998244353";
      sample.fabric = samples::buildFabric(sample.description);
      sample.schedule.fabricName = sample.description.name;
      sample.schedule.fabricDigest = sample.fabric.digest();
      return sample;
    });
    QTest::newRow("empty shell") << Make([] {
      Sample sample = samples::twoGpus();
      sample.schedule.broadcastForest->trees.clear();
      sample.schedule.broadcastForest->edges.clear();
      sample.schedule.broadcastForest->paths = {};
      sample.schedule.bottlenecks.clear();
      return sample;
    });
  }

private slots:
  void roundTrips_data() { addSamples(); }
  void roundTrips() {
    QFETCH(Make, make);
    const Sample sample = make();
    const std::string text = textOf(sample);
    const auto read = io::readForestJson(text, sample.fabric);
    QVERIFY2(read.hasValue(), read ? "" : describe(read.error()).c_str());
    QVERIFY(*read == sample.schedule);

    const auto loaded = io::loadForest(text);
    QVERIFY2(loaded.hasValue(), loaded ? "" : describe(loaded.error()).c_str());
    QVERIFY(loaded->schedule == sample.schedule);
    QCOMPARE(loaded->fabric.digest(), sample.fabric.digest());
    QCOMPARE(loaded->fabric.name(), sample.fabric.name());
    std::ostringstream again;
    QVERIFY(io::writeForestJson(again, loaded->schedule, loaded->fabric, &loaded->description).hasValue());
    QVERIFY2(again.str() == text, "writing what was read gives the same bytes");
  }

  void saysHowItWasMade() {
    const Sample sample = samples::star();
    io::Origin origin{"forestcoll", {{"max-height", "6"}, {"note", "a \"b\"\n<b>\xc3\xa9"}, {"prune", "true"}}};
    const auto write = [&](const io::Origin& what) {
      std::ostringstream out;
      return io::writeForestJson(out, sample.schedule, sample.fabric, nullptr, {}, what) ? out.str() : std::string();
    };
    const std::string text = write(origin);
    const auto loaded = io::loadForest(text);
    QVERIFY2(loaded.hasValue(), loaded ? "" : describe(loaded.error()).c_str());
    QVERIFY(loaded->origin == origin);
    QVERIFY(loaded->schedule == sample.schedule);
    QCOMPARE(write(loaded->origin), text);
    // What no reader takes is left out.
    io::Origin wide = origin;
    wide.options["sketch"] = std::string(io::kMaxOriginValue + 1, 'x');
    wide.options[std::string(io::kMaxOriginName + 1, 'n')] = "1";
    QCOMPARE(write(wide), text);
    QVERIFY(write({}).find("made_by") == std::string::npos);
    QVERIFY(io::loadForest(write({}))->origin == io::Origin());
  }

  void refusesOrigins_data() {
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QString>("element");
    const auto row = [](const char* name, const QByteArray& value, const char* element) {
      QTest::newRow(name) << QByteArray(value).replace('\'', '"') << QString(element);
    };
    row("no object", "'forestcoll'", "made_by");
    row("no method", "{}", "made_by.method");
    row("empty method", "{'method': ''}", "made_by.method");
    row("long method", "{'method': '" + QByteArray(65, 'm') + "'}", "made_by.method");
    row("list", "{'method': 'm', 'options': ['k']}", "made_by.options");
    row("number", "{'method': 'm', 'options': {'k': 4}}", "made_by.options");
    row("long value", "{'method': 'm', 'options': {'k': '" + QByteArray((1 << 20) + 1, 'v') + "'}}", "made_by.options");
    QByteArray many;
    for (int i = 0; i < 65; ++i) {
      many += (i == 0 ? "'" : ", '") + QByteArray::number(i) + "': ''";
    }
    row("many", "{'method': 'm', 'options': {" + many + "}}", "made_by.options");
  }

  void refusesOrigins() {
    QFETCH(QByteArray, value);
    QFETCH(QString, element);
    const std::string text =
        replaced(textOf(samples::star()), "\"algbw\"", "\"made_by\": " + value.toStdString() + ", \"algbw\"");
    const auto loaded = io::loadForest(text, "s.forest.json");
    QVERIFY(!loaded.hasValue());
    QCOMPARE(QString::fromStdString(toText(loaded.error().where.element)), element);
    QVERIFY(loaded.error().where.line > 0);
    QVERIFY(describe(loaded.error()).size() < 300);
  }

  void embedsTheDescription() {
    const Sample sample = samples::star();
    fabric::Description description = sample.description;
    description.nodes[0].position = fabric::Position{.x = 3, .y = 4.5};
    description.links[1].extra = R"({"cable":"red"})";
    const auto loaded = io::loadForest(textOf(sample, &description));
    QVERIFY2(loaded.hasValue(), loaded ? "" : describe(loaded.error()).c_str());
    QVERIFY(loaded->description == description);

    description.links[1].bandwidth = "11";
    std::ostringstream out;
    const auto refused = io::writeForestJson(out, sample.schedule, sample.fabric, &description);
    QVERIFY(!refused.hasValue());
    QCOMPARE(refused.error().code, ErrorCode::badUsage);
  }

  void keepsFactsOfTheFabric() {
    fabric::Description description = samples::describeFabric(
        "facts", {"a", "b", "c"}, {"s"},
        {{"a", "s", "12.5"}, {"b", "s", "100/3"}, {"c", "s", "7", false}, {"s", "c", "9", false}, {"a", "s", "0.5"}},
        true);
    description.nodes[0].rank = 2;
    description.nodes[1].rank = 0;
    description.nodes[2].rank = 1;
    description.nodes[1].box = "outer/inner";
    description.links[0].latency = "1.5";
    Sample sample = samples::twoGpus();
    sample.fabric = samples::buildFabric(description);
    sample.schedule = {};
    sample.schedule.fabricDigest = sample.fabric.digest();
    const auto loaded = io::loadForest(textOf(sample));
    QVERIFY2(loaded.hasValue(), loaded ? "" : describe(loaded.error()).c_str());
    QCOMPARE(loaded->fabric.digest(), sample.fabric.digest());
    QCOMPARE(loaded->fabric.nodes()[1].box, "outer/inner");
    QCOMPARE(loaded->fabric.arcs().size(), sample.fabric.arcs().size());
    for (std::size_t i = 0; i < sample.fabric.arcs().size(); ++i) {
      QVERIFY(loaded->fabric.arcs()[i].bandwidth == sample.fabric.arcs()[i].bandwidth);
      QVERIFY(loaded->fabric.arcs()[i].latency == sample.fabric.arcs()[i].latency);
    }
  }

  void matchesNodesById() {
    // The same star with its nodes stated in another order; ranks stay.
    const Sample sample = samples::star();
    fabric::Description shuffled = sample.description;
    for (int rank = 0; rank < 3; ++rank) {
      shuffled.nodes[rank].rank = rank;
    }
    std::swap(shuffled.nodes[0], shuffled.nodes[3]);
    std::swap(shuffled.nodes[1], shuffled.nodes[2]);
    const fabric::Fabric other = samples::buildFabric(shuffled);
    QCOMPARE(other.digest(), sample.fabric.digest());
    const auto read = io::readForestJson(textOf(sample), other);
    QVERIFY2(read.hasValue(), read ? "" : describe(read.error()).c_str());
    QVERIFY(!(*read == sample.schedule));
    const auto verdict = verify::verifySchedule(other, *read);
    QVERIFY(verdict.hasValue() && verdict->ok && verdict->boundProved);
  }

  void refuses_data() {
    QTest::addColumn<QString>("what");
    QTest::addColumn<QString>("with");
    QTest::addColumn<QString>("message");
    QTest::addColumn<QString>("element");
    const auto row = [](const char* name, const char* what, const char* with, const char* message,
                        const char* element) {
      QTest::newRow(name) << QString(what) << QString(with) << QString(message) << QString(element);
    };
    row("format", "\"coppice-forest\"", "\"forest\"", "the format is \"forest\"", "format");
    row("version", "\"version\": 1", "\"version\": 2", "version 2", "version");
    row("version text", "\"version\": 1", "\"version\": \"1\"", "cannot be a string", "version");
    row("collective", "\"allgather\"", "\"scatter\"", "\"scatter\" is not a collective", "collective");
    row("unknown key", "\"algbw\"", "\"albgw\"", "the key \"albgw\" is not part of the format", "");
    row("another file", "\"format\": \"coppice-forest\",", "\"name\": \"x\",", "this is not a forest file", "");
    row("key of another place", "\"algbw\": \"15\"", "\"scale\": \"15\"", "not part of the format", "");
    row("key twice", "\"bound\": \"15\"", "\"algbw\": \"15\"", "\"algbw\" appears twice", "");
    row("key missing", "\"bound\": \"15\",", "", "the key \"bound\" is missing", "");
    row("forest key missing", "\"scale\": \"1/5\",", "", "the key \"scale\" is missing", "broadcast_forest");
    row("tree key missing", "\"multiplicity\": 1, ", "", "the key \"multiplicity\" is missing",
        "broadcast_forest.trees[0]");
    row("bad fraction", "\"bound\": \"15\"", "\"bound\": \"1/0\"", "not a number", "bound");
    row("text for a flag", "\"algbw\"", "\"overlapped\": \"true\", \"algbw\"", "cannot be a string", "overlapped");
    row("number for a flag", "\"algbw\"", "\"own_copies\": 1, \"algbw\"", "cannot be a number", "own_copies");
    row("null for a flag", "\"algbw\"", "\"own_copies\": null, \"algbw\"", "cannot be null", "own_copies");
    row("number for a fraction", "\"bound\": \"15\"", "\"bound\": 15", "cannot be a number", "bound");
    row("huge fraction", "\"bound\": \"15\"", "\"bound\": \"99999999999999999999\"", "64-bit", "bound");
    row("float", "\"demand\": 2", "\"demand\": 2.5", "not a 64-bit integer", "bottlenecks[0].demand");
    row("huge integer", "\"demand\": 2", "\"demand\": 18446744073709551615", "not a 64-bit integer",
        "bottlenecks[0].demand");
    row("null", "\"demand\": 2", "\"demand\": null", "cannot be null", "bottlenecks[0].demand");
    row("digest", "\"digest\": \"", "\"digest\": \"f", "made for the fabric", "");
    row("node table short", "[\"g0\", ", "[", "names 3 nodes, the fabric has 4", "nodes");
    row("node twice", "[\"g0\", ", "[\"g1\", ", "\"g1\" appears twice", "nodes[1]");
    row("strange node", "[\"g0\", ", "[\"h0\", ", "\"h0\" is not in the fabric", "nodes[0]");
    row("ranks swapped", "\"gpus\": [0, 1, 2]", "\"gpus\": [1, 0, 2]", "not the GPU of this rank", "gpus[0]");
    row("ranks short", "\"gpus\": [0, 1, 2]", "\"gpus\": [0, 1]", "names 2 GPUs", "gpus");
    row("rank node outside", "\"gpus\": [0, 1, 2]", "\"gpus\": [0, 1, 9]", "node 9 is not in the table", "gpus[2]");
    row("cut node outside", "{\"nodes\": [0, 1, 3]", "{\"nodes\": [0, 1, -3]", "node -3", "bottlenecks[0].nodes[2]");
    row("route node outside", "[0, 3, 1]", "[0, 30, 1]", "node 30", "broadcast_forest.paths[0]");
    row("route node negative", "[0, 3, 1]", "[0, -3, 1]", "out of range", "broadcast_forest.paths[0]");
    row("route too short", "[0, 3, 1]", "[0]", "fewer than two nodes", "broadcast_forest.paths[0]");
    row("edge too short", "[[0, 1, 0]", "[[0, 1]", "2 numbers", "broadcast_forest.trees[0].edges[0]");
    row("edge too long", "[[0, 1, 0]", "[[0, 1, 0, 0, 0]", "5 numbers", "broadcast_forest.trees[0].edges[0]");
    row("edge rank", "[[0, 1, 0]", "[[0, 3, 0]", "rank 3", "broadcast_forest.trees[0].edges[0]");
    row("edge rank huge", "[[0, 1, 0]", "[[0, 4294967296, 0]", "out of range", "broadcast_forest.trees[0].edges[0]");
    row("edge path", "[[0, 1, 0]", "[[0, 1, 6]", "path 6 is not among the 6", "broadcast_forest.trees[0].edges[0]");
    row("edge pruned", "[[0, 1, 0]", "[[0, 1, 0, 2]", "prunes 2 hops", "broadcast_forest.trees[0].edges[0]");
    row("edge missing", "[[0, 1, 0], ", "[", "has 1 edges", "broadcast_forest.trees[0]");
    row("edge is text", "[[0, 1, 0]", "[[0, 1, \"0\"]", "not a row of whole numbers",
        "broadcast_forest.trees[0].edges[0]");
    row("root outside", "\"root\": 2", "\"root\": 3", "rank 3", "broadcast_forest.trees[2].root");
    row("trees of root", "\"trees_of_root\": [1, 1, 1]", "\"trees_of_root\": [1, 1]", "2 entries for 3",
        "broadcast_forest.trees_of_root");
    row("forest is a list", "\"broadcast_forest\": {", "\"reduce_forest\": [], \"broadcast_forest\": {",
        "cannot be an array", "reduce_forest");
    row("schedule root", "\"algbw\"", "\"root\": 5, \"algbw\"", "rank 5 is not in the fabric", "root");
    row("amounts", "\"algbw\"", "\"amounts\": [1], \"algbw\"", "1 entries for 3", "amounts");
    row("cut off", "\"trees\": [", "\"trees\": [\x01", "not valid JSON", "");
  }

  void refuses() {
    QFETCH(QString, what);
    QFETCH(QString, with);
    QFETCH(QString, message);
    QFETCH(QString, element);
    const Sample sample = samples::star();
    const std::string text = replaced(textOf(sample), what.toStdString(), with.toStdString());
    const auto read = io::readForestJson(text, sample.fabric, "s.forest.json");
    QVERIFY(!read.hasValue());
    const QString shown = QString::fromStdString(describe(read.error()));
    QVERIFY2(shown.contains(message), qPrintable(shown));
    QCOMPARE(read.error().where.file, "s.forest.json");
    if (!element.isEmpty()) {
      QCOMPARE(QString::fromStdString(toText(read.error().where.element)), element);
    }
  }

  void refusesRotations_data() {
    QTest::addColumn<QString>("with");
    QTest::addColumn<QString>("message");
    QTest::addColumn<QString>("element");
    const auto row = [](const char* name, const char* with, const char* message, const char* element) {
      QTest::newRow(name) << QString(with) << QString(message) << QString(element);
    };
    // Three boxes of two GPUs: [[1, 2], [2, 3]].
    row("no list", "{}", "cannot be an object", "broadcast_forest.rotations");
    row("number", "[[1, 2], 3]", "cannot be a number", "broadcast_forest.rotations[1]");
    row("short", "[[1, 2], [2]]", "is not a rotation", "broadcast_forest.rotations[1]");
    row("long", "[[1, 2], [2, 3, 1]]", "is not a rotation", "broadcast_forest.rotations[1]");
    row("negative", "[[1, 2], [-2, 3]]", "is not a rotation", "broadcast_forest.rotations[1]");
    row("huge", "[[1, 2], [2, 4294967298]]", "is not a rotation", "broadcast_forest.rotations[1]");
    row("no symmetry", "[[1, 3], [3, 2]]", "no symmetry with step 1 and count 3", "broadcast_forest.rotations[0]");
    row("too few", "[[1, 2]]", "multiply to less", "broadcast_forest.rotations");
    row("too many", "[[1, 2], [2, 3], [2, 3]]", "its step must be 6", "broadcast_forest.rotations");
  }

  void refusesRotations() {
    QFETCH(QString, with);
    QFETCH(QString, message);
    QFETCH(QString, element);
    const Sample sample = samples::RegularCluster{1, 3, 2}.sample();
    const std::string text = replaced(textOf(sample), "[[1, 2], [2, 3]]", with.toStdString());
    const auto read = io::readForestJson(text, sample.fabric, "s.forest.json");
    QVERIFY(!read.hasValue());
    const QString shown = QString::fromStdString(describe(read.error()));
    QVERIFY2(shown.contains(message), qPrintable(shown));
    QCOMPARE(QString::fromStdString(toText(read.error().where.element)), element);
    QVERIFY(read.error().where.line > 0);
  }

  void rotationsNeedTreesOfRankZero() {
    const Sample sample = samples::RegularCluster{1, 3, 2}.sample();
    const auto read = io::loadForest(replaced(textOf(sample), "{\"root\": 0", "{\"root\": 1"));
    QVERIFY(!read.hasValue());
    QVERIFY2(read.error().message.find("not rooted at rank 0") != std::string::npos, read.error().message.c_str());
  }

  void rotationsAreMatchedById() {
    const Sample sample = samples::RegularCluster{2, 2, 2}.sample();
    fabric::Description shuffled = sample.description;
    for (int rank = 0; rank < 8; ++rank) {
      shuffled.nodes[rank].rank = rank;
    }
    std::reverse(shuffled.nodes.begin(), shuffled.nodes.end());
    const fabric::Fabric other = samples::buildFabric(shuffled);
    const auto read = io::readForestJson(textOf(sample), other);
    QVERIFY2(read.hasValue(), read ? "" : describe(read.error()).c_str());
    const auto verdict = verify::verifySchedule(other, *read);
    QVERIFY(verdict.hasValue() && verdict->ok && verdict->boundProved);
  }

  void brokenRotationsAreNotWritten() {
    Sample sample = samples::RegularCluster{1, 3, 2}.sample();
    sample.schedule.broadcastForest->rotations[0].image[3] = 0;
    std::ostringstream out;
    const auto outcome = io::writeForestJson(out, sample.schedule, sample.fabric);
    QVERIFY(!outcome && outcome.error().code == ErrorCode::internal);
    QVERIFY(out.str().empty());
  }

  void digestMismatchNamesBoth() {
    const Sample star = samples::star();
    const Sample other = samples::prunedStar();
    const auto read = io::readForestJson(textOf(star), other.fabric);
    QVERIFY(!read.hasValue());
    QCOMPARE(read.error().code, ErrorCode::verification);
    QVERIFY(read.error().message.find(star.fabric.digest()) != std::string::npos);
    QVERIFY(read.error().message.find(other.fabric.digest()) != std::string::npos);
  }

  void everyTruncationIsRefused() {
    const Sample sample = samples::prunedStar();
    const std::string text = textOf(sample);
    for (std::size_t length = 0; length + 2 < text.size(); ++length) {
      const auto read = io::loadForest(text.substr(0, length));
      QVERIFY2(!read.hasValue(), qPrintable(QString::number(length)));
    }
  }

  void hostileTexts_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("deep arrays") << QByteArray(1 << 20, '[');
    QTest::newRow("deep fabric") << "{\"fabric\":" + QByteArray("{\"a\":").repeated(1 << 18);
    QTest::newRow("deep edges") << "{\"broadcast_forest\":{\"paths\":" + QByteArray(1 << 20, '[');
    QTest::newRow("number") << QByteArray("17");
    QTest::newRow("text") << QByteArray("\"x\"");
    QTest::newRow("empty object") << QByteArray("{}");
    QTest::newRow("blank") << QByteArray(" \n ");
    QTest::newRow("not UTF-8") << QByteArray("{\"format\": \"\xff\xfe\"}");
    QTest::newRow("huge number") << QByteArray("{\"version\": 1e999}");
    QTest::newRow("XML") << QByteArray("<algo/>");
    QTest::newRow("fabric") << QByteArray("{\"nodes\": [], \"links\": []}");
  }

  void hostileTexts() {
    QFETCH(QByteArray, text);
    const auto loaded = io::loadForest(text.toStdString());
    QVERIFY(!loaded.hasValue());
    QVERIFY(!loaded.error().message.empty());
  }

  void embeddedFabricFaultsHavePlaces() {
    const Sample sample = samples::star();
    const std::string text = textOf(sample);
    const auto bad = io::loadForest(replaced(text, "\"kind\": \"switch\"", "\"kind\": 7"), "f.json");
    QVERIFY(!bad.hasValue());
    QCOMPARE(toText(bad.error().where.element), "fabric.nodes[3].kind");
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("\"switch\"")), '\n');
    QCOMPARE(bad.error().where.line, static_cast<int>(line) + 1);

    const auto none = io::loadForest(text.substr(0, text.find(",\n  \"fabric\": {")) + "}");
    QVERIFY(!none.hasValue());
    QVERIFY(QString::fromStdString(none.error().message).contains("\"fabric\" is missing"));

    const auto other = io::loadForest(replaced(text, "\"bandwidth\": 10", "\"bandwidth\": 11"));
    QVERIFY(!other.hasValue());
    QCOMPARE(other.error().code, ErrorCode::verification);
  }

  void streamsIntoFiles() {
    const QTemporaryDir folder;
    const std::string path = folder.filePath("s.forest.json").toStdString();
    Sample sample = samples::RegularCluster{1, 40, 8}.sample();
    sample.schedule.broadcastForest = schedule::expanded(*sample.schedule.broadcastForest, sample.fabric).value();
    const auto saved =
        io::saveFile(path, [&](std::ostream& out) { return io::writeForestJson(out, sample.schedule, sample.fabric); });
    QVERIFY2(saved.hasValue(), saved ? "" : describe(saved.error()).c_str());
    const auto text = io::readFile(path, io::kMaxForestBytes);
    QVERIFY(text.hasValue() && text->size() > (1 << 20));
    QVERIFY(io::loadForest(*text).hasValue());
    // A failure leaves the old file and nothing else.
    const auto failed = io::saveFile(path, [&](std::ostream& out) -> Outcome {
      out << std::string(1 << 20, 'x');
      return Error{ErrorCode::cancelled, "no more"};
    });
    QVERIFY(!failed && failed.error().code == ErrorCode::cancelled);
    QVERIFY(io::readFile(path, io::kMaxForestBytes).value() == *text);
    QCOMPARE(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden).size(), 1);
    const auto full = io::saveFile(
        "/dev/full", [&](std::ostream& out) { return io::writeForestJson(out, sample.schedule, sample.fabric); });
    QVERIFY(!full && full.error().code == ErrorCode::io);
  }

  void failedStreamIsAnError() {
    const Sample sample = samples::star();
    std::ostringstream out;
    out.setstate(std::ios::badbit);
    const auto outcome = io::writeForestJson(out, sample.schedule, sample.fabric);
    QVERIFY(!outcome.hasValue());
    QCOMPARE(outcome.error().code, ErrorCode::io);
    Sample broken = samples::star();
    broken.schedule.broadcastForest->trees[0].firstEdge = 99;
    std::ostringstream fine;
    QCOMPARE(io::writeForestJson(fine, broken.schedule, broken.fabric).error().code, ErrorCode::internal);
  }
};

QTEST_GUILESS_MAIN(TestForestFiles)
#include "tst_forest_files.moc"
