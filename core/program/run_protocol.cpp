// SPDX-License-Identifier: Apache-2.0
#include "program/run_protocol.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
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

// ---- writing

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

Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json(0.0);
}

template <typename Value>
Json optionalNumber(const std::optional<Value>& value) {
  if (!value) {
    return nullptr;
  }
  if constexpr (std::is_floating_point_v<Value>) {
    return finite(*value);
  } else {
    return *value;
  }
}

/// Writes a record whose texts are at most `longest` and whose lists hold at most `items`.
class Writer {
public:
  Writer(std::size_t longest, std::size_t items) : m_longest(longest), m_items(items) {}

  Json operator()(const HelloRecord& r) const {
    return {
        {"t", "hello"}, {"proto", r.protocol}, {"version", text(r.version)}, {"pid", r.pid}, {"pgid", r.processGroup}};
  }
  Json operator()(const StateRecord& r) const {
    return {{"t", "state"}, {"state", text(r.state)}, {"detail", text(r.detail)}};
  }
  Json operator()(const EnvRecord& r) const {
    Json facts = Json::object();
    for (const auto& [key, value] : r.facts) {
      if (facts.size() < m_items) {
        facts[text(key)] = text(value);
      }
    }
    return {{"t", "env"},
            {"host", text(r.host)},
            {"system", text(r.system)},
            {"libc", text(r.libc)},
            {"processor", text(r.processor)},
            {"cores", r.cores},
            {"memory", r.memoryBytes},
            {"backend", text(r.backend)},
            {"label", text(r.backendLabel)},
            {"backends", list(r.backends,
                              [this](const BackendNote& note) -> Json {
                                return {{"name", text(note.name)},
                                        {"available", note.available},
                                        {"reason", text(note.reason)},
                                        {"fix", text(note.fix)}};
                              })},
            {"facts", std::move(facts)}};
  }
  Json operator()(const PlanRecord& r) const {
    return {{"t", "plan"},
            {"ok", r.ok},
            {"name", text(r.name)},
            {"file", text(r.file)},
            {"digest", text(r.digest)},
            {"collective", text(r.collective)},
            {"ranks", r.ranks},
            {"root", r.root},
            {"threadblocks", r.threadBlocks},
            {"steps", r.steps},
            {"channels", r.channels},
            {"in_place", r.inPlace},
            {"out_of_place", r.outOfPlace},
            {"bound_GBps", optionalNumber(r.boundGBps)},
            {"findings", list(r.findings, [this](const Finding& finding) -> Json {
               return {{"severity", wordOf(kSeverities, finding.severity)},
                       {"code", wordOf(kCodes, finding.code)},
                       {"text", text(finding.text)},
                       {"fix", text(finding.fix)},
                       {"where", place(finding.where)}};
             })}};
  }
  Json operator()(const ProgressRecord& r) const {
    return {{"t", "progress"},
            {"stage", text(r.stage)},
            {"size", r.size},
            {"in_place", r.inPlace},
            {"fraction", finite(r.fraction)}};
  }
  Json operator()(const ResultRecord& r) const {
    return {{"t", "result"},
            {"size", r.size},
            {"count", r.count},
            {"type", text(r.type)},
            {"redop", text(r.redop)},
            {"root", r.root},
            {"in_place", r.inPlace},
            {"iterations", r.iterations},
            {"time_us", finite(r.time_us)},
            {"min_us", finite(r.min_us)},
            {"median_us", finite(r.median_us)},
            {"p99_us", finite(r.p99_us)},
            {"algbw_GBps", finite(r.algbw_GBps)},
            {"busbw_GBps", finite(r.busbw_GBps)},
            {"wrong", optionalNumber(r.wrong)},
            {"bound_percent", optionalNumber(r.boundPercent)},
            {"roofline_percent", optionalNumber(r.memoryRooflinePercent)}};
  }
  Json operator()(const WrongRecord& r) const {
    return {{"t", "wrong"},
            {"rank", r.rank},
            {"size", r.size},
            {"in_place", r.inPlace},
            {"buffer", text(r.buffer)},
            {"element", r.element},
            {"chunk", r.chunk},
            {"expected", text(r.expected)},
            {"found", text(r.found)},
            {"writers", list(r.writers, [this](const std::string& writer) -> Json { return text(writer); })}};
  }
  Json operator()(const TraceRecord& r) const {
    Json events = Json::array();
    for (const TraceEvent& event : r.events) {
      events.push_back(
          Json::array({event.rank, event.threadBlock, event.step, event.tile, event.start_ns, event.end_ns}));
    }
    return {{"t", "trace"},
            {"size", r.size},
            {"in_place", r.inPlace},
            {"dropped", r.dropped},
            {"events", std::move(events)}};
  }
  Json operator()(const StuckRecord& r) const {
    const auto wait = [this](const WaitRecord& w) -> Json {
      return {{"rank", w.rank},          {"tb", w.threadBlock},          {"step", w.step},
              {"tile", w.tile},          {"op", text(w.operation)},      {"waits", text(w.waitsFor)},
              {"peer_rank", w.peerRank}, {"peer_tb", w.peerThreadBlock}, {"peer_step", w.peerStep},
              {"channel", w.channel}};
    };
    return {{"t", "stuck"},
            {"deadlock", r.isDeadlock},
            {"text", text(r.text)},
            {"cycle", list(r.cycle, wait)},
            {"waiting", list(r.waiting, wait)}};
  }
  Json operator()(const ErrorRecord& r) const {
    return {{"t", "error"},
            {"exit", static_cast<int>(r.exit)},
            {"code", wordOf(kCodes, r.error.code)},
            {"message", text(r.error.message)},
            {"fix", text(r.error.fix)},
            {"where", place(r.error.where)}};
  }
  Json operator()(const LogRecord& r) const {
    return {{"t", "log"},
            {"severity", wordOf(kSeverities, r.severity)},
            {"text", text(r.text)},
            {"source", text(r.source)}};
  }
  Json operator()(const SummaryRecord& r) const {
    return {{"t", "summary"},
            {"wrong", r.wrong},
            {"checked", r.checked},
            {"average_busbw_GBps", finite(r.averageBusbw_GBps)},
            {"memory_GBps", optionalNumber(r.memory_GBps)}};
  }
  Json operator()(const PongRecord& /*record*/) const { return {{"t", "pong"}}; }
  Json operator()(const EndRecord& r) const {
    return {{"t", "end"}, {"code", static_cast<int>(r.code)}, {"reason", text(r.reason)}};
  }
  Json operator()(const UnknownRecord& /*record*/) const { return nullptr; }

private:
  [[nodiscard]] std::string text(const std::string& value) const { return cut(value, m_longest); }
  template <typename Items, typename Make>
  [[nodiscard]] Json list(const Items& items, Make make) const {
    Json array = Json::array();
    for (const auto& item : items) {
      if (array.size() < m_items) {
        array.push_back(make(item));
      }
    }
    return array;
  }
  [[nodiscard]] Json place(const Place& where) const {
    return {{"file", text(where.file)},
            {"line", where.line},
            {"column", where.column},
            {"element", text(toText(where.element))},
            {"parts", list(where.element.parts(), [this](const ElementPart& part) { return elementPart(part); })}};
  }
  [[nodiscard]] Json elementPart(const ElementPart& part) const {
    return {{"kind", toString(part.kind)}, {"index", part.index}, {"name", text(part.name)}, {"head", text(part.head)}};
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

  [[nodiscard]] const Json& member(const char* key) const {
    const auto found = m_object.find(key);
    if (found == m_object.end()) {
      throw Malformed{"a record of type " + m_type + " needs \"" + key + "\""};
    }
    return *found;
  }
  [[nodiscard]] std::string text(const char* key) const {
    const Json& value = member(key);
    expect(value.is_string(), key, "a string");
    return value.get<std::string>();
  }
  [[nodiscard]] bool flag(const char* key) const {
    const Json& value = member(key);
    expect(value.is_boolean(), key, "true or false");
    return value.get<bool>();
  }
  [[nodiscard]] std::int64_t integer(const char* key) const { return integerOf(member(key), key); }
  [[nodiscard]] int small(const char* key) const { return smallOf(member(key), key); }
  [[nodiscard]] double number(const char* key) const { return numberOf(member(key), key); }
  [[nodiscard]] std::optional<double> maybeNumber(const char* key) const {
    return member(key).is_null() ? std::nullopt : std::optional(number(key));
  }
  [[nodiscard]] std::optional<std::int64_t> maybeInteger(const char* key) const {
    return member(key).is_null() ? std::nullopt : std::optional(integer(key));
  }
  template <typename Item>
  [[nodiscard]] std::vector<Item> list(const char* key, Item (Reader::*read)() const) const {
    std::vector<Item> items;
    for (const Json& item : array(key)) {
      expect(item.is_object(), key, "a list of objects");
      items.push_back((Reader(item, m_type).*read)());
    }
    return items;
  }
  [[nodiscard]] const Json& array(const char* key) const {
    const Json& value = member(key);
    expect(value.is_array() && value.size() <= kMaxItems, key, "a list");
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
  [[nodiscard]] RunExit exitCode(const char* key) const {
    const int value = small(key);
    expect(value >= 0 && value < static_cast<int>(kExits.size()), key, "an exit code");
    return static_cast<RunExit>(value);
  }
  [[nodiscard]] Place place(const char* key) const {
    const Json& value = member(key);
    expect(value.is_object(), key, "an object");
    const Reader inner(value, m_type);
    return {.file = inner.text("file"),
            .line = inner.small("line"),
            .column = inner.small("column"),
            .element = inner.element()};
  }
  /// The parts; of an executor that writes none, its text.
  [[nodiscard]] ElementRef element() const {
    if (!m_object.contains("parts")) {
      return {RefKind::field, text("element")};
    }
    ElementRef all;
    for (const ElementPart& part : list("parts", &Reader::elementPart)) {
      all = all.with(part);
    }
    return all;
  }
  [[nodiscard]] ElementPart elementPart() const {
    const auto kind = refKindNamed(text("kind"));
    return {kind.value_or(RefKind::field), integer("index"), text("name"), text("head")};
  }
  [[nodiscard]] BackendNote backendNote() const {
    return {.name = text("name"), .available = flag("available"), .reason = text("reason"), .fix = text("fix")};
  }
  [[nodiscard]] Finding finding() const {
    return {.severity = choice("severity", kSeverities),
            .code = choice("code", kCodes),
            .text = text("text"),
            .fix = text("fix"),
            .where = place("where")};
  }
  [[nodiscard]] WaitRecord wait() const {
    return {.rank = small("rank"),
            .threadBlock = small("tb"),
            .step = small("step"),
            .tile = small("tile"),
            .operation = text("op"),
            .waitsFor = text("waits"),
            .peerRank = small("peer_rank"),
            .peerThreadBlock = small("peer_tb"),
            .peerStep = small("peer_step"),
            .channel = small("channel")};
  }
  [[nodiscard]] std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> items;
    for (const Json& item : array(key)) {
      expect(item.is_string(), key, "a list of strings");
      items.push_back(item.get<std::string>());
    }
    return items;
  }
  [[nodiscard]] std::map<std::string, std::string> facts(const char* key) const {
    const Json& value = member(key);
    expect(value.is_object() && value.size() <= kMaxItems, key, "an object");
    std::map<std::string, std::string> result;
    for (const auto& [name, fact] : value.items()) {
      expect(fact.is_string(), key, "an object of strings");
      result.emplace(name, fact.get<std::string>());
    }
    return result;
  }
  [[nodiscard]] std::vector<TraceEvent> events(const char* key) const {
    std::vector<TraceEvent> result;
    for (const Json& item : array(key)) {
      expect(item.is_array() && item.size() == 6, key, "a list of [rank, tb, step, tile, start, end]");
      result.push_back({.rank = smallOf(item[0], key),
                        .threadBlock = smallOf(item[1], key),
                        .step = smallOf(item[2], key),
                        .tile = smallOf(item[3], key),
                        .start_ns = integerOf(item[4], key),
                        .end_ns = integerOf(item[5], key)});
    }
    return result;
  }

private:
  void expect(bool condition, const char* key, const char* what) const {
    if (!condition) {
      throw Malformed{"\"" + std::string(key) + "\" of a record of type " + m_type + " is not " + what};
    }
  }
  [[nodiscard]] std::int64_t integerOf(const Json& value, const char* key) const {
    expect(value.is_number_integer() &&
               (!value.is_number_unsigned() ||
                value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())),
           key, "an integer of 64 bits");
    return value.get<std::int64_t>();
  }
  [[nodiscard]] int smallOf(const Json& value, const char* key) const {
    const std::int64_t wide = integerOf(value, key);
    expect(wide >= std::numeric_limits<int>::min() && wide <= std::numeric_limits<int>::max(), key,
           "an integer of 32 bits");
    return static_cast<int>(wide);
  }
  [[nodiscard]] double numberOf(const Json& value, const char* key) const {
    expect(value.is_number() && std::isfinite(value.get<double>()), key, "a number");
    return value.get<double>();
  }

  const Json& m_object;
  std::string m_type;
};

Record readObject(const std::string& type, const Reader& r) {
  if (type == "hello") {
    return HelloRecord{.protocol = r.small("proto"),
                       .version = r.text("version"),
                       .pid = r.integer("pid"),
                       .processGroup = r.integer("pgid")};
  }
  if (type == "state") {
    return StateRecord{.state = r.text("state"), .detail = r.text("detail")};
  }
  if (type == "env") {
    return EnvRecord{.host = r.text("host"),
                     .system = r.text("system"),
                     .libc = r.text("libc"),
                     .processor = r.text("processor"),
                     .cores = r.small("cores"),
                     .memoryBytes = r.integer("memory"),
                     .backend = r.text("backend"),
                     .backendLabel = r.text("label"),
                     .backends = r.list("backends", &Reader::backendNote),
                     .facts = r.facts("facts")};
  }
  if (type == "plan") {
    return PlanRecord{.ok = r.flag("ok"),
                      .name = r.text("name"),
                      .file = r.text("file"),
                      .digest = r.text("digest"),
                      .collective = r.text("collective"),
                      .ranks = r.small("ranks"),
                      .root = r.small("root"),
                      .threadBlocks = r.small("threadblocks"),
                      .steps = r.integer("steps"),
                      .channels = r.small("channels"),
                      .inPlace = r.flag("in_place"),
                      .outOfPlace = r.flag("out_of_place"),
                      .boundGBps = r.maybeNumber("bound_GBps"),
                      .findings = r.list("findings", &Reader::finding)};
  }
  if (type == "progress") {
    return ProgressRecord{.stage = r.text("stage"),
                          .size = r.integer("size"),
                          .inPlace = r.flag("in_place"),
                          .fraction = r.number("fraction")};
  }
  if (type == "result") {
    return ResultRecord{.size = r.integer("size"),
                        .count = r.integer("count"),
                        .type = r.text("type"),
                        .redop = r.text("redop"),
                        .root = r.small("root"),
                        .inPlace = r.flag("in_place"),
                        .iterations = r.small("iterations"),
                        .time_us = r.number("time_us"),
                        .min_us = r.number("min_us"),
                        .median_us = r.number("median_us"),
                        .p99_us = r.number("p99_us"),
                        .algbw_GBps = r.number("algbw_GBps"),
                        .busbw_GBps = r.number("busbw_GBps"),
                        .wrong = r.maybeInteger("wrong"),
                        .boundPercent = r.maybeNumber("bound_percent"),
                        .memoryRooflinePercent = r.maybeNumber("roofline_percent")};
  }
  if (type == "wrong") {
    return WrongRecord{.rank = r.small("rank"),
                       .size = r.integer("size"),
                       .inPlace = r.flag("in_place"),
                       .buffer = r.text("buffer"),
                       .element = r.integer("element"),
                       .chunk = r.small("chunk"),
                       .expected = r.text("expected"),
                       .found = r.text("found"),
                       .writers = r.texts("writers")};
  }
  if (type == "trace") {
    return TraceRecord{.size = r.integer("size"),
                       .inPlace = r.flag("in_place"),
                       .events = r.events("events"),
                       .dropped = r.integer("dropped")};
  }
  if (type == "stuck") {
    return StuckRecord{.isDeadlock = r.flag("deadlock"),
                       .text = r.text("text"),
                       .cycle = r.list("cycle", &Reader::wait),
                       .waiting = r.list("waiting", &Reader::wait)};
  }
  if (type == "error") {
    return ErrorRecord{.exit = r.exitCode("exit"),
                       .error = {.code = r.choice("code", kCodes),
                                 .message = r.text("message"),
                                 .fix = r.text("fix"),
                                 .where = r.place("where")}};
  }
  if (type == "log") {
    return LogRecord{.severity = r.choice("severity", kSeverities), .text = r.text("text"), .source = r.text("source")};
  }
  if (type == "summary") {
    return SummaryRecord{.wrong = r.integer("wrong"),
                         .checked = r.flag("checked"),
                         .averageBusbw_GBps = r.number("average_busbw_GBps"),
                         .memory_GBps = r.maybeNumber("memory_GBps")};
  }
  if (type == "pong") {
    return PongRecord{};
  }
  if (type == "end") {
    return EndRecord{.code = r.exitCode("code"), .reason = r.text("reason")};
  }
  return UnknownRecord{.type = type};
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
  return Writer(kLongestText, kMaxItems)(a) == Writer(kLongestText, kMaxItems)(b);
}

bool operator==(const ErrorRecord& a, const ErrorRecord& b) {
  return Writer(kLongestText, kMaxItems)(a) == Writer(kLongestText, kMaxItems)(b);
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
        std::visit(Writer(longest, items), record).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
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
