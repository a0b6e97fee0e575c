// SPDX-License-Identifier: Apache-2.0
#include "io/fabric_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/rational.hpp"
#include "base/text.hpp"
#include "io/exact_json.hpp"
#include "io/json_text.hpp"

namespace coppice::io {
namespace {

constexpr std::array<std::string_view, 3> kTopKeys = {"name", "nodes", "links"};
constexpr std::array<std::string_view, 7> kNodeKeys = {"id",       "kind",      "box",        "rank",
                                                       "position", "multicast", "aggregation"};
constexpr std::array<std::string_view, 2> kPositionKeys = {"x", "y"};
constexpr std::array<std::string_view, 6> kLinkKeys = {"src", "dst", "bandwidth", "duplex", "count", "latency"};

bool contains(std::span<const std::string_view> keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Key and JSON text of a value that this version does not know.
struct Extra {
  std::string key;
  std::string value;
};

std::string joined(const std::vector<Extra>& extras) {
  std::string text;
  for (const Extra& extra : extras) {
    text += (text.empty() ? "{" : ",") + jsonQuoted(extra.key) + ":" + extra.value;
  }
  return text.empty() ? text : text + "}";
}

enum class Level { root, top, nodes, node, position, links, link, extra };
enum class ValueType { null, boolean, number, string, object, array };

std::string_view typeName(ValueType type) {
  constexpr std::array<std::string_view, 6> kTypeNames = {"null",     "true or false", "a number",
                                                          "a string", "an object",     "an array"};
  return kTypeNames[static_cast<std::size_t>(type)];
}

/// SAX handler: follows the format with a stack of its own, so that no input depth reaches the call stack.
class FabricReader {
public:
  /// extrasOnly: the text is one object whose keys are all kept as extras.
  FabricReader(std::string_view text, bool extrasOnly) : m_text(text), m_extrasOnly(extrasOnly) {
    m_frames.push_back({Level::root});
  }

  bool parse() { return parseJson(m_text, m_reached, *this); }

  fabric::Description& description() { return m_description; }
  std::vector<Extra>& extras() { return m_frames.front().extras; }
  Error& error() { return m_error; }

  bool null() { return scalar(ValueType::null, "null"); }
  bool boolean(bool value) { return scalar(ValueType::boolean, value ? "true" : "false"); }
  bool number_integer(std::int64_t) { return number(); }              // NOLINT(readability-identifier-naming)
  bool number_unsigned(std::uint64_t) { return number(); }            // NOLINT(readability-identifier-naming)
  bool number_float(double, const std::string&) { return number(); }  // NOLINT(readability-identifier-naming)
  bool string(std::string& value) { return scalar(ValueType::string, value); }
  bool binary(std::vector<std::uint8_t>&) { return fail("JSON cannot contain binary values", "", ""); }

  bool start_object(std::size_t) {  // NOLINT(readability-identifier-naming)
    return open(ValueType::object);
  }
  bool start_array(std::size_t) {  // NOLINT(readability-identifier-naming)
    return open(ValueType::array);
  }

  bool key(std::string& key) {
    beginToken();
    Frame& frame = m_frames.back();
    if (!frame.keys.insert(key).second) {
      frame.key.clear();  // the fault is the object's
      return fail("the key " + inQuotes(key) + " appears twice", "keep one of the two", path());
    }
    if (frame.level == Level::extra) {
      std::string& text = extraText();
      text += (frame.isEmpty ? "" : ",") + jsonQuoted(key) + ":";
      frame.isEmpty = false;
    } else {
      frame.key = key;
      frame.isExtraKey = m_extrasOnly || !contains(knownKeys(frame.level), key);
      if (frame.isExtraKey) {
        m_owner = m_frames.size() - 1;
        frame.extras.push_back({key, ""});
      }
    }
    endToken();
    return true;
  }

  bool end_object() {  // NOLINT(readability-identifier-naming)
    beginToken();
    Frame frame = std::move(m_frames.back());
    m_frames.pop_back();
    switch (frame.level) {
      case Level::top:
        if (m_extrasOnly) {
          m_frames.front().extras = std::move(frame.extras);
          break;
        }
        if (!require(frame, {"nodes", "links"}, "")) {
          return false;
        }
        m_description.extra = joined(frame.extras);
        break;
      case Level::node:
        if (!require(frame, {"id", "kind"}, path())) {
          return false;
        }
        m_description.nodes.back().extra = joined(frame.extras);
        break;
      case Level::position:
        if (!require(frame, {"x", "y"}, path())) {
          return false;
        }
        m_description.nodes.back().position->extra = joined(frame.extras);
        break;
      case Level::link:
        if (!require(frame, {"src", "dst", "bandwidth"}, path())) {
          return false;
        }
        m_description.links.back().extra = joined(frame.extras);
        break;
      default:
        extraText() += "}";
    }
    endToken();
    return true;
  }

  bool end_array() {  // NOLINT(readability-identifier-naming)
    beginToken();
    if (m_frames.back().level == Level::extra) {
      extraText() += "]";
    }
    m_frames.pop_back();
    endToken();
    return true;
  }

  bool parse_error(std::size_t position, const std::string& last,  // NOLINT(readability-identifier-naming)
                   const nlohmann::json::exception& exception) {
    beginToken();
    const std::string_view token = m_text.substr(std::min(m_tokenStart, m_text.size()));
    JsonFault fault = jsonFault(m_text, position, last, exception.id);
    std::string fix = "check the file with a JSON tool";
    if (fault.isNumberTooLarge) {
      fix = "use a number below 1e308";
    } else if (startsWithWord(token, "nan") || startsWithWord(token, "inf") || startsWithWord(token, "-inf")) {
      fix = "JSON has no NaN or Infinity; write a finite number";
    }
    m_tokenStart = fault.isNumberTooLarge ? m_tokenStart : fault.offset;
    fail(fault.isNumberTooLarge ? "a number is too large" : std::move(fault.message), std::move(fix), path());
    m_error.code = fault.isNumberTooLarge ? ErrorCode::overflow : ErrorCode::badInput;
    return false;
  }

private:
  struct Frame {
    Level level = Level::root;
    std::size_t start = 0;  // offset of the bracket
    std::string key = {};
    bool isExtraKey = false;
    bool isEmpty = true;  // extra only: nothing written yet
    bool isArray = false;
    std::set<std::string, std::less<>> keys = {};
    std::vector<Extra> extras = {};
  };

  static std::span<const std::string_view> knownKeys(Level level) {
    switch (level) {
      case Level::top:
        return kTopKeys;
      case Level::node:
        return kNodeKeys;
      case Level::position:
        return kPositionKeys;
      case Level::link:
        return kLinkKeys;
      default:
        return {};
    }
  }

  static bool startsWithWord(std::string_view text, std::string_view word) {
    return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) {
             return a == (b | ('A' <= b && b <= 'Z' ? 32 : 0));
           });
  }

  /// Between two tokens stand only white space, commas and colons.
  void beginToken() {
    m_tokenStart = m_tokenEnd;
    while (m_tokenStart < m_text.size() &&
           std::string_view(" \t\r\n,:").find(m_text[m_tokenStart]) != std::string_view::npos) {
      ++m_tokenStart;
    }
  }
  void endToken() { m_tokenEnd = static_cast<std::size_t>(m_reached - m_text.data()); }

  bool fail(std::string message, std::string fix, std::string element) {
    m_error = Error{ErrorCode::badInput, std::move(message), std::move(fix)};
    if (!element.empty()) {
      m_error.where.element = {RefKind::field, std::move(element)};
    }
    const std::string_view before = m_text.substr(0, m_tokenStart);
    const std::size_t newline = before.rfind('\n');
    m_error.where.line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
    const std::string_view line = newline == std::string_view::npos ? before : before.substr(newline + 1);
    // Continuation bytes do not start a character.
    m_error.where.column =
        static_cast<int>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; })) + 1;
    return false;
  }

  bool failLimit(std::string message, std::string fix) {
    fail(std::move(message), std::move(fix), path());
    m_error.code = ErrorCode::limit;
    return false;
  }

  bool failType(std::string_view expected, ValueType actual) {
    std::string fix;
    if (expected == "a string" && actual == ValueType::number) {
      fix = "put it in double quotes";
    } else if (actual == ValueType::null) {
      fix = "omit the key";
    } else {
      fix = "see resources/doc/fabric-files.md";
    }
    return fail("must be " + std::string(expected) + ", not " + std::string(typeName(actual)), std::move(fix), path());
  }

  /// Which value is being read: "", "name", "nodes[3]", "nodes[3].kind", "links[0].bandwidth".
  [[nodiscard]] std::string path() const {
    std::string text;
    for (const Frame& frame : m_frames) {
      if (frame.level == Level::extra) {
        break;
      }
      if (frame.level == Level::nodes && !m_description.nodes.empty()) {
        text += "[" + std::to_string(m_description.nodes.size() - 1) + "]";
      } else if (frame.level == Level::links && !m_description.links.empty()) {
        text += "[" + std::to_string(m_description.links.size() - 1) + "]";
      } else if (!frame.key.empty()) {
        const std::string_view shown = std::string_view(frame.key).substr(0, 64);
        const bool isPlain =
            std::all_of(shown.begin(), shown.end(), [](char c) { return c == '_' || isAlphanumeric(c); });
        text += isPlain ? (text.empty() ? "" : ".") + std::string(shown) : "[" + inQuotes(frame.key) + "]";
      }
    }
    return text;
  }

  bool require(const Frame& frame, std::initializer_list<std::string_view> keys, const std::string& element) {
    for (const std::string_view key : keys) {
      if (!frame.keys.contains(key)) {
        m_tokenStart = frame.start;
        return fail("the key \"" + std::string(key) + "\" is missing", "add \"" + std::string(key) + "\"", element);
      }
    }
    return true;
  }

  [[nodiscard]] bool isExtra() const {
    const Frame& frame = m_frames.back();
    return frame.level == Level::extra || frame.isExtraKey;
  }

  std::string& extraText() { return m_frames[m_owner].extras.back().value; }

  void separateExtra() {
    Frame& frame = m_frames.back();
    if (frame.level == Level::extra && frame.isArray) {
      extraText() += frame.isEmpty ? "" : ",";
      frame.isEmpty = false;
    }
  }

  bool open(ValueType type) {
    beginToken();
    if (m_frames.size() > kMaxJsonDepth) {
      return failLimit("brackets nest deeper than " + std::to_string(kMaxJsonDepth), "flatten the file");
    }
    const auto next = nextLevel(type);
    if (!next) {
      return false;
    }
    if (*next == Level::extra) {
      separateExtra();
      extraText() += type == ValueType::array ? "[" : "{";
    }
    m_frames.push_back({*next, m_tokenStart});
    m_frames.back().isArray = type == ValueType::array;
    endToken();
    return true;
  }

  /// What the bracket opens; nullopt: nothing that may stand here, and fail() was called.
  std::optional<Level> nextLevel(ValueType type) {
    const Frame& frame = m_frames.back();
    const bool isObject = type == ValueType::object;
    if (isExtra()) {
      return Level::extra;
    }
    switch (frame.level) {
      case Level::root:
        if (isObject) {
          return Level::top;
        }
        fail("the file must contain one JSON object, not an array", R"(write {"nodes": [...], "links": [...]})", "");
        return std::nullopt;
      case Level::top:
        if (frame.key == "nodes" || frame.key == "links") {
          if (!isObject) {
            return frame.key == "nodes" ? Level::nodes : Level::links;
          }
          failType("an array", type);
          return std::nullopt;
        }
        break;
      case Level::nodes:
      case Level::links:
        return isObject ? openItem(frame.level) : (itemTypeFault(type), std::nullopt);
      case Level::node:
        if (frame.key == "position" && isObject) {
          m_description.nodes.back().position.emplace();
          return Level::position;
        }
        break;
      default:
        break;
    }
    failType(expectedType(), type);
    return std::nullopt;
  }

  std::optional<Level> openItem(Level list) {
    const bool isNode = list == Level::nodes;
    if (isNode ? m_description.nodes.size() >= kMaxFabricNodes : m_description.links.size() >= kMaxFabricLinks) {
      failLimit(
          "more than " + std::to_string(isNode ? kMaxFabricNodes : kMaxFabricLinks) + (isNode ? " nodes" : " links"),
          "describe a smaller fabric");
      return std::nullopt;
    }
    if (isNode) {
      m_description.nodes.emplace_back();
      return Level::node;
    }
    m_description.links.emplace_back();
    return Level::link;
  }

  /// The item itself is at fault, so the path counts it in.
  bool itemTypeFault(ValueType type) {
    if (m_frames.back().level == Level::nodes) {
      m_description.nodes.emplace_back();
    } else {
      m_description.links.emplace_back();
    }
    return failType("an object", type);
  }

  [[nodiscard]] std::string_view expectedType() const {
    const Frame& frame = m_frames.back();
    const std::string_view key = frame.key;
    if (frame.level == Level::position) {
      return "a number";
    }
    if (key == "nodes" || key == "links") {
      return "an array";
    }
    if (key == "rank" || key == "count") {
      return "a whole number";
    }
    if (key == "multicast" || key == "aggregation" || key == "duplex") {
      return "true or false";
    }
    if (key == "bandwidth" || key == "latency") {
      return "a number or a string";
    }
    return key == "position" ? "an object" : "a string";
  }

  /// The number as written, from the text itself: the event's own value is rounded, or bent by the C locale.
  bool number() {
    beginToken();
    std::size_t end = m_tokenStart;
    while (end < m_text.size() && std::string_view("+-.0123456789eE").find(m_text[end]) != std::string_view::npos) {
      ++end;
    }
    const bool isAccepted = scalar(ValueType::number, m_text.substr(m_tokenStart, end - m_tokenStart));
    m_tokenEnd = end;
    return isAccepted;
  }

  bool scalar(ValueType type, std::string_view value) {
    beginToken();
    const Frame& frame = m_frames.back();
    if (isExtra()) {
      separateExtra();
      extraText() += type == ValueType::string ? jsonQuoted(value) : std::string(value);
      endToken();
      return true;
    }
    bool isAccepted = false;
    switch (frame.level) {
      case Level::top:
        isAccepted = type == ValueType::string && frame.key == "name";
        if (isAccepted) {
          m_description.name = value;
        }
        break;
      case Level::node:
        isAccepted = nodeField(m_description.nodes.back(), frame.key, type, value);
        break;
      case Level::position:
        isAccepted = type == ValueType::number;
        if (isAccepted) {
          (frame.key == "x" ? m_description.nodes.back().position->x : m_description.nodes.back().position->y) =
              toDouble(value);
        }
        break;
      case Level::link:
        isAccepted = linkField(m_description.links.back(), frame.key, type, value);
        break;
      case Level::nodes:
      case Level::links:
        return itemTypeFault(type);
      default:
        return fail("the file must contain one JSON object, not " + std::string(typeName(type)),
                    R"(write {"nodes": [...], "links": [...]})", "");
    }
    endToken();
    return isAccepted || (!m_hasFailed && failType(expectedType(), type));
  }

  bool nodeField(fabric::NodeDescription& node, std::string_view key, ValueType type, std::string_view value) {
    if (key == "rank") {
      int rank = 0;
      if (type != ValueType::number || !wholeNumber(value, rank)) {
        return false;
      }
      node.rank = rank;
      return true;
    }
    if (key == "multicast" || key == "aggregation") {
      (key == "multicast" ? node.multicast : node.aggregation) = value == "true";
      return type == ValueType::boolean;
    }
    if (type != ValueType::string || key == "position") {
      return false;
    }
    (key == "id" ? node.id : (key == "kind" ? node.kind : node.box)) = value;
    return true;
  }

  bool linkField(fabric::LinkDescription& link, std::string_view key, ValueType type, std::string_view value) {
    if (key == "duplex") {
      link.duplex = value == "true";
      return type == ValueType::boolean;
    }
    if (key == "count") {
      return type == ValueType::number && wholeNumber(value, link.count);
    }
    if (key == "bandwidth" || key == "latency") {
      if (key == "bandwidth") {
        link.bandwidth = value;
      } else {
        link.latency = value;
      }
      return type == ValueType::number || type == ValueType::string;
    }
    (key == "src" ? link.src : link.dst) = value;
    return type == ValueType::string;
  }

  /// False after a message of its own where the number is not whole or no int.
  bool wholeNumber(std::string_view text, int& value) {
    const auto parsed = Rational::parse(text);
    if (parsed && parsed->isInteger() && std::in_range<int>(parsed->numerator())) {
      value = static_cast<int>(parsed->numerator());
      return true;
    }
    m_hasFailed = true;
    fail(inQuotes(text) + (parsed && !parsed->isInteger() ? " is not a whole number" : " is out of range"),
         "write a whole number below " + std::to_string(std::numeric_limits<int>::max()), path());
    return false;
  }

  static double toDouble(std::string_view text) {
    double value = 0;
    // Too large a number does not get here; one too small is 0.
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }

  std::string_view m_text;
  bool m_extrasOnly;
  const char* m_reached = nullptr;
  std::size_t m_tokenStart = 0;
  std::size_t m_tokenEnd = 0;
  std::vector<Frame> m_frames;
  std::size_t m_owner = 0;  // the frame whose unknown value is being read
  bool m_hasFailed = false;
  fabric::Description m_description;
  Error m_error;
};

/// Whether a bandwidth or latency goes into the file as a JSON number (RFC 8259) that any reader can hold.
bool isPlainNumber(std::string_view text) {
  constexpr std::size_t kMaxLength = 40;
  constexpr std::size_t kMaxExponentDigits = 2;
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      ++at;
    }
    return at - from;
  };
  if (text.empty() || text.size() > kMaxLength) {
    return false;
  }
  at += text[0] == '-' ? 1 : 0;
  const std::size_t wholeStart = at;
  const std::size_t wholeDigits = digits();
  if (wholeDigits == 0 || (wholeDigits > 1 && text[wholeStart] == '0')) {
    return false;
  }
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0) {
      return false;
    }
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    at += at < text.size() && (text[at] == '+' || text[at] == '-') ? 1 : 0;
    const std::size_t exponentDigits = digits();
    if (exponentDigits == 0 || exponentDigits > kMaxExponentDigits) {
      return false;
    }
  }
  return at == text.size();
}

std::string quantity(const std::string& text) {
  return isPlainNumber(text) ? text : jsonQuoted(text);
}

std::string shortest(double value) {
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

/// `, "key": value` for each unknown key.
std::string extraMembers(const std::string& extra, std::span<const std::string_view> knownKeys,
                         std::string_view separator) {
  std::string text;
  if (extra.empty()) {
    return text;
  }
  FabricReader reader(extra, true);
  if (reader.parse()) {
    for (const Extra& member : reader.extras()) {
      if (!contains(knownKeys, member.key)) {
        text += separator;
        text += jsonQuoted(member.key) + ": " + member.value;
      }
    }
  }
  return text;
}

std::string nodeLine(const fabric::NodeDescription& node) {
  std::string text = "{\"id\": " + jsonQuoted(node.id) + ", \"kind\": " + jsonQuoted(node.kind);
  if (!node.box.empty()) {
    text += ", \"box\": " + jsonQuoted(node.box);
  }
  if (node.rank) {
    text += ", \"rank\": " + std::to_string(*node.rank);
  }
  if (node.position && std::isfinite(node.position->x) && std::isfinite(node.position->y)) {
    text += ", \"position\": {\"x\": " + shortest(node.position->x) + ", \"y\": " + shortest(node.position->y) +
            extraMembers(node.position->extra, kPositionKeys, ", ") + "}";
  }
  text += node.multicast ? ", \"multicast\": true" : "";
  text += node.aggregation ? ", \"aggregation\": true" : "";
  return text + extraMembers(node.extra, kNodeKeys, ", ") + "}";
}

std::string linkLine(const fabric::LinkDescription& link) {
  std::string text = "{\"src\": " + jsonQuoted(link.src) + ", \"dst\": " + jsonQuoted(link.dst) +
                     ", \"bandwidth\": " + quantity(link.bandwidth) +
                     ", \"duplex\": " + (link.duplex ? "true" : "false");
  if (link.count != 1) {
    text += ", \"count\": " + std::to_string(link.count);
  }
  if (link.latency) {
    text += ", \"latency\": " + quantity(*link.latency);
  }
  return text + extraMembers(link.extra, kLinkKeys, ", ") + "}";
}

template <typename Items, typename Line>
std::string lines(const Items& items, const Line& line) {
  std::string text = "[";
  for (const auto& item : items) {
    text += (&item == items.data() ? "\n    " : ",\n    ") + line(item);
  }
  return text + (items.empty() ? "]" : "\n  ]");
}

}  // namespace

Result<fabric::Description> readFabricJson(std::string_view text, std::string fileName) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const auto fail = [&](ErrorCode code, std::string message, std::string fix) {
    return Error{code, std::move(message), std::move(fix), {.file = std::move(fileName)}};
  };
  try {
    if (text.size() > kMaxJsonBytes) {
      return fail(ErrorCode::limit, "the text is longer than " + std::to_string(kMaxJsonBytes) + " bytes",
                  "check that it is the right file");
    }
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
      return fail(ErrorCode::badInput, "the file is UTF-16", "save it as UTF-8");
    }
    if (text.starts_with(kByteOrderMark)) {
      text.remove_prefix(kByteOrderMark.size());
    }
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
      return fail(ErrorCode::badInput, "the file is empty", R"(write {"nodes": [...], "links": [...]})");
    }
    FabricReader reader(text, false);
    if (!reader.parse()) {
      reader.error().where.file = std::move(fileName);
      return std::move(reader.error());
    }
    return std::move(reader.description());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::limit, "not enough memory to read the file", "use a smaller fabric");
  } catch (const std::exception& exception) {
    return fail(ErrorCode::badInput, std::string("cannot be read: ") + exception.what(), "check the file");
  }
}

std::string writeFabricJson(const fabric::Description& description) {
  std::string text = "{\n";
  if (!description.name.empty()) {
    text += "  \"name\": " + jsonQuoted(description.name) + ",\n";
  }
  const std::string extras = extraMembers(description.extra, kTopKeys, ",\n  ");
  if (!extras.empty()) {
    text += extras.substr(2) + ",\n";
  }
  text += "  \"nodes\": " + lines(description.nodes, nodeLine) + ",\n";
  text += "  \"links\": " + lines(description.links, linkLine) + "\n}\n";
  return text;
}

}  // namespace coppice::io
