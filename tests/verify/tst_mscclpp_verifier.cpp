// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <nlohmann/json.hpp>

#include "mscclpp/plan_json.hpp"
#include "verify/mscclpp_verifier.hpp"

using namespace coppice;
using Json = nlohmann::json;

namespace {

/// An array, also of one: braces alone copy it.
Json list(std::initializer_list<Json> items) {
  return Json::array_t(items);
}
Json local(const char* type, int index, int size = 1) {
  return {{"type", type}, {"index", index}, {"size", size}};
}
Json remote(int id, int index, int size = 1) {
  return {{"buffer_id", id}, {"index", index}, {"size", size}};
}
Json op(const char* name) {
  return {{"name", name}};
}
Json sync(const char* name, const char* type = "memory") {
  return {{"name", name}, {"channel_ids", list({0})}, {"channel_type", type}};
}
Json moving(const char* name, const Json& source, const Json& destination, const char* type = nullptr) {
  Json json = {{"name", name}, {"src_buff", Json::array({source})}, {"dst_buff", Json::array({destination})}};
  if (type != nullptr) {
    json["channel_type"] = type;
    if (std::string(type) == "port") {
      json["channel_ids"] = list({0});
    }
  }
  return json;
}
Json semaphore(const char* name) {
  return {{"name", name}, {"semaphore_ids", list({0})}};
}
Json barrier(int blocks) {
  return {{"name", "barrier"}, {"barrier_id", 0}, {"num_threadblocks", blocks}};
}
Json group(Json json, int index) {
  json["tbg_info"] = {{"tb_id", index}, {"tbg_size", 2}};
  return json;
}

Json block(int id, const Json& ops, const char* type = nullptr) {
  Json json = {{"id", id}, {"channels", Json::array()}, {"remote_buffer_refs", Json::array()}, {"ops", ops}};
  if (type != nullptr) {
    json["channels"].push_back({{"channel_type", type}, {"channel_ids", list({0})}});
    json["remote_buffer_refs"].push_back({{"access_channel_type", type}, {"remote_buffer_ids", list({0})}});
  }
  return json;
}
Json gpu(int id, int in, int out, int scratch, const Json& blocks) {
  return {{"id", id},
          {"input_chunks", in},
          {"output_chunks", out},
          {"scratch_chunks", scratch},
          {"channels", Json::array()},
          {"remote_buffers", Json::array()},
          {"semaphores", Json::array()},
          {"threadblocks", blocks}};
}
/// One channel to the peer, and one of its buffers.
Json joined(Json json, int peer, const char* buffer, const char* type) {
  json["channels"].push_back({{"channel_type", type}, {"connected_to", list({peer})}});
  json["remote_buffers"].push_back({{"rank", peer}, {"type", buffer}, {"access_channel_types", list({type})}});
  return json;
}
Json plan(const char* collective, const Json& gpus, const char* protocol = "Simple") {
  return {{"name", "test"}, {"collective", collective}, {"protocol", protocol}, {"inplace", false}, {"gpus", gpus}};
}

/// Two ranks put their input into each other's output.
Json allgather() {
  Json gpus = Json::array();
  for (const int rank : {0, 1}) {
    const Json ops =
        list({sync("rlxsignal"), sync("rlxwait"), op("nop"), moving("copy", local("i", 0), local("o", rank)),
              moving("put", local("i", 0), remote(0, rank), "memory"), op("nop"), sync("signal"), sync("wait")});
    gpus.push_back(joined(gpu(rank, 1, 2, 0, list({block(0, ops, "memory")})), 1 - rank, "o", "memory"));
  }
  return plan("allgather", gpus);
}

/// The same by ports, with a reply so that nobody leaves while its input is read.
Json byPort() {
  Json gpus = Json::array();
  for (const int rank : {0, 1}) {
    const Json ops =
        list({sync("rlxsignal", "port"), sync("rlxwait", "port"), op("nop"),
              moving("copy", local("i", 0), local("s", 0)), moving("copy", local("i", 0), local("o", rank)), op("nop"),
              moving("pws", local("s", 0), remote(0, rank), "port"), sync("wait", "port"), op("nop"),
              sync("signal", "port"), sync("wait", "port")});
    gpus.push_back(joined(gpu(rank, 1, 2, 1, list({block(0, ops, "port")})), 1 - rank, "o", "port"));
  }
  return plan("allgather", gpus);
}

/// The same by packets.
Json byPackets() {
  Json gpus = Json::array();
  for (const int rank : {0, 1}) {
    const Json ops =
        list({moving("copy", local("i", 0), local("o", rank)), moving("ppkt", local("i", 0), remote(0, rank), "memory"),
              moving("upkt", local("s", 1 - rank), local("o", 1 - rank))});
    gpus.push_back(joined(gpu(rank, 1, 2, 2, list({block(0, ops, "memory")})), 1 - rank, "s", "memory"));
  }
  Json json = plan("allgather", gpus, "LL");
  json["use_double_scratch_buffer"] = true;
  return json;
}

/// Every rank pulls what it adds up and puts the sum back, in place.
Json allreduce() {
  Json gpus = Json::array();
  for (const int rank : {0, 1}) {
    const Json ops = list({sync("rlxsignal"),
                           sync("rlxwait"),
                           op("nop"),
                           {{"name", "rres"},
                            {"channel_type", "memory"},
                            {"src_buff", {local("i", rank), remote(0, rank)}},
                            {"dst_buff", {local("i", rank), remote(0, rank)}}},
                           op("nop"),
                           sync("signal"),
                           sync("wait")});
    gpus.push_back(joined(gpu(rank, 2, 2, 0, list({block(0, ops, "memory")})), 1 - rank, "i", "memory"));
  }
  Json json = plan("allreduce", gpus);
  json["inplace"] = true;
  return json;
}

/// Two threadblocks of one rank, by a semaphore.
Json bySemaphore() {
  Json json =
      gpu(0, 1, 1, 1,
          list({block(0, list({moving("copy", local("i", 0), local("s", 0)), op("nop"), semaphore("sem_release")})),
                block(1, list({semaphore("sem_acquire"), op("nop"), moving("copy", local("s", 0), local("o", 0))}))}));
  json["semaphores"].push_back({{"init_value", 0}});
  return plan("allreduce", list({json}));
}

Json byBarrier() {
  return plan("allreduce",
              list({gpu(0, 1, 1, 1,
                        list({block(0, list({moving("copy", local("i", 0), local("s", 0)), barrier(2)})),
                              block(1, list({barrier(2), moving("copy", local("s", 0), local("o", 0))}))}))}));
}

Json byGroup() {
  const Json copy = moving("copy", local("i", 0), local("o", 0));
  return plan("allreduce",
              list({gpu(0, 1, 1, 0, list({block(0, list({group(copy, 0)})), block(1, list({group(copy, 1)}))}))}));
}

Json byPipeline() {
  const Json pipeline = {{"name", "pipeline"},
                         {"iter_context", {{"unit_size", 1024}, {"num_chunks", 1}}},
                         {"ops",
                          {moving("copy", local("i", 0), local("s", 0)), op("nop"),
                           moving("copy", local("s", 0), local("o", 0)), op("nop")}}};
  return plan("allreduce", list({gpu(0, 1, 1, 1, list({block(0, list({pipeline}))}))}));
}

/// The switch adds up the chunk of each rank.
Json bySwitch() {
  Json gpus = Json::array();
  for (const int rank : {0, 1}) {
    const Json chunk = {{"switch_channel_id", 0}, {"index", rank}, {"size", 1}};
    const Json ops = list({sync("rlxsignal"), sync("rlxwait"), op("nop"), moving("glres", chunk, chunk, "switch"),
                           op("nop"), sync("signal"), sync("wait")});
    Json mine = gpu(rank, 2, 2, 0, list({block(0, ops)}));
    mine["channels"] = {
        {{"channel_type", "memory"}, {"connected_to", list({1 - rank})}},
        {{"channel_type", "switch"}, {"buffer_type", "i"}, {"rank_groups", list({{{"size", 2}, {"ranks", {0, 1}}}})}}};
    mine["threadblocks"][0]["channels"] = {{{"channel_type", "memory"}, {"channel_ids", list({0})}},
                                           {{"channel_type", "switch"}, {"channel_ids", list({0})}}};
    gpus.push_back(mine);
  }
  Json json = plan("allreduce", gpus);
  json["inplace"] = true;
  return json;
}

/// Every rank stores its chunk into the outputs of both.
Json byStore() {
  Json json = bySwitch();
  for (const int rank : {0, 1}) {
    Json& mine = json["gpus"][rank];
    mine["input_chunks"] = 1;
    mine["channels"][1]["buffer_type"] = "o";
    mine["threadblocks"][0]["ops"][3] =
        moving("gstore", local("i", 0), mine["threadblocks"][0]["ops"][3]["dst_buff"][0], "switch");
  }
  json["collective"] = "allgather";
  json["inplace"] = false;
  return json;
}

Json base(const QString& name) {
  return name == "allgather"   ? allgather()
         : name == "port"      ? byPort()
         : name == "packets"   ? byPackets()
         : name == "allreduce" ? allreduce()
         : name == "semaphore" ? bySemaphore()
         : name == "barrier"   ? byBarrier()
         : name == "group"     ? byGroup()
         : name == "pipeline"  ? byPipeline()
         : name == "store"     ? byStore()
                               : bySwitch();
}

constexpr const char* kBases[] = {"allgather", "port",  "packets",  "allreduce", "semaphore",
                                  "barrier",   "group", "pipeline", "switch",    "store"};

/// All that is wrong, as text.
QString judgement(const Json& json) {
  const auto read = mscclpp::readPlan(json.dump());
  if (!read) {
    return QString::fromStdString(describe(read.error()));
  }
  const auto verdict = verify::verifyExecutionPlan(*read);
  if (!verdict) {
    return QString::fromStdString(describe(verdict.error()));
  }
  QString text;
  for (const Finding& finding : verdict->findings) {
    if (finding.severity == Severity::error) {
      text += QString::fromStdString(describe(finding)) + "\n";
    }
  }
  return text;
}

}  // namespace

class TestMscclppVerifier : public QObject {
  Q_OBJECT

private slots:
  void accepts_data() {
    QTest::addColumn<QString>("name");
    for (const char* name : kBases) {
      QTest::newRow(name) << QString(name);
    }
  }
  void accepts() {
    QFETCH(QString, name);
    QCOMPARE(judgement(base(name)), QString());
  }

  /// Written and read again, a plan is the same.
  void survivesWriting_data() { accepts_data(); }
  void survivesWriting() {
    QFETCH(QString, name);
    const auto read = mscclpp::readPlan(base(name).dump());
    QVERIFY(read);
    const auto again = mscclpp::readPlan(mscclpp::writePlan(*read));
    QVERIFY(again);
    QVERIFY(*again == *read);
  }

  /// A barrier of the same threadblocks may come again, one of others only behind it.
  void barrierAgain() {
    Json json = byBarrier();
    for (const int index : {0, 1}) {
      Json& ops = json["gpus"][0]["threadblocks"][index]["ops"];
      ops.push_back(barrier(2));
      ops.push_back(barrier(2));
    }
    QCOMPARE(judgement(json), QString());
    // The second and the third threadblock meet while the first may not have left.
    json["gpus"][0]["threadblocks"].push_back(block(2, list({barrier(2)})));
    json["gpus"][0]["threadblocks"][1]["ops"].push_back(barrier(2));
    QVERIFY2(judgement(json).contains("is used by other threadblocks too"), qPrintable(judgement(json)));
  }

  void finds_data();
  void finds() {
    QFETCH(QString, name);
    QFETCH(QString, patch);
    QFETCH(QString, says);
    const Json spoiled = base(name).patch(Json::parse(patch.toStdString()));
    const QString found = judgement(spoiled);
    QVERIFY2(found.contains(says), qPrintable(found.isEmpty() ? QStringLiteral("no fault was found") : found));
  }

  /// A run of faults of one kind does not hide that there are more.
  void tooManyOperations() {
    Json json = allgather();
    Json& ops = json["gpus"][0]["threadblocks"][0]["ops"];
    while (ops.size() < 65) {
      ops.push_back(op("nop"));
    }
    QVERIFY(judgement(json).contains("at most 64"));
    ops.erase(ops.size() - 1);
    QCOMPARE(judgement(json), QString());
  }

  /// As many threadblocks as hundreds of GPUs have; each waits for the one before.
  void manyThreadblocks() {
    constexpr int kBlocks = 17000;
    mscclpp::ExecutionPlan many = mscclpp::readPlan(bySemaphore().dump()).value();
    mscclpp::Gpu& gpu = many.gpus[0];
    const mscclpp::ThreadBlock first = gpu.blocks[0];
    const mscclpp::ThreadBlock last = gpu.blocks[1];
    gpu.blocks = {first};
    gpu.semaphores.assign(kBlocks, 0);
    for (int index = 1; index + 1 < kBlocks; ++index) {
      mscclpp::Operation acquire = last.ops[0];
      mscclpp::Operation release = first.ops[2];
      acquire.semaphores = {index - 1};
      release.semaphores = {index};
      gpu.blocks.push_back({.ops = {acquire, last.ops[1], release}});
    }
    gpu.blocks.push_back(last);
    gpu.blocks.back().ops[0].semaphores = {kBlocks - 2};
    const verify::MscclppCheckOptions options{.multiprocessors = kBlocks};
    const auto verdict = verify::verifyExecutionPlan(many, options);
    QVERIFY2(verdict, verdict ? "" : describe(verdict.error()).c_str());
    QVERIFY2(verdict->ok, verdict->ok ? "" : describe(verdict->findings.front()).c_str());
    // One in the middle that does not wait: the last reads what may not have been written.
    auto& middle = gpu.blocks[kBlocks / 2].ops;
    std::swap(middle.front(), middle.back());
    const auto broken = verify::verifyExecutionPlan(many, options);
    QVERIFY(broken && !broken->ok);
    QVERIFY2(describe(broken->findings.front()).find("s[0]") != std::string::npos,
             describe(broken->findings.front()).c_str());
  }
};

void TestMscclppVerifier::finds_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("patch");
  QTest::addColumn<QString>("says");
  const auto row = [](const char* title, const char* name, const QString& patch, const char* says) {
    QTest::newRow(title) << QString(name) << ("[" + patch + "]") << QString(says);
  };
  const auto remove = [](const QString& path) { return R"({"op":"remove","path":")" + path + "\"}"; };
  const auto set = [](const QString& path, const QString& value) {
    return R"({"op":"replace","path":")" + path + R"(","value":)" + value + "}";
  };
  const auto add = [](const QString& path, const QString& value) {
    return R"({"op":"add","path":")" + path + R"(","value":)" + value + "}";
  };
  const QString g0 = "/gpus/0";
  const QString t0 = "/gpus/0/threadblocks/0";
  const QString o0 = t0 + "/ops/";
  const QString o1 = "/gpus/1/threadblocks/0/ops/";
  const QString b1 = "/gpus/0/threadblocks/1/ops/";

  // Order between ranks.
  row("no wait at the start", "allgather", remove(o0 + "1"), "enters the launch");
  row("no signal at the start", "allgather", remove(o0 + "0"), "does not come");
  row("no nop after the first wait", "allgather", remove(o0 + "2"), "enters the launch");
  row("no nop before the signal", "allgather", remove(o0 + "5"), "leaves");
  row("no signal", "allgather", remove(o0 + "6"), "does not come");
  row("no wait", "allgather", remove(o0 + "7"), "times");
  row("relaxed signal behind data", "allgather", set(o0 + "6/name", "\"rlxsignal\""), "relaxed signals alone");
  row("relaxed wait for data", "allgather", set(o1 + "7/name", "\"rlxwait\""), "relaxed signals alone");
  row("one wait more", "allgather", add(o0 + "8", R"({"name":"wait","channel_ids":[0],"channel_type":"memory"})"),
      "does not come");
  row("one signal more", "allgather", add(o0 + "8", R"({"name":"signal","channel_ids":[0],"channel_type":"memory"})"),
      "signals rank 1 3 times");
  row("signal before the data", "allgather",
      add(o0 + "3", R"({"name":"signal","channel_ids":[0],"channel_type":"memory"})") + "," + remove(o0 + "7"),
      "leaves");
  row("pull without asking", "allreduce",
      remove(o0 + "0") + "," + remove(o0 + "0") + "," + remove(o1 + "0") + "," + remove(o1 + "0"), "enters the launch");
  row("leaves while it is read", "allreduce",
      remove(o0 + "6") + "," + remove(o0 + "5") + "," + remove(o1 + "6") + "," + remove(o1 + "5"), "leaves");
  row("sum told too early", "allreduce", remove(o0 + "4"), "leaves");
  row("wait for each other", "allgather",
      add(o0 + "0", R"({"name":"wait","channel_ids":[0],"channel_type":"memory"})") + "," +
          add(o1 + "0", R"({"name":"wait","channel_ids":[0],"channel_type":"memory"})"),
      "waits without end");

  // Data.
  row("copy to the wrong place", "allgather", set(o0 + "3/dst_buff/0/index", "1"), "o[");
  row("put to the wrong place", "allgather", set(o0 + "4/dst_buff/0/index", "1"), "o[");
  row("no copy", "allgather", remove(o0 + "3"), "nothing that was written");
  row("input is overwritten", "allgather",
      add(o0 + "4", R"({"name":"copy","src_buff":[{"type":"o","index":0,"size":1}],)"
                    R"("dst_buff":[{"type":"i","index":0,"size":1}]})"),
      "without a nop");
  row("input ends otherwise", "port",
      add(o0 + "11", R"({"name":"nop"})") + "," +
          add(o0 + "12", R"({"name":"copy","src_buff":[{"type":"o","index":1,"size":1}],)"
                         R"("dst_buff":[{"type":"i","index":0,"size":1}]})"),
      "out of place");
  row("added twice", "allreduce", add(o0 + "3/src_buff/2", R"({"buffer_id":0,"index":0,"size":1})"), "2 x ");
  row("sum of the wrong chunk", "allreduce", set(o0 + "3/src_buff/1/index", "1"), "i[");
  row("too little room for all inputs", "allgather", set(g0 + "/output_chunks", "3"), "all inputs");

  // Bounds and lists.
  row("source out of bounds", "allgather", set(o0 + "4/src_buff/0/index", "1"), "does not check");
  row("destination out of bounds", "allgather", set(o0 + "4/dst_buff/0/index", "2"), "2 chunks there");
  row("negative index", "allgather", set(o0 + "3/src_buff/0/index", "-1"), "index -1");
  row("size 0", "allgather", set(o0 + "3/src_buff/0/size", "0"), "size 0");
  row("two sizes", "allgather", set(o0 + "4/dst_buff/0/size", "2"), "at the other");
  row("buffer that has no chunks", "allgather", set(g0 + "/remote_buffers/0/type", "\"s\""), "0 chunks there");
  row("channel that is not listed", "allgather", set(o0 + "6/channel_ids/0", "1"), "names channel 1");
  row("channel listed twice", "allgather", set(o0 + "6/channel_ids", "[0,0]"), "twice");
  row("buffer that is not listed", "allgather", set(o0 + "4/dst_buff/0/buffer_id", "1"), "names remote buffer 1");
  row("list names no channel", "allgather", set(t0 + "/channels/0/channel_ids", "[1]"), "with number 1");
  row("list names no buffer", "allgather", set(t0 + "/remote_buffer_refs/0/remote_buffer_ids", "[2]"), "with number 2");
  row("buffer by another channel", "allgather", set(g0 + "/remote_buffers/0/access_channel_types", "[\"port\"]"),
      "access_channel_types");
  row("own buffer as a remote one", "allgather", set(g0 + "/remote_buffers/0/rank", "0"), "that of rank 0");
  row("rank that is not there", "allgather", set(g0 + "/remote_buffers/0/rank", "7"), "that of rank 7");
  row("channel to itself", "allgather", set(g0 + "/channels/0/connected_to", "[0]"), "connected to rank 0");
  row("no input chunks", "allgather", set(g0 + "/input_chunks", "0"), "divides");
  row("17 channels", "allgather", set(t0 + "/channels/0/channel_ids", "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]"),
      "has room for 16");
  row("9 channels of an operation", "allgather", set(o0 + "6/channel_ids", "[0,0,0,0,0,0,0,0,0]"), "has room for 8");
  row("no counterpart", "allgather",
      set(g0 + "/channels/0/connected_to", "[1,1]") + "," + set(t0 + "/channels/0/channel_ids", "[1]"),
      "has no channel of that number back");

  // Kernels.
  row("put with signal by memory", "allgather", set(o0 + "4/name", "\"pws\""), "does not signal");
  row("get to another index", "allreduce",
      add(o0 + "4", R"({"name":"nop"})") + "," +
          add(o0 + "5", R"({"name":"get","channel_type":"memory","src_buff":[{"buffer_id":0,"index":0,"size":1}],)"
                        R"("dst_buff":[{"type":"i","index":1,"size":1}]})"),
      "exchanges the offsets");
  row("unknown operation", "allgather", set(o0 + "4/name", "\"glre\""), "not an operation");
  row("put without a channel type", "allgather", remove(o0 + "4/channel_type"), "channel_type none");
  row("remote source of a copy", "allgather", set(o0 + "3/src_buff/0", R"({"buffer_id":0,"index":0,"size":1})"),
      "wrong kind of buffer");
  row("threads", "allgather", add("/num_threads_per_block", "2048"), "32 to 1024");
  row("alignment", "allgather", add("/buffer_alignment", "8"), "16 bytes at a time");
  row("window", "allgather", add("/min_message_size", "9") + "," + add("/max_message_size", "8"), "no call fits");
  row("window beyond 32 bits", "allgather", add("/min_message_size", "3221225472"), "32 bits");
  row("ids of ranks", "allgather", set(g0 + "/id", "1"), "id is 1");
  row("ids of threadblocks", "allgather", set(t0 + "/id", "3"), "id is 3");
  row("no protocol", "allgather", remove("/protocol"), "no \"protocol\"");

  // Ports.
  row("source is not ready", "port", remove(o0 + "5"), "without a nop between");
  row("nobody says that the input was read", "port",
      set(o0 + "6/src_buff/0/type", "\"i\"") + "," + remove(o0 + "10") + "," + remove(o0 + "9") + "," +
          remove(o1 + "10") + "," + remove(o1 + "9"),
      "leaves");
  row("no signal by the port", "port", set(o0 + "6/name", "\"put\""), "does not come");
  row("port to another rank", "port", set(o0 + "6/channel_ids", "[]"), "0 channel_ids");

  // Packets.
  row("packets that nobody writes", "packets", remove(o0 + "1"), "packets that nobody writes");
  row("packets in Simple", "packets", set("/protocol", "\"Simple\""), "take twice the room");
  row("one scratch for all launches", "packets", set("/use_double_scratch_buffer", "false"), "in the launch before");
  row("packets from the wrong place", "packets", set(o0 + "2/src_buff/0/index", "0"), "packets that nobody writes");
  row("packets twice", "packets",
      add(o0 + "2", R"({"name":"ppkt","channel_type":"memory","src_buff":[{"type":"i","index":0,"size":1}],)"
                    R"("dst_buff":[{"buffer_id":0,"index":0,"size":1}]})"),
      "second time");
  row("packets in the output", "packets", set(g0 + "/remote_buffers/0/type", "\"o\""), "not in scratch");

  // Threadblocks of one rank.
  row("no nop before sem_release", "semaphore", remove(o0 + "1"), "without a nop before it");
  row("no nop after sem_acquire", "semaphore", remove(b1 + "1"), "reads s[0]");
  row("no sem_release", "semaphore", remove(o0 + "2"), "not released");
  row("released twice", "semaphore", add(o0 + "3", R"({"name":"sem_release","semaphore_ids":[0]})"), "ends with 1");
  row("free from the start", "semaphore", set(g0 + "/semaphores/0/init_value", "1"), "orders the two");
  row("no such semaphore", "semaphore", set(o0 + "2/semaphore_ids/0", "4"), "names semaphore 4");
  row("no semaphore", "semaphore", set(o0 + "2/semaphore_ids", "[]"), "has no semaphore_ids");
  row("barrier of too many", "barrier", set(o0 + "1/num_threadblocks", "3") + "," + set(b1 + "0/num_threadblocks", "3"),
      "the rank has 2");
  row("two barriers", "barrier", set(o0 + "1/barrier_id", "1"), "have come to barrier");
  row("barrier of one", "barrier", set(o0 + "1/num_threadblocks", "1") + "," + set(b1 + "0/num_threadblocks", "1"),
      "orders the two");
  row("barrier number", "barrier", set(o0 + "1/barrier_id", "16"), "has 16 of them");
  row("same part twice", "group", set(b1 + "0/tbg_info/tb_id", "0"), "o[0]");
  row("no such part", "group", set(b1 + "0/tbg_info/tb_id", "2"), "part 2 of a group of 2");
  row("no nop in a block", "pipeline", remove(o0 + "0/ops/1"), "without a nop between");
  row("no nop between pieces", "pipeline", set(o0 + "0/ops/0/dst_buff/0/type", "\"o\"") + "," + remove(o0 + "0/ops/1"),
      "without a nop between");
  row("shorter than the pipeline", "pipeline", set(o0 + "0/iter_context/num_chunks", "2"), "below zero");
  row("odd pieces", "pipeline", set(o0 + "0/iter_context/unit_size", "1000"), "multiple of 16");
  row("pipeline in a pipeline", "pipeline",
      add(o0 + "0/ops/0", R"({"name":"pipeline","iter_context":{"unit_size":16,"num_chunks":1},"ops":[]})"),
      "inside a pipeline");

  // Switches.
  row("switch: nobody waits at the end", "switch", remove(o0 + "6") + "," + remove(o1 + "5"), "leaves");
  row("switch: relaxed at the end", "switch", set(o0 + "5/name", "\"rlxsignal\""), "relaxed signals alone");
  row("switch: nobody waits at the start", "switch", remove(o0 + "1") + "," + remove(o1 + "0"), "enters the launch");
  row("switch: group without this rank", "switch", set(g0 + "/channels/1/rank_groups/0/ranks", "[1]"),
      "distinct ranks");
  row("switch: another chunk", "switch", set(o0 + "3/src_buff/0/index", "1"), "i[");
  row("switch: sum stored elsewhere", "switch", set(o0 + "3/dst_buff/0/index", "1"), "o[");
  row("switch: no nop before the sum", "switch", remove(o0 + "2"), "enters the launch");
  row("switch: no nop before the signal", "switch", remove(o0 + "4"), "leaves");
  row("switch: both sum one chunk", "switch",
      set(o0 + "3/src_buff/0/index", "1") + "," + set(o0 + "3/dst_buff/0/index", "1"), "orders the two");
  row("switch: sum beyond the buffer", "switch", set(o0 + "3/src_buff/0/index", "2"), "2 chunks there");
  row("switch: own chunk instead of the group's", "switch",
      set(o0 + "3/src_buff/0", R"({"type":"i","index":0,"size":1})"), "wrong kind of buffer");
  row("switch: no such group", "switch", set(o0 + "3/src_buff/0/switch_channel_id", "1"), "names switch group 1");
  row("switch: group that the rank lacks", "switch", set(t0 + "/channels/1/channel_ids/0", "1"), "the rank has 1");
  row("switch: members name two buffers", "switch", set("/gpus/1/channels/1/buffer_type", "\"o\""),
      "does not connect to a group");
  row("switch: a member lacks the group", "switch",
      add(g0 + "/channels/2",
          R"({"channel_type":"switch","buffer_type":"o","rank_groups":[{"size":2,"ranks":[0,1]}]})"),
      "waits for rank 1");
  row("switch: groups in two orders", "switch",
      add(g0 + "/channels/2",
          R"({"channel_type":"switch","buffer_type":"o","rank_groups":[{"size":2,"ranks":[0,1]}]})") +
          "," +
          add("/gpus/1/channels/1",
              R"({"channel_type":"switch","buffer_type":"o","rank_groups":[{"size":2,"ranks":[0,1]}]})") +
          "," + set("/gpus/1/threadblocks/0/channels/1/channel_ids/0", "1"),
      "members connect together");
  row("switch: store to another chunk", "store", set(o0 + "3/dst_buff/0/index", "1"), "orders the two");
  row("switch: store before all have entered", "store", remove(o0 + "1") + "," + remove(o1 + "0"), "enters the launch");
  row("switch: store of what is not there", "store", set(o0 + "3/src_buff/0/index", "1"), "1 chunks there");
  row("switch: nobody waits for the store", "store", remove(o0 + "6") + "," + remove(o1 + "5"), "leaves");
  row("switch: old key", "switch", remove(g0 + "/channels/1/buffer_type") + "," + add(g0 + "/channels/1/buff", "\"i\""),
      "older schema");
}

QTEST_APPLESS_MAIN(TestMscclppVerifier)
#include "tst_mscclpp_verifier.moc"
