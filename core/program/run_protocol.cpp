// SPDX-License-Identifier: Apache-2.0
#include "program/run_protocol.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

namespace coppice::program {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestText = 4096;  // of one member
constexpr int kDeepest = 8;
constexpr std::int64_t kMaxItems = 4096;  // of one list

constexpr std::array<std::pair<RunExit, std::string_view>, 9> kExits = {{{RunExit::ok, "ok"},
                                                                         {RunExit::badUsage, "bad_usage"},
                                                                         {RunExit::planRejected, "plan_rejected"},
                                                                         {RunExit::machineLacks, "machine_lacks"},
                                                                         {RunExit::wrongResult, "wrong_result"},
                                                                         {RunExit::hang, "hang"},
                                                                         {RunExit::rankLost, "rank_lost"},
                                                                         {RunExit::cancelled, "cancelled"},
                                                                         {RunExit::internal, "internal"}}};
constexpr std::array<std::pair<Severity, std::string_view>, 3> kSeverities = {
    {{Severity::note, "note"}, {Severity::warning, "warning"}, {Severity::error, "error"}}};
constexpr std::array<std::pair<ErrorCode, std::string_view>, 12> kCodes = {
    {{ErrorCode::badUsage, "bad_usage"},
     {ErrorCode::badInput, "bad_input"},
     {ErrorCode::invalidFabric, "invalid_fabric"},
     {ErrorCode::infeasible, "infeasible"},
     {ErrorCode::unbalanced, "unbalanced"},
     {ErrorCode::overflow, "overflow"},
     {ErrorCode::cancelled, "cancelled"},
     {ErrorCode::limit, "limit"},
     {ErrorCode::verification, "verification"},
     {ErrorCode::io, "io"},
     {ErrorCode::unavailable, "unavailable"},
     {ErrorCode::internal, "internal"}}};
constexpr std::array<std::pair<RunCommand, std::string_view>, 3> kCommands = {
    {{RunCommand::start, "start"}, {RunCommand::cancel, "cancel"}, {RunCommand::ping, "ping"}}};

template <typename Table, typename Key>
std::string_view wordOf(const Table& table, Key key) {
  for (const auto& [value, word] : table) {
    if (value == key) {
      return word;
    }
  }
  return {};
}

/// At a character boundary, so that a cut text stays UTF-8.
std::string cut(const std::string& text, std::size_t longest) {
  if (text.size() <= longest) {
    return text;
  }
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end) + "…";
}

// ---- what records hold: the members of their objects, in order. `f` takes each with its key.

template <typename Type, typename Record>
concept Is = std::same_as<std::remove_const_t<Type>, Record>;

template <typename Fields>
void visit(Is<HelloRecord> auto& r, Fields& f) {
  f("proto", r.protocol);
  f("version", r.version);
  f("pid", r.pid);
  f("pgid", r.processGroup);
}

template <typename Fields>
void visit(Is<StateRecord> auto& r, Fields& f) {
  f("state", r.state);
  f("detail", r.detail);
}

template <typename Fields>
void visit(Is<BackendNote> auto& r, Fields& f) {
  f("name", r.name);
  f("available", r.available);
  f("reason", r.reason);
  f("fix", r.fix);
}

template <typename Fields>
void visit(Is<EnvRecord> auto& r, Fields& f) {
  f("host", r.host);
  f("system", r.system);
  f("libc", r.libc);
  f("processor", r.processor);
  f("cores", r.cores);
  f("memory", r.memoryBytes);
  f("backend", r.backend);
  f("label", r.backendLabel);
  f("backends", r.backends);
  f("facts", r.facts);
}

template <typename Fields>
void visit(Is<Finding> auto& r, Fields& f) {
  f("severity", r.severity);
  f("code", r.code);
  f("text", r.text);
  f("fix", r.fix);
  f("where", r.where);
}

template <typename Fields>
void visit(Is<PlanRecord> auto& r, Fields& f) {
  f("ok", r.ok);
  f("name", r.name);
  f("file", r.file);
  f("digest", r.digest);
  f("collective", r.collective);
  f("ranks", r.ranks);
  f("root", r.root);
  f("threadblocks", r.threadBlocks);
  f("steps", r.steps);
  f("channels", r.channels);
  f("in_place", r.inPlace);
  f("out_of_place", r.outOfPlace);
  f("bound_GBps", r.boundGBps);
  f("findings", r.findings);
}

template <typename Fields>
void visit(Is<ProgressRecord> auto& r, Fields& f) {
  f("stage", r.stage);
  f("size", r.size);
  f("in_place", r.inPlace);
  f("fraction", r.fraction);
}

template <typename Fields>
void visit(Is<ResultRecord> auto& r, Fields& f) {
  f("size", r.size);
  f("count", r.count);
  f("type", r.type);
  f("redop", r.redop);
  f("root", r.root);
  f("in_place", r.inPlace);
  f("iterations", r.iterations);
  f("time_us", r.time_us);
  f("min_us", r.min_us);
  f("median_us", r.median_us);
  f("p99_us", r.p99_us);
  f("algbw_GBps", r.algbw_GBps);
  f("busbw_GBps", r.busbw_GBps);
  f("wrong", r.wrong);
  f("bound_percent", r.boundPercent);
  f("roofline_percent", r.memoryRooflinePercent);
}

template <typename Fields>
void visit(Is<WrongRecord> auto& r, Fields& f) {
  f("rank", r.rank);
  f("size", r.size);
  f("in_place", r.inPlace);
  f("buffer", r.buffer);
  f("element", r.element);
  f("chunk", r.chunk);
  f("expected", r.expected);
  f("found", r.found);
  f("writers", r.writers);
}

template <typename Fields>
void visit(Is<TraceRecord> auto& r, Fields& f) {
  f("size", r.size);
  f("in_place", r.inPlace);
  f("dropped", r.dropped);
  f("events", r.events);
}

template <typename Fields>
void visit(Is<WaitRecord> auto& r, Fields& f) {
  f("rank", r.rank);
  f("tb", r.threadBlock);
  f("step", r.step);
  f("tile", r.tile);
  f("op", r.operation);
  f("waits", r.waitsFor);
  f("peer_rank", r.peerRank);
  f("peer_tb", r.peerThreadBlock);
  f("peer_step", r.peerStep);
  f("channel", r.channel);
}

template <typename Fields>
void visit(Is<StuckRecord> auto& r, Fields& f) {
  f("deadlock", r.isDeadlock);
  f("text", r.text);
  f("cycle", r.cycle);
  f("waiting", r.waiting);
}

template <typename Fields>
void visit(Is<ErrorRecord> auto& r, Fields& f) {
  f("exit", r.exit);
  f("code", r.error.code);
  f("message", r.error.message);
  f("fix", r.error.fix);
  f("where", r.error.where);
}

template <typename Fields>
void visit(Is<LogRecord> auto& r, Fields& f) {
  f("severity", r.severity);
  f("text", r.text);
  f("source", r.source);
}

template <typename Fields>
void visit(Is<SummaryRecord> auto& r, Fields& f) {
  f("wrong", r.wrong);
  f("checked", r.checked);
  f("average_busbw_GBps", r.averageBusbw_GBps);
  f("memory_GBps", r.memory_GBps);
}

template <typename Fields>
void visit(Is<PongRecord> auto& /*record*/, Fields& /*fields*/) {}

template <typename Fields>
void visit(Is<EndRecord> auto& r, Fields& f) {
  f("code", r.code);
  f("reason", r.reason);
}

template <typename Fields>
void visit(Is<UnknownRecord> auto& /*record*/, Fields& /*fields*/) {}

/// By the place in Record; the last stands for all others.
constexpr std::array<std::string_view, std::variant_size_v<Record>> kTypes = {
    "hello", "state", "env", "plan",    "progress", "result", "wrong", "trace",
    "stuck", "error", "log", "summary", "pong",     "end",    ""};

// ---- writing

/// Writes objects whose texts are at most `longest` and whose lists hold at most `items`.
class Writer {
public:
  Writer(std::size_t longest, std::size_t items) : m_longest(longest), m_items(items) {}

  template <typename Type>
  [[nodiscard]] Json object(const Type& value, Json begin = Json::object()) const {
    const auto add = [&](const char* key, const auto& member) { begin[key] = json(member); };
    visit(value, add);
    return begin;
  }
  [[nodiscard]] Json record(const Record& record) const {
    return std::visit([&](const auto& r) { return object(r, {{"t", kTypes[record.index()]}}); }, record);
  }

private:
  [[nodiscard]] Json json(const std::string& text) const { return cut(text, m_longest); }
  [[nodiscard]] static Json json(bool flag) { return flag; }
  [[nodiscard]] static Json json(int number) { return number; }
  [[nodiscard]] static Json json(std::int64_t number) { return number; }
  [[nodiscard]] static Json json(double number) { return std::isfinite(number) ? Json(number) : Json(0.0); }
  [[nodiscard]] static Json json(Severity severity) { return wordOf(kSeverities, severity); }
  [[nodiscard]] static Json json(ErrorCode code) { return wordOf(kCodes, code); }
  [[nodiscard]] static Json json(RunExit exit) { return static_cast<int>(exit); }
  [[nodiscard]] static Json json(const TraceEvent& e) {
    return Json::array({e.rank, e.threadBlock, e.step, e.tile, e.start_ns, e.end_ns});
  }
  [[nodiscard]] Json json(const BackendNote& note) const { return object(note); }
  [[nodiscard]] Json json(const Finding& finding) const { return object(finding); }
  [[nodiscard]] Json json(const WaitRecord& wait) const { return object(wait); }
  [[nodiscard]] Json json(const ElementPart& part) const {
    return {{"kind", toString(part.kind)}, {"index", part.index}, {"name", json(part.name)}, {"head", json(part.head)}};
  }
  [[nodiscard]] Json json(const Place& where) const {
    return {{"file", json(where.file)},
            {"line", where.line},
            {"column", where.column},
            {"element", json(toText(where.element))},
            {"parts", json(where.element.parts())}};
  }
  template <typename Value>
  [[nodiscard]] Json json(const std::optional<Value>& value) const {
    return value ? json(*value) : Json(nullptr);
  }
  template <typename Item>
  [[nodiscard]] Json json(const std::vector<Item>& items) const {
    // The number of events is limited by itself.
    const std::size_t limit = std::is_same_v<Item, TraceEvent> ? items.size() : m_items;
    Json array = Json::array();
    for (std::size_t i = 0; i < std::min(items.size(), limit); ++i) {
      array.push_back(json(items[i]));
    }
    return array;
  }
  [[nodiscard]] Json json(const std::map<std::string, std::string>& facts) const {
    Json object = Json::object();
    for (const auto& [key, value] : facts) {
      if (object.size() < m_items) {
        object[cut(key, m_longest)] = json(value);
      }
    }
    return object;
  }

  std::size_t m_longest;
  std::size_t m_items;
};

// ---- reading

/// Unwinds a record that breaks its format.
struct Malformed {
  std::string message;
};

class Reader {
public:
  Reader(const Json& object, std::string type) : m_object(object), m_type(std::move(type)) {}

  template <typename Type>
  void read(Type& value) const {
    const auto take = [this](const char* key, auto& member) { get(this->member(key), key, member); };
    visit(value, take);
  }
  [[nodiscard]] std::string text(const char* key) const {
    std::string value;
    get(member(key), key, value);
    return value;
  }
  template <typename Table>
  [[nodiscard]] auto choice(const char* key, const Table& table) const {
    const std::string word = text(key);
    for (const auto& [value, known] : table) {
      if (known == word) {
        return value;
      }
    }
    throw Malformed{"\"" + std::string(key) + "\" of a record of type " + m_type + " has an unknown value"};
  }

private:
  [[nodiscard]] const Json& member(const char* key) const {
    const auto found = m_object.find(key);
    if (found == m_object.end()) {
      throw Malformed{"a record of type " + m_type + " needs \"" + key + "\""};
    }
    return *found;
  }
  void expect(bool condition, const char* key, const char* what) const {
    if (!condition) {
      throw Malformed{"\"" + std::string(key) + "\" of a record of type " + m_type + " is not " + what};
    }
  }

  void get(const Json& json, const char* key, std::string& text) const {
    expect(json.is_string(), key, "a string");
    text = json.get<std::string>();
  }
  void get(const Json& json, const char* key, bool& flag) const {
    expect(json.is_boolean(), key, "true or false");
    flag = json.get<bool>();
  }
  void get(const Json& json, const char* key, std::int64_t& number) const {
    expect(json.is_number_integer() &&
               (!json.is_number_unsigned() ||
                json.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())),
           key, "an integer of 64 bits");
    number = json.get<std::int64_t>();
  }
  void get(const Json& json, const char* key, int& number) const {
    std::int64_t wide = 0;
    get(json, key, wide);
    expect(wide >= std::numeric_limits<int>::min() && wide <= std::numeric_limits<int>::max(), key,
           "an integer of 32 bits");
    number = static_cast<int>(wide);
  }
  void get(const Json& json, const char* key, double& number) const {
    expect(json.is_number() && std::isfinite(json.get<double>()), key, "a number");
    number = json.get<double>();
  }
  void get(const Json& /*json*/, const char* key, Severity& severity) const { severity = choice(key, kSeverities); }
  void get(const Json& /*json*/, const char* key, ErrorCode& code) const { code = choice(key, kCodes); }
  void get(const Json& json, const char* key, RunExit& exit) const {
    int value = 0;
    get(json, key, value);
    expect(value >= 0 && value < static_cast<int>(kExits.size()), key, "an exit code");
    exit = static_cast<RunExit>(value);
  }
  void get(const Json& json, const char* key, TraceEvent& event) const {
    expect(json.is_array() && json.size() == 6, key, "a list of [rank, tb, step, tile, start, end]");
    get(json[0], key, event.rank);
    get(json[1], key, event.threadBlock);
    get(json[2], key, event.step);
    get(json[3], key, event.tile);
    get(json[4], key, event.start_ns);
    get(json[5], key, event.end_ns);
  }
  void get(const Json& json, const char* key, Place& where) const {
    expect(json.is_object(), key, "an object");
    const Reader inner(json, m_type);
    const auto take = [&](const char* name, auto& value) { inner.get(inner.member(name), name, value); };
    take("file", where.file);
    take("line", where.line);
    take("column", where.column);
    // Of an executor that writes no parts, its text.
    if (!json.contains("parts")) {
      where.element = {RefKind::field, inner.text("element")};
      return;
    }
    std::vector<ElementPart> parts;
    take("parts", parts);
    for (const ElementPart& part : parts) {
      where.element = where.element.with(part);
    }
  }
  /// Of a list.
  template <typename Item>
  void get(const Json& json, const char* key, Item& item) const {
    expect(json.is_object(), key, "a list of objects");
    const Reader inner(json, m_type);
    if constexpr (std::is_same_v<Item, ElementPart>) {
      item.kind = refKindNamed(inner.text("kind")).value_or(RefKind::field);
      inner.get(inner.member("index"), "index", item.index);
      inner.get(inner.member("name"), "name", item.name);
      inner.get(inner.member("head"), "head", item.head);
    } else {
      inner.read(item);
    }
  }
  template <typename Value>
  void get(const Json& json, const char* key, std::optional<Value>& value) const {
    value.reset();
    if (!json.is_null()) {
      get(json, key, value.emplace());
    }
  }
  template <typename Item>
  void get(const Json& json, const char* key, std::vector<Item>& items) const {
    expect(json.is_array() && json.size() <= kMaxItems, key, "a list");
    for (const Json& item : json) {
      expect(!std::is_same_v<Item, std::string> || item.is_string(), key, "a list of strings");
      get(item, key, items.emplace_back());
    }
  }
  void get(const Json& json, const char* key, std::map<std::string, std::string>& facts) const {
    expect(json.is_object() && json.size() <= kMaxItems, key, "an object");
    for (const auto& [name, fact] : json.items()) {
      expect(fact.is_string(), key, "an object of strings");
      facts.emplace(name, fact.template get<std::string>());
    }
  }

  const Json& m_object;
  std::string m_type;
};

template <std::size_t index = 0>
Record readObject(const std::string& type, const Reader& reader) {
  if constexpr (index + 1 == std::variant_size_v<Record>) {
    return UnknownRecord{.type = type};
  } else {
    if (type != kTypes[index]) {
      return readObject<index + 1>(type, reader);
    }
    std::variant_alternative_t<index, Record> record;
    reader.read(record);
    return record;
  }
}

/// One line as a JSON object of bounded size and depth.
Result<Json> parseLine(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) {
    line.remove_suffix(1);
  }
  if (line.size() >= kMaxRecordBytes) {
    return Error{.code = ErrorCode::limit, .message = "a record is longer than 64 KiB"};
  }
  bool tooDeep = false;
  const auto watch = [&](int depth, Json::parse_event_t event, const Json& /*value*/) {
    tooDeep = tooDeep || (depth > kDeepest &&
                          (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start));
    return !tooDeep;
  };
  Json object = Json::parse(line.begin(), line.end(), watch, false);
  if (tooDeep) {
    return Error{.code = ErrorCode::limit, .message = "a record nests too deep"};
  }
  if (!object.is_object()) {
    return Error{.code = ErrorCode::badInput, .message = "a record is one JSON object on one line"};
  }
  return object;
}

}  // namespace

std::string_view toString(RunExit code) {
  return wordOf(kExits, code);
}

RunExit exitFor(const Error& error) {
  switch (error.code) {
    case ErrorCode::badUsage:
    case ErrorCode::io:
      return RunExit::badUsage;
    case ErrorCode::badInput:
    case ErrorCode::invalidFabric:
    case ErrorCode::infeasible:
    case ErrorCode::unbalanced:
    case ErrorCode::overflow:
    case ErrorCode::verification:
      return RunExit::planRejected;
    case ErrorCode::limit:
    case ErrorCode::unavailable:
      return RunExit::machineLacks;
    case ErrorCode::cancelled:
      return RunExit::cancelled;
    case ErrorCode::internal:
      break;
  }
  return RunExit::internal;
}

bool operator==(const PlanRecord& a, const PlanRecord& b) {
  return Writer(kLongestText, kMaxItems).object(a) == Writer(kLongestText, kMaxItems).object(b);
}

bool operator==(const ErrorRecord& a, const ErrorRecord& b) {
  return Writer(kLongestText, kMaxItems).object(a) == Writer(kLongestText, kMaxItems).object(b);
}

std::string writeRecord(const Record& record) {
  const auto* trace = std::get_if<TraceRecord>(&record);
  if (std::holds_alternative<UnknownRecord>(record) || (trace != nullptr && trace->events.size() > kMaxTraceEvents)) {
    return "\n";
  }
  std::size_t longest = kLongestText;
  std::size_t items = kMaxItems;
  while (true) {
    std::string line =
        Writer(longest, items).record(record).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    if (line.size() <= kMaxRecordBytes) {
      return line;
    }
    if (items > 16) {
      items /= 2;
    } else {
      longest /= 2;
    }
  }
}

Result<Record> readRecord(std::string_view line) {
  const Result<Json> object = parseLine(line);
  if (!object) {
    return object.error();
  }
  try {
    const std::string type = Reader(*object, "?").text("t");
    Record record = readObject(type, Reader(*object, type));
    if (const auto* hello = std::get_if<HelloRecord>(&record); hello != nullptr && hello->protocol != kRunProtocol) {
      return Error{.code = ErrorCode::unavailable,
                   .message = "the executor speaks protocol " + std::to_string(hello->protocol) + "; this is " +
                              std::to_string(kRunProtocol),
                   .fix = "deploy the executor of this version"};
    }
    return record;
  } catch (const Malformed& fault) {
    return Error{.code = ErrorCode::badInput, .message = fault.message};
  }
}

std::string writeCommand(RunCommand command) {
  return Json{{"t", wordOf(kCommands, command)}}.dump() + "\n";
}

Result<RunCommand> readCommand(std::string_view line) {
  const Result<Json> object = parseLine(line);
  if (!object) {
    return object.error();
  }
  try {
    return Reader(*object, "command").choice("t", kCommands);
  } catch (const Malformed& fault) {
    return Error{.code = ErrorCode::badInput, .message = fault.message};
  }
}

}  // namespace coppice::program
