// SPDX-License-Identifier: Apache-2.0
#include "io/fx_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>

#include "base/ascii.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"

namespace coppice::io::fx {
namespace {

constexpr int kMaxArgumentDepth = 32;
constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;

constexpr std::array<std::pair<std::string_view, int>, 17> kTypes{{{"f64", 64},
                                                                   {"f32", 32},
                                                                   {"f16", 16},
                                                                   {"bf16", 16},
                                                                   {"f8e4m3fn", 8},
                                                                   {"f8e5m2", 8},
                                                                   {"i64", 64},
                                                                   {"i32", 32},
                                                                   {"i16", 16},
                                                                   {"i8", 8},
                                                                   {"u8", 8},
                                                                   {"b8", 8},
                                                                   {"c32", 32},
                                                                   {"c64", 64},
                                                                   {"c128", 128},
                                                                   {"f8e4m3fnuz", 8},
                                                                   {"f8e5m2fnuz", 8}}};

bool isWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// What a line of TORCH_LOGS has in front: "[rank0]:V0926 file.py:381] [0/0] [__aot_joint_graph] ".
std::string_view withoutLogPrefix(std::string_view line) {
  constexpr std::array<std::string_view, 4> kLogs{"[__aot_joint_graph]", "[__aot_graphs]", "[__graph_code]",
                                                  "[__post_grad_graphs]"};
  for (const std::string_view log : kLogs) {
    if (const std::size_t at = line.find(log); at != std::string_view::npos) {
      return line.substr(at + log.size());
    }
  }
  return line;
}

/// The last name of a target without its overload: "mm" of torch.ops.aten.mm.default.
std::string nameOfTarget(std::string_view target) {
  constexpr std::string_view kOps = "torch.ops.";
  if (target.starts_with(kOps)) {
    target.remove_prefix(kOps.size());
    // Namespace, name, overload.
    const std::size_t space = target.find('.');
    const std::string_view rest = space == std::string_view::npos ? target : target.substr(space + 1);
    return std::string(rest.substr(0, rest.find('.')));
  }
  const std::size_t dot = target.rfind('.');
  return std::string(dot == std::string_view::npos ? target : target.substr(dot + 1));
}

class LineReader {
public:
  LineReader(std::string_view line, int number, const std::string& fileName)
      : m_line(line), m_number(number), m_fileName(fileName) {}

  [[noreturn]] void refuse(const std::string& message, const std::string& fix) const {
    throw Failure{{ErrorCode::badInput, message, fix, {.file = m_fileName, .line = m_number, .element = {}}}};
  }
  [[noreturn]] void refuseLine() const {
    refuse("this line is not one of a graph of torch.fx: " + inQuotes(trimmed(m_line)),
           "give what print_readable(), TORCH_LOGS=aot_joint_graph or str(graph) prints, after AOT autograd");
  }

  [[nodiscard]] int line() const { return m_number; }

  void skip() {
    while (m_at < m_line.size() && std::isspace(static_cast<unsigned char>(m_line[m_at])) != 0) {
      ++m_at;
    }
  }
  [[nodiscard]] bool isEnd() {
    skip();
    return m_at >= m_line.size();
  }
  [[nodiscard]] bool isNext(std::string_view text) {
    skip();
    return m_line.substr(m_at).starts_with(text);
  }
  bool take(std::string_view text) {
    const bool is = isNext(text);
    m_at += is ? text.size() : 0;
    return is;
  }
  void need(std::string_view text) {
    if (!take(text)) {
      refuseLine();
    }
  }
  /// A name with dots.
  [[nodiscard]] std::string word() {
    skip();
    const std::size_t begin = m_at;
    while (m_at < m_line.size() && (isWordCharacter(m_line[m_at]) || m_line[m_at] == '.')) {
      ++m_at;
    }
    return std::string(m_line.substr(begin, m_at - begin));
  }
  [[nodiscard]] std::string upTo(char end) {
    const std::size_t found = m_line.find(end, m_at);
    if (found == std::string_view::npos) {
      refuseLine();
    }
    std::string text(m_line.substr(m_at, found - m_at));
    m_at = found + 1;
    return text;
  }

  /// bf16[64, 128], in quotes or not, with strides and device behind it or not; nothing where none stands here.
  [[nodiscard]] std::optional<TensorType> type() {
    const std::size_t begin = m_at;
    const bool isQuoted = take("\"");
    const std::string name = word();
    const auto* known =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& each) { return each.first == name; });
    if (known == kTypes.end() || !isNext("[")) {
      m_at = begin;
      return std::nullopt;
    }
    TensorType type{{}, known->second};
    need("[");
    while (!take("]")) {
      skip();
      std::int64_t size = 0;
      const char* first = m_line.data() + m_at;
      const auto [end, fault] = std::from_chars(first, m_line.data() + m_line.size(), size);
      if (fault != std::errc() || size < 0 || size > kMaxSize) {
        refuse("a size of the tensor is not a number", "trace the model with fixed sizes (dynamic=False)");
      }
      m_at += static_cast<std::size_t>(end - first);
      type.sizes.push_back(size);
      if (!isNext("]")) {
        need(",");
      }
    }
    if (isQuoted) {
      static_cast<void>(upTo('"'));
    } else if (isNext("[")) {
      static_cast<void>(upTo(']'));
    }
    return type;
  }

  /// Names of which there are tensors are told from words by the caller.
  [[nodiscard]] Value value(int depth = 0) {
    if (depth > kMaxArgumentDepth) {
      refuse("lists in lists in lists", "give a graph as torch prints it");
    }
    skip();
    if (m_at >= m_line.size()) {
      refuseLine();
    }
    const char next = m_line[m_at];
    if (next == '[' || next == '(' || next == '{') {
      return list(depth);
    }
    if (next == '\'' || next == '"') {
      ++m_at;
      return {.kind = Value::Kind::word, .text = upTo(next)};
    }
    if (next == '-' || std::isdigit(static_cast<unsigned char>(next)) != 0) {
      return number();
    }
    const bool isPercent = take("%");
    std::string name = word();
    if (name.empty()) {
      refuseLine();
    }
    if (!isPercent && take("(")) {
      while (!take(")")) {  // device(type='cuda', index=0)
        static_cast<void>(argument(depth + 1));
        take(",");
      }
      return {.kind = Value::Kind::word, .text = std::move(name)};
    }
    const bool isWord = !isPercent && (name.find('.') != std::string::npos || name == "None" || name == "True" ||
                                       name == "False" || name == "inf" || name == "nan");
    Value value{.kind = isWord ? Value::Kind::word : Value::Kind::name, .text = std::move(name)};
    if (!isWord && take("[")) {
      value.part = static_cast<int>(std::clamp<std::int64_t>(number().number, 0, 1 << 20));
      need("]");
    }
    return value;
  }

  /// A value, or `name = value`, or `name: value`.
  [[nodiscard]] std::pair<std::string, Value> argument(int depth) {
    const std::size_t begin = m_at;
    std::string name = word();
    if (!name.empty() && (take("=") || (isNext(":") && take(":")))) {
      return {std::move(name), value(depth)};
    }
    m_at = begin;
    return {{}, value(depth)};
  }

private:
  [[nodiscard]] Value list(int depth) {
    const char open = m_line[m_at++];
    const std::string close(1, open == '[' ? ']' : open == '(' ? ')' : '}');
    Value list{.kind = Value::Kind::list};
    while (!take(close)) {
      list.items.push_back(argument(depth + 1).second);
      if (!isNext(close)) {
        need(",");
      }
    }
    return list;
  }

  [[nodiscard]] Value number() {
    skip();
    const std::size_t begin = m_at;
    while (m_at < m_line.size() &&
           (isWordCharacter(m_line[m_at]) || m_line[m_at] == '.' || m_line[m_at] == '-' || m_line[m_at] == '+')) {
      ++m_at;
    }
    const std::string_view text = m_line.substr(begin, m_at - begin);
    Value value{.kind = Value::Kind::word, .text = std::string(text)};
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value.number);
    if (fault == std::errc() && end == text.data() + text.size()) {
      value.kind = Value::Kind::number;
    }
    return value;
  }

  std::string_view m_line;
  int m_number;
  const std::string& m_fileName;
  std::size_t m_at = 0;
};

class TextReader {
public:
  TextReader(std::string_view text, const std::string& fileName) : m_text(text), m_fileName(fileName) {}

  std::vector<Call> run() {
    int number = 0;
    for (std::size_t begin = 0; begin < m_text.size();) {
      const std::size_t end = std::min(m_text.find('\n', begin), m_text.size());
      line(trimmed(withoutLogPrefix(m_text.substr(begin, end - begin))), ++number);
      begin = end + 1;
    }
    if (m_calls.empty()) {
      throw Failure{{ErrorCode::badInput,
                     "there is no graph in the text",
                     "give what print_readable(), TORCH_LOGS=aot_joint_graph or str(graph) prints",
                     {.file = m_fileName, .element = {}}}};
    }
    for (Call& call : m_calls) {
      if (const auto type = m_types.find(call.name); !call.type && type != m_types.end()) {
        call.type = type->second;
      }
    }
    return std::move(m_calls);
  }

private:
  void line(std::string_view text, int number) {
    LineReader reader(text, number, m_fileName);
    const bool isComment = reader.take("#");
    if (sizesBeside(text.substr(isComment ? 1 : 0), number) || isComment || text.empty()) {
      return;
    }
    if (text.starts_with("class ") || text.find(" class ") != std::string_view::npos || text.starts_with("=") ||
        text.find("TRACED GRAPH") != std::string_view::npos || text.starts_with("graph():") ||
        text.starts_with("opcode ")) {
      return;
    }
    if (text.starts_with("def ")) {
      signature(reader);
    } else if (reader.take("return")) {
      result(reader, number);
    } else if (text.starts_with("%")) {
      plain(reader, number);
    } else if (text.find("tree_flatten_spec(") == std::string_view::npos) {
      python(reader, number);
    }
  }

  /// "primals_1: bf16[1024, 2048]" alone on a line, as a comment or not; several with semicolons.
  bool sizesBeside(std::string_view text, int number) {
    LineReader reader(text, number, m_fileName);
    std::vector<std::pair<std::string, TensorType>> found;
    while (!reader.isEnd()) {
      reader.take("%");
      std::string name = reader.word();
      if (name.empty() || !reader.take(":")) {
        return false;
      }
      auto type = reader.type();
      if (!type || !(reader.isEnd() || reader.take(";") || reader.take(","))) {
        return false;
      }
      found.emplace_back(std::move(name), *std::move(type));
    }
    for (const auto& [name, type] : found) {
      m_types.insert_or_assign(name, type);
      if (m_isJoint) {
        placeholder(name, type, number);
      }
    }
    return !found.empty();
  }

  void placeholder(const std::string& name, std::optional<TensorType> type, int number) {
    m_calls.push_back(
        {.kind = Call::Kind::placeholder, .name = name, .type = std::move(type), .line = number, .graph = m_graph});
  }

  /// def forward(self, primals_1: "f32[8]", ...): or of joint graphs, (self, primals, tangents):
  void signature(LineReader& reader) {
    startGraph();
    static_cast<void>(reader.upTo('('));
    m_isJoint = true;
    while (!reader.take(")")) {
      const std::string name = reader.word();
      if (name.empty()) {
        reader.refuseLine();
      }
      std::optional<TensorType> type;
      if (reader.take(":")) {
        type = reader.type();
        if (!type) {
          reader.refuse("the argument " + inQuotes(name) + " has no sizes",
                        "write them as print_readable() does: " + name + ": \"bf16[64, 128]\"");
        }
        m_isJoint = false;
        placeholder(name, std::move(type), reader.line());
      }
      if (!reader.isNext(")")) {
        reader.need(",");
      }
    }
  }

  void startGraph() {
    m_graph += m_hasResult ? 1 : 0;
    m_hasResult = false;
  }

  void result(LineReader& reader, int number) {
    // return pytree.tree_unflatten([...], self._out_spec)
    Call call{.kind = Call::Kind::output, .name = "output", .line = number, .graph = m_graph};
    if (reader.take("pytree.tree_unflatten(") || reader.take("fx_pytree.tree_unflatten(")) {
      call.arguments = reader.value().items;
    } else {
      while (!reader.isEnd()) {
        Value value = reader.value();
        if (value.kind == Value::Kind::list) {
          call.arguments.insert(call.arguments.end(), value.items.begin(), value.items.end());
        } else {
          call.arguments.push_back(std::move(value));
        }
        reader.take(",");
      }
    }
    m_calls.push_back(std::move(call));
    m_hasResult = true;
    m_isJoint = false;
  }

  /// %mm : [num_users=1] = call_function[target=torch.ops.aten.mm.default](args = (%a, %b), kwargs = {})
  void plain(LineReader& reader, int number) {
    if (m_hasResult) {
      startGraph();
    }
    reader.need("%");
    Call call{.name = reader.word(), .line = number, .graph = m_graph};
    reader.need(":");
    while (!reader.take("=")) {
      if (reader.isEnd()) {
        reader.refuseLine();
      }
      if (auto type = reader.type()) {
        call.type = std::move(type);
      } else if (reader.take("[")) {
        static_cast<void>(reader.upTo(']'));
      } else if (reader.word().empty()) {
        reader.refuseLine();
      }
    }
    const std::string kind = reader.word();
    reader.need("[");
    reader.need("target=");
    const std::string target = reader.upTo(']');
    if (kind == "placeholder" || kind == "get_attr") {
      call.kind = Call::Kind::placeholder;
    } else if (kind == "call_function" || kind == "call_method") {
      call.target = nameOfTarget(trimmed(target).starts_with("<built-in function getitem") ? "getitem" : target);
      reader.need("(");
      reader.need("args");
      reader.need("=");
      call.arguments = reader.value().items;
      if (reader.take(",")) {
        reader.need("kwargs");
        reader.need("=");
        reader.need("{");
        while (!reader.take("}")) {
          call.named.push_back(reader.argument(0));
          reader.take(",");
        }
      }
    } else {
      reader.refuse("the graph calls a module, or something else that is not an operation",
                    "give the graph after AOT autograd (TORCH_LOGS=aot_joint_graph), which has operations alone");
    }
    m_calls.push_back(std::move(call));
  }

  /// mm: "f32[8, 4]" = torch.ops.aten.mm.default(a, b);  a = None
  void python(LineReader& reader, int number) {
    Call call{.name = reader.word(), .line = number, .graph = m_graph};
    if (call.name.empty()) {
      reader.refuseLine();
    }
    if (reader.take(":")) {
      call.type = reader.type();
      if (!call.type && !(reader.take("\"Sym(") || reader.take("Sym("))) {
        reader.refuseLine();
      }
      if (!call.type) {
        reader.refuse("a size of the graph is not a number", "trace the model with fixed sizes (dynamic=False)");
      }
    }
    reader.need("=");
    const std::string target = reader.word();
    if (target.starts_with("self.")) {
      call.kind = Call::Kind::placeholder;  // a constant or a parameter of the module
    } else if (reader.take("(")) {
      call.target = nameOfTarget(target);
      while (!reader.take(")")) {
        auto [name, value] = reader.argument(0);
        if (name.empty()) {
          call.arguments.push_back(std::move(value));
        } else {
          call.named.emplace_back(std::move(name), std::move(value));
        }
        if (!reader.isNext(")")) {
          reader.need(",");
        }
      }
    } else if (reader.take("[") && !target.empty()) {
      Value of{.kind = Value::Kind::name, .text = target};
      call.target = "getitem";
      call.arguments = {std::move(of), reader.value()};
      reader.need("]");
    } else if (target == "None") {
      return;  // a = b = None
    } else {
      reader.refuseLine();
    }
    m_calls.push_back(std::move(call));
  }

  std::string_view m_text;
  const std::string& m_fileName;
  std::vector<Call> m_calls;
  std::map<std::string, TensorType, std::less<>> m_types;
  int m_graph = 0;
  bool m_isJoint = false;  ///< arguments follow the signature, with their sizes
  bool m_hasResult = false;
};

}  // namespace

Result<std::vector<Call>> readCalls(std::string_view text, const std::string& fileName) {
  return guarded([&] { return TextReader(text, fileName).run(); });
}

bool isFxText(std::string_view text) {
  return !trimmed(text).starts_with("{") &&
         (text.find("graph():") != std::string_view::npos || text.find("def forward(") != std::string_view::npos ||
          text.find("torch.ops.") != std::string_view::npos);
}

}  // namespace coppice::io::fx
