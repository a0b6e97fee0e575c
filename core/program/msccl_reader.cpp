// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "base/failure.hpp"
#include "base/text.hpp"
#include "program/msccl_tags.hpp"
#include "program/msccl_xml.hpp"

namespace coppice::program {
namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 30;
constexpr std::size_t kMaxElements = std::size_t{1} << 22;
constexpr std::size_t kDeepestNesting = 256;
/// Children of one element; the runtimes keep them in an array of this size and do not check.
constexpr std::size_t kMaxChildren = 1024;
constexpr std::int64_t kDefaultMaxBytes = std::int64_t{1} << 27;

enum class ElementKind { document, algo, gpu, threadBlock, step, unknown };

struct OpenElement {
  std::string_view name;
  ElementKind kind = ElementKind::document;
  std::size_t at = 0;
};

/// An integer as strtoll(text, …, 0) reads it, and what a person should know about it.
struct Number {
  std::int64_t value = 0;
  std::size_t used = 0;  ///< characters read; 0 = not a number
  int base = 10;
};

Number readNumber(std::string_view text) {
  Number number;
  std::size_t at = 0;
  while (at < text.size() && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r'))) {
    ++at;
  }
  bool negative = false;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
    negative = text[at] == '-';
    ++at;
  }
  const auto digitAt = [&](std::size_t where) {
    if (where >= text.size()) {
      return 99;
    }
    const char c = text[where];
    if (c >= '0' && c <= '9') {
      return c - '0';
    }
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
  };
  if (digitAt(at) == 0) {
    const bool hex = at + 1 < text.size() && (text[at + 1] | 0x20) == 'x' && digitAt(at + 2) < 16;
    number.base = hex ? 16 : 8;
    at += hex ? 2 : 0;
  }
  for (; digitAt(at) < number.base; ++at) {
    std::int64_t next = 0;
    if (__builtin_mul_overflow(number.value, std::int64_t{number.base}, &next) ||
        __builtin_add_overflow(next, std::int64_t{digitAt(at)} * (negative ? -1 : 1), &next)) {
      next = negative ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
    }
    number.value = next;
    number.used = at + 1;
  }
  return number;
}

int toInt(std::int64_t value) {
  return static_cast<int>(
      std::clamp<std::int64_t>(value, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

/// Collects the wanted attributes of a tag, each at its place in `names`; the first of equal ones counts.
template <std::size_t N>
using Wanted = std::array<const Attribute*, N>;

enum AlgoField { kName, kGpus, kChannels, kChunks, kProto, kColl, kInPlace, kOutOfPlace, kMin, kMax, kThreads, kRedop };
constexpr std::array<std::string_view, 12> kAlgoFields = {"name",     "ngpus",    "nchannels", "nchunksperloop",
                                                          "proto",    "coll",     "inplace",   "outofplace",
                                                          "minBytes", "maxBytes", "nthreads",  "redop"};
enum GpuField { kGpuId, kInputChunks, kOutputChunks, kScratchChunks };
constexpr std::array<std::string_view, 4> kGpuFields = {"id", "i_chunks", "o_chunks", "s_chunks"};
enum TbField { kTbId, kSend, kRecv, kChan };
constexpr std::array<std::string_view, 4> kTbFields = {"id", "send", "recv", "chan"};
enum StepField { kS, kType, kSrcBuf, kSrcOff, kDstBuf, kDstOff, kCount, kDepId, kDeps, kHasDep };
constexpr std::array<std::string_view, 10> kStepFields = {"s",      "type", "srcbuf", "srcoff", "dstbuf",
                                                          "dstoff", "cnt",  "depid",  "deps",   "hasdep"};

constexpr std::array<StepType, 9> kStepTypes = {
    StepType::send,           StepType::recv,           StepType::recvCopySend,
    StepType::recvReduceSend, StepType::recvReduceCopy, StepType::recvReduceCopySend,
    StepType::copy,           StepType::reduce,         StepType::nop};

/// UTF-16, with a byte order mark or known by the zero byte beside the first.
bool isWide(std::string_view text) {
  using namespace std::string_view_literals;
  return text.starts_with("\xFF\xFE"sv) || text.starts_with("\xFE\xFF"sv) || text.starts_with("<\0"sv) ||
         text.starts_with("\0<"sv);
}

class Reader {
public:
  Reader(std::string_view text, Runtime runtime, std::string_view fileName)
      : m_text(text), m_runtime(runtime), m_limits(limits(runtime)), m_report(text, fileName), m_tags(text, m_report) {}

  Result<MscclFile> read();

private:
  struct ReadBlock {
    int id = 0;
    std::size_t at = 0;
    ThreadBlock block;
  };

  [[nodiscard]] bool isMsccl() const { return m_runtime == Runtime::msccl; }
  std::optional<Error> open(const Tag& tag);
  void close(const Tag& tag);
  void closeTop();
  [[nodiscard]] ElementKind kindOf(const Tag& tag) const;

  template <std::size_t N>
  Wanted<N> match(const Tag& tag, const std::array<std::string_view, N>& names, std::string_view element);
  template <std::size_t N>
  void demand(const Tag& tag, const Wanted<N>& wanted, const std::array<std::string_view, N>& names,
              std::uint32_t mandatory);
  std::int64_t integer(const Attribute* attribute, std::int64_t absent, bool wide = false);
  int intValue(const Attribute* attribute, int absent) { return toInt(integer(attribute, absent)); }

  void readAlgo(const Tag& tag);
  void readCollective(const Attribute& attribute);
  void readProtocol(const Attribute& attribute);
  void readWindow(const Tag& tag, const Wanted<kAlgoFields.size()>& wanted);
  void readThreads(const Attribute& attribute);
  void readGpu(const Tag& tag);
  void checkChunks(const Tag& tag);
  void finishGpu(const OpenElement& element);
  void readThreadBlock(const Tag& tag);
  void checkPeer(const Attribute* attribute, int peer, std::string_view word);
  void finishThreadBlock(const OpenElement& element);
  void readStep(const Tag& tag);
  StepType readType(const Attribute& attribute, bool& known);
  Buffer readBuffer(const Attribute* attribute, std::string_view word);
  void checkStep(const Tag& tag, const Step& step, const Wanted<kStepFields.size()>& wanted);
  void checkOffset(const Attribute* attribute, const Slot& slot, int count, std::string_view word);
  void checkDependency(const Tag& tag, const Step& step, const Wanted<kStepFields.size()>& wanted);
  void finishFile();

  [[nodiscard]] ElementRef here() const;
  void fault(Rule rule, std::size_t at, std::string text, std::string fix = {}) {
    m_report.add(rule, Severity::error, at, std::move(text), std::move(fix), here());
  }
  void warn(Rule rule, std::size_t at, std::string text, std::string fix = {}) {
    m_report.add(rule, Severity::warning, at, std::move(text), std::move(fix), here());
  }

  std::string_view m_text;
  Runtime m_runtime;
  const RuntimeLimits& m_limits;
  TextReport m_report;
  TagReader m_tags;
  std::vector<OpenElement> m_open;

  Program m_program;
  bool m_hasAlgo = false;
  bool m_hasElement = false;
  bool m_gpusStated = false;
  int m_gpus = 0;
  std::size_t m_algoAt = 0;
  std::size_t m_gpuElements = 0;
  std::size_t m_counted = 0;                                    ///< tb and step elements of the whole file
  std::vector<char> m_seen;                                     ///< per rank: its gpu element was read
  std::vector<std::pair<std::size_t, std::size_t>> m_elements;  ///< per rank: tb and step elements, byte offset

  int m_rank = -1;  ///< -1: inside a gpu element that no rank runs; it is read for its faults alone
  RankProgram m_rankProgram;
  bool m_chunksStated = false;
  std::vector<ReadBlock> m_blocks;
  bool m_nopWaits = false;  ///< the last step was a nop with a dependency
};

ElementRef Reader::here() const {
  ElementRef place;
  for (const OpenElement& element : m_open) {
    if (element.kind == ElementKind::gpu && m_rank >= 0) {
      place = {RefKind::rank, m_rank};
    } else if (element.kind == ElementKind::threadBlock && !m_blocks.empty()) {
      place = place.with({RefKind::threadblock, m_blocks.back().id});
    } else if (element.kind == ElementKind::step && !m_blocks.empty()) {
      place = place.with({RefKind::step, m_blocks.back().block.steps.size()});
    }
  }
  return place;
}

Result<MscclFile> Reader::read() {
  Tag tag;
  while (m_tags.next(tag)) {
    if (tag.kind == Tag::Kind::close) {
      close(tag);
      continue;
    }
    if (auto error = open(tag)) {
      return *std::move(error);
    }
    if (tag.kind == Tag::Kind::single) {
      closeTop();
    }
  }
  if (!m_hasAlgo && isWide(m_text)) {
    return Error{.code = ErrorCode::badInput,
                 .message = "the file is UTF-16, which no runtime reads",
                 .fix = "save it as UTF-8, without a byte order mark",
                 .where = m_report.place(0)};
  }
  if (!m_hasAlgo) {
    return Error{.code = ErrorCode::badInput,
                 .message = "there is no <algo> element, so this is not MSCCL XML",
                 .fix = "give a file whose first element is <algo …>",
                 .where = m_report.place(0)};
  }
  if (!m_open.empty()) {
    fault(Rule::missingClose, m_open.back().at,
          "the text ends inside " + inQuotes(m_open.back().name) + ": the runtime refuses the file",
          "close every element");
  }
  while (!m_open.empty()) {
    closeTop();
  }
  finishFile();
  return MscclFile{.program = std::move(m_program), .findings = m_report.take()};
}

ElementKind Reader::kindOf(const Tag& tag) const {
  const ElementKind parent = m_open.empty() ? ElementKind::document : m_open.back().kind;
  if (parent == ElementKind::document && tag.name == "algo" && !m_hasAlgo) {
    return ElementKind::algo;
  }
  if (parent == ElementKind::algo && tag.name == "gpu") {
    return ElementKind::gpu;
  }
  if (parent == ElementKind::gpu && tag.name == "tb") {
    return ElementKind::threadBlock;
  }
  if (parent == ElementKind::threadBlock && tag.name == "step") {
    return ElementKind::step;
  }
  return ElementKind::unknown;
}

std::optional<Error> Reader::open(const Tag& tag) {
  if (m_open.size() >= kDeepestNesting) {
    return Error{.code = ErrorCode::badInput,
                 .message = "elements nest deeper than " + std::to_string(kDeepestNesting),
                 .fix = "the deepest level with a meaning is 4",
                 .where = m_report.place(tag.at)};
  }
  const ElementKind kind = kindOf(tag);
  const ElementKind parent = m_open.empty() ? ElementKind::document : m_open.back().kind;
  if (parent == ElementKind::step) {
    fault(Rule::stepChild, tag.at, "an element inside a step crashes the runtime", "close the step with />");
  } else if (parent == ElementKind::document && tag.name == "algo" && m_hasAlgo) {
    fault(Rule::secondAlgo, tag.at, "a second <algo> element in one file", "write one file per algorithm");
  } else if (parent == ElementKind::document && kind == ElementKind::unknown) {
    m_report.add(Rule::firstElement, isMsccl() || m_hasAlgo ? Severity::warning : Severity::error, tag.at,
                 "element " + inQuotes(tag.name) + " outside <algo>", "keep <algo> as the only root element");
  } else if (kind == ElementKind::unknown && parent != ElementKind::unknown) {
    m_report.add(Rule::unknownElement, Severity::note, tag.at,
                 "unknown element " + inQuotes(tag.name) + " is skipped with its content", {}, here());
  }
  if ((kind == ElementKind::step || kind == ElementKind::threadBlock) && ++m_counted > kMaxElements) {
    return Error{.code = ErrorCode::limit,
                 .message = "more than " + std::to_string(kMaxElements) + " tb and step elements",
                 .fix = "no runtime takes more than 4095 elements for one rank",
                 .where = m_report.place(tag.at)};
  }
  switch (kind) {
    case ElementKind::algo:
      readAlgo(tag);
      break;
    case ElementKind::gpu:
      readGpu(tag);
      break;
    case ElementKind::threadBlock:
      m_open.push_back({.name = tag.name, .kind = kind, .at = tag.at});
      readThreadBlock(tag);
      return std::nullopt;
    case ElementKind::step:
      m_open.push_back({.name = tag.name, .kind = kind, .at = tag.at});
      readStep(tag);
      return std::nullopt;
    case ElementKind::document:
    case ElementKind::unknown:
      break;
  }
  m_open.push_back({.name = tag.name, .kind = kind, .at = tag.at});
  return std::nullopt;
}

void Reader::close(const Tag& tag) {
  if (m_open.empty()) {
    fault(Rule::nesting, tag.at, "closing tag " + inQuotes(tag.name) + " without its element", "remove it");
    return;
  }
  if (m_open.back().name == tag.name) {
    closeTop();
    return;
  }
  fault(Rule::nesting, tag.at,
        "closing tag " + inQuotes(tag.name) + " where " + inQuotes(m_open.back().name) + " is open",
        "close elements in the reverse order of their opening");
  const auto match = std::find_if(m_open.rbegin(), m_open.rend(),
                                  [&](const OpenElement& element) { return element.name == tag.name; });
  if (match == m_open.rend()) {
    return;
  }
  for (auto surplus = match - m_open.rbegin(); surplus >= 0; --surplus) {
    closeTop();
  }
}

void Reader::closeTop() {
  const OpenElement element = m_open.back();
  if (element.kind == ElementKind::threadBlock) {
    finishThreadBlock(element);
  } else if (element.kind == ElementKind::gpu) {
    finishGpu(element);
  }
  m_open.pop_back();
}

template <std::size_t N>
Wanted<N> Reader::match(const Tag& tag, const std::array<std::string_view, N>& names, std::string_view element) {
  Wanted<N> wanted = {};
  std::size_t expected = 0;
  for (const Attribute& attribute : tag.attributes) {
    std::size_t index = expected;
    if (index >= N || names[index] != attribute.key) {
      index = static_cast<std::size_t>(std::find(names.begin(), names.end(), attribute.key) - names.begin());
    }
    if (index == N) {
      m_report.add(Rule::unknownAttribute, Severity::note, attribute.at,
                   "unknown attribute " + inQuotes(attribute.key) + " of " + std::string(element) + " is ignored", {},
                   here());
    } else if (wanted[index] != nullptr) {
      warn(Rule::duplicateAttribute, attribute.at,
           "attribute " + inQuotes(attribute.key) + " again; the runtime reads the first", "remove one");
    } else {
      wanted[index] = &attribute;
      expected = index + 1;
    }
  }
  return wanted;
}

template <std::size_t N>
void Reader::demand(const Tag& tag, const Wanted<N>& wanted, const std::array<std::string_view, N>& names,
                    std::uint32_t mandatory) {
  for (std::size_t index = 0; index < N; ++index) {
    if ((mandatory >> index & 1U) != 0 && wanted[index] == nullptr) {
      fault(Rule::missingAttribute, tag.at,
            "<" + std::string(tag.name) + "> lacks the attribute " + std::string(names[index]) + ", which " +
                std::string(toString(m_runtime)) + " demands",
            "add " + std::string(names[index]) + "=\"…\"");
    }
  }
}

std::int64_t Reader::integer(const Attribute* attribute, std::int64_t absent, bool wide) {
  if (attribute == nullptr) {
    return absent;
  }
  const Number number = readNumber(attribute->value);
  const auto what = [&] { return std::string(attribute->key) + "=" + inQuotes(attribute->value); };
  if (number.used == 0) {
    fault(Rule::number, attribute->at, what() + " is not a number; the runtime reads 0", "write a decimal integer");
  } else if (number.used != attribute->value.size()) {
    fault(Rule::number, attribute->at, what() + " is not an integer; the runtime reads " + std::to_string(number.value),
          "write a decimal integer");
  } else if (!wide && toInt(number.value) != number.value) {
    fault(Rule::number, attribute->at, what() + " does not fit the runtime's 32-bit integer");
  } else if (number.base == 16 || (number.base == 8 && (number.value > 7 || number.value < -7))) {
    warn(Rule::octal, attribute->at,
         what() + (number.base == 16 ? " is read as hexadecimal: " : " is read as octal: ") +
             std::to_string(number.value),
         "write a decimal integer without leading zeros");
  }
  return number.value;
}

void Reader::readAlgo(const Tag& tag) {
  m_hasAlgo = true;
  m_algoAt = tag.at;
  const auto wanted = match(tag, kAlgoFields, "algo");
  std::uint32_t mandatory = 1U << kGpus | 1U << kChannels | 1U << kChunks | 1U << kProto | 1U << kColl | 1U << kInPlace;
  mandatory |= isMsccl() ? 1U << kName : 1U << kOutOfPlace | 1U << kMin | 1U << kMax;
  demand(tag, wanted, kAlgoFields, mandatory);

  if (wanted[kName] != nullptr) {
    m_program.name = wanted[kName]->value;
    if (m_program.name.size() > 63) {
      warn(Rule::longName, wanted[kName]->at, "the name is cut after 63 characters", "shorten it");
    }
  }
  m_gpus = intValue(wanted[kGpus], 0);
  m_gpusStated = wanted[kGpus] != nullptr && m_gpus >= 1 && m_gpus <= static_cast<int>(kMaxChildren);
  if (wanted[kGpus] != nullptr && !m_gpusStated) {
    fault(Rule::algoValue, wanted[kGpus]->at, "ngpus=" + std::to_string(m_gpus) + " must be 1 to 1024");
  }
  m_program.channels = intValue(wanted[kChannels], 1);
  if (m_program.channels < 1 || m_program.channels > m_limits.channels) {
    fault(Rule::algoValue, wanted[kChannels]->at,
          "nchannels=" + std::to_string(m_program.channels) + " must be 1 to " + std::to_string(m_limits.channels) +
              " for " + std::string(toString(m_runtime)));
  }
  m_program.chunksPerLoop = intValue(wanted[kChunks], 1);
  if (m_program.chunksPerLoop < 1) {
    fault(Rule::algoValue, wanted[kChunks]->at,
          "nchunksperloop=" + std::to_string(m_program.chunksPerLoop) + " must be positive");
  }
  m_program.inPlace = intValue(wanted[kInPlace], 0) != 0;
  m_program.outOfPlace = wanted[kOutOfPlace] != nullptr ? intValue(wanted[kOutOfPlace], 0) != 0 : !m_program.inPlace;
  if (!isMsccl() && !m_program.inPlace && !m_program.outOfPlace) {
    fault(Rule::algoValue, tag.at, "inplace=0 and outofplace=0: the file is never used",
          "set the one that the steps are made for");
  }
  if (wanted[kColl] != nullptr) {
    readCollective(*wanted[kColl]);
  }
  if (wanted[kProto] != nullptr) {
    readProtocol(*wanted[kProto]);
  }
  readWindow(tag, wanted);
  if (wanted[kThreads] != nullptr) {
    readThreads(*wanted[kThreads]);
  }
}

void Reader::readCollective(const Attribute& attribute) {
  struct Spelling {
    std::string_view text;
    bool msccl;
    bool others;
  };
  constexpr std::array<Spelling, 13> kSpellings = {{{"allreduce", true, true},
                                                    {"allgather", true, true},
                                                    {"reduce", true, true},
                                                    {"broadcast", true, true},
                                                    {"alltoall", true, true},
                                                    {"reduce_scatter", true, false},
                                                    {"custom", true, false},
                                                    {"alltoallv", false, true},
                                                    {"reducescatter", false, true},
                                                    {"send", false, true},
                                                    {"recv", false, true},
                                                    {"gather", false, true},
                                                    {"scatter", false, true}}};
  const auto spelling = std::find_if(kSpellings.begin(), kSpellings.end(),
                                     [&](const Spelling& known) { return known.text == attribute.value; });
  const bool taken = spelling != kSpellings.end() && (isMsccl() ? spelling->msccl : spelling->others);
  const auto collective = parseForestCollective(attribute.value);
  if (spelling != kSpellings.end() && collective) {
    m_program.collective = *collective;
  } else {
    m_program.collectiveText = attribute.value;
  }
  if (!taken) {
    const bool spelledOtherwise = attribute.value == "reduce_scatter" || attribute.value == "reducescatter";
    const bool othersKnow = spelling != kSpellings.end() && isMsccl() && spelling->others;
    fault(Rule::algoValue, attribute.at,
          "coll=" + inQuotes(attribute.value) + " is refused by " + std::string(toString(m_runtime)),
          spelledOtherwise ? std::string("spell it ") + (isMsccl() ? "reduce_scatter" : "reducescatter")
          : othersKnow     ? "msccl-executor-nccl and rccl know it: judge it for one of them (--runtime rccl)"
                           : "name a collective that the runtime knows, in lower case");
  }
  if (isMsccl() && attribute.value == "alltoall" && m_program.name == "2D") {
    fault(Rule::algoValue, attribute.at,
          "an alltoall algorithm named 2D starts a built-in one of MSCCL instead of these steps", "rename it");
  }
}

void Reader::readProtocol(const Attribute& attribute) {
  for (const Protocol protocol : {Protocol::simple, Protocol::ll, Protocol::ll128}) {
    if (attribute.value == toString(protocol)) {
      m_program.protocol = protocol;
      return;
    }
  }
  fault(Rule::algoValue, attribute.at, "proto=" + inQuotes(attribute.value) + " must be exactly Simple, LL or LL128");
}

void Reader::readWindow(const Tag& tag, const Wanted<kAlgoFields.size()>& wanted) {
  m_program.minBytes = integer(wanted[kMin], 0, true);
  m_program.maxBytes = integer(wanted[kMax], kDefaultMaxBytes, true);
  const std::size_t at = wanted[kMax] != nullptr ? wanted[kMax]->at : tag.at;
  const bool unlimited = !isMsccl() && m_program.maxBytes == 0;
  if (m_program.minBytes < 0 || m_program.maxBytes < 0) {
    fault(Rule::algoValue, at, "minBytes and maxBytes must not be negative");
  } else if (!unlimited && m_program.minBytes > m_program.maxBytes) {
    fault(Rule::algoValue, at,
          "minBytes=" + std::to_string(m_program.minBytes) + " is above maxBytes=" + std::to_string(m_program.maxBytes),
          "swap them");
  } else if (isMsccl() && m_program.minBytes == m_program.maxBytes) {
    warn(Rule::algoValue, at, "the size window is empty: MSCCL takes minBytes <= size < maxBytes", "raise maxBytes");
  }
}

void Reader::readThreads(const Attribute& attribute) {
  const int threads = intValue(&attribute, 0);
  if (!isMsccl()) {
    return;
  }
  if (threads < 0 || threads % 32 != 0) {
    fault(Rule::algoValue, attribute.at, "nthreads=" + std::to_string(threads) + " must be a multiple of 32");
  } else if (const int warps = threads / 32; m_program.protocol == Protocol::simple && (warps & (warps - 1)) != 0) {
    warn(Rule::algoValue, attribute.at,
         "nthreads=" + std::to_string(threads) + " can fail at launch with Simple: not a power of two",
         "use 256 or 512, or leave it out");
  }
}

void Reader::readGpu(const Tag& tag) {
  ++m_gpuElements;
  const auto wanted = match(tag, kGpuFields, "gpu");
  m_rank = -1;
  demand(tag, wanted, kGpuFields, 0xFU);
  const int id = intValue(wanted[kGpuId], -1);
  if (wanted[kGpuId] != nullptr) {
    const int ranks = m_gpusStated ? m_gpus : static_cast<int>(kMaxChildren);
    if (id < 0 || id >= ranks) {
      fault(Rule::gpuId, wanted[kGpuId]->at,
            "gpu id " + std::to_string(id) + " is not a rank (0 to " + std::to_string(ranks - 1) + ")");
    } else {
      if (static_cast<std::size_t>(id) >= m_seen.size()) {
        m_seen.resize(static_cast<std::size_t>(id) + 1, 0);
        m_program.ranks.resize(m_seen.size());
        m_elements.resize(m_seen.size());
      }
      if (m_seen[id] != 0) {
        fault(Rule::gpuId, tag.at, "a second gpu element for rank " + std::to_string(id), "merge them");
      } else {
        m_rank = id;
        m_seen[id] = 1;
      }
    }
  }
  m_rankProgram = {};
  m_rankProgram.inputChunks = intValue(wanted[kInputChunks], 0);
  m_rankProgram.outputChunks = intValue(wanted[kOutputChunks], 0);
  m_rankProgram.scratchChunks = intValue(wanted[kScratchChunks], 0);
  m_chunksStated =
      wanted[kInputChunks] != nullptr && wanted[kOutputChunks] != nullptr && wanted[kScratchChunks] != nullptr;
  m_blocks.clear();
  checkChunks(tag);
}

void Reader::checkChunks(const Tag& tag) {
  const RankProgram& rank = m_rankProgram;
  const std::string who = m_rank >= 0 ? "rank " + std::to_string(m_rank) : "a gpu element";
  if (rank.inputChunks < 0 || rank.outputChunks < 0 || rank.scratchChunks < 0) {
    fault(Rule::chunks, tag.at, who + ": chunk counts must not be negative");
    return;
  }
  const int max = std::max({rank.inputChunks, rank.outputChunks, rank.scratchChunks});
  if (max > m_limits.offset + 1) {
    fault(
        Rule::chunks, tag.at,
        who + ": " + std::to_string(max) + " chunks in one buffer; offsets end at " + std::to_string(m_limits.offset));
  }
  const bool isForeign = m_program.collectiveText == "gather" || m_program.collectiveText == "scatter";
  if (!isMsccl() || !m_gpusStated || isForeign) {
    return;
  }
  const std::int64_t ranks = m_gpus;
  const bool ours = m_program.collectiveText.empty();
  const std::int64_t inputFactor = ours && m_program.collective == Collective::allgather ? ranks : 1;
  const std::int64_t outputFactor = ours && m_program.collective == Collective::reduceScatter ? ranks : 1;
  const auto check = [&](std::string_view word, std::int64_t chunks, std::int64_t factor) {
    if (chunks > 0 && chunks * factor != m_program.chunksPerLoop) {
      fault(Rule::chunks, tag.at,
            who + ": " + std::string(word) + "=" + std::to_string(chunks) +
                " does not fit nchunksperloop=" + std::to_string(m_program.chunksPerLoop) +
                (factor > 1 ? " over " + std::to_string(ranks) + " ranks" : ""),
            "MSCCL demands " + std::string(word) + (factor > 1 ? " x ngpus" : "") + " = nchunksperloop, or 0");
    }
  };
  check("i_chunks", rank.inputChunks, inputFactor);
  check("o_chunks", rank.outputChunks, outputFactor);
}

void Reader::readThreadBlock(const Tag& tag) {
  ReadBlock& read = m_blocks.emplace_back();  // now, so that faults name it: by its position until the id is known
  read.id = static_cast<int>(m_blocks.size()) - 1;
  read.at = tag.at;
  const auto wanted = match(tag, kTbFields, "tb");
  demand(tag, wanted, kTbFields, 0xFU);
  read.id = intValue(wanted[kTbId], -1);
  read.block.sendPeer = intValue(wanted[kSend], -1);
  read.block.recvPeer = intValue(wanted[kRecv], -1);
  read.block.channel = intValue(wanted[kChan], 0);
  m_nopWaits = false;
  if (wanted[kTbId] != nullptr && (read.id < 0 || read.id >= m_limits.threadBlocksPerRank)) {
    fault(Rule::tbId, wanted[kTbId]->at,
          "tb id " + std::to_string(read.id) + " must be 0 to " + std::to_string(m_limits.threadBlocksPerRank - 1) +
              " for " + std::string(toString(m_runtime)));
  }
  checkPeer(wanted[kSend], read.block.sendPeer, "send");
  checkPeer(wanted[kRecv], read.block.recvPeer, "recv");
  if (read.block.channel < 0 || read.block.channel >= std::max(1, m_program.channels)) {
    fault(Rule::channel, wanted[kChan]->at,
          "chan=" + std::to_string(read.block.channel) +
              " is not below nchannels=" + std::to_string(m_program.channels) + ", so it is never connected",
          "raise nchannels or lower chan");
  }
}

void Reader::checkPeer(const Attribute* attribute, int peer, std::string_view word) {
  if (peer == -1) {
    return;
  }
  if (m_rank >= 0 && peer == m_rank) {
    fault(Rule::peer, attribute->at, std::string(word) + " peer is the rank itself", "use cpy for local copies");
  } else if (peer < -1 || (m_gpusStated && peer >= m_gpus)) {
    fault(Rule::peer, attribute->at, std::string(word) + "=" + std::to_string(peer) + " is not a rank; -1 means none");
  }
}

StepType Reader::readType(const Attribute& attribute, bool& known) {
  const auto type = std::find_if(kStepTypes.begin(), kStepTypes.end(),
                                 [&](StepType candidate) { return toString(candidate) == attribute.value; });
  known = type != kStepTypes.end();
  if (known) {
    if (!isBuilt(*type, m_runtime)) {
      fault(Rule::stepType, attribute.at, "type " + unbuiltText(*type, m_runtime), unbuiltFix(m_runtime));
    }
    return *type;
  }
  const bool ends = attribute.value == "ra" && isMsccl();
  fault(Rule::stepType, attribute.at,
        "type " + inQuotes(attribute.value) +
            (ends ? " makes the MSCCL kernel return in the middle"
                  : " is unknown to the runtime, which refuses the file"),
        "use s, r, rcs, rrs, rrc, rrcs, cpy, re or nop");
  return StepType::nop;
}

Buffer Reader::readBuffer(const Attribute* attribute, std::string_view word) {
  if (attribute == nullptr) {
    return Buffer::input;
  }
  for (const Buffer buffer : {Buffer::input, Buffer::output, Buffer::scratch}) {
    if (attribute->value.size() == 1 && attribute->value[0] == letter(buffer)) {
      return buffer;
    }
  }
  fault(Rule::stepBuffer, attribute->at, std::string(word) + "=" + inQuotes(attribute->value) + " must be i, o or s");
  return Buffer::input;
}

void Reader::readStep(const Tag& tag) {
  ReadBlock& read = m_blocks.back();
  const auto wanted = match(tag, kStepFields, "step");
  demand(tag, wanted, kStepFields, 0x3FFU);
  Step step;
  bool typeKnown = false;
  if (wanted[kType] != nullptr) {
    step.type = readType(*wanted[kType], typeKnown);
  }
  step.src = {.buffer = readBuffer(wanted[kSrcBuf], "srcbuf"), .offset = intValue(wanted[kSrcOff], -1)};
  step.dst = {.buffer = readBuffer(wanted[kDstBuf], "dstbuf"), .offset = intValue(wanted[kDstOff], -1)};
  step.count = intValue(wanted[kCount], 0);
  step.dependsOnTb = std::max(-1, intValue(wanted[kDepId], -1));  // the runtimes take every negative number as none
  step.dependsOnStep = intValue(wanted[kDeps], -1);
  const int hasDependent = intValue(wanted[kHasDep], 0);
  step.hasDependent = hasDependent != 0;

  if (const auto index = static_cast<int>(read.block.steps.size());
      wanted[kS] != nullptr && intValue(wanted[kS], 0) != index) {
    fault(Rule::stepOrder, wanted[kS]->at,
          "s=" + inQuotes(wanted[kS]->value) + " on step number " + std::to_string(index) +
              ": steps run in the order of the file, and dependencies count them that way",
          "number the steps 0, 1, 2, … in order");
  }
  if (typeKnown) {
    if (step.type != StepType::nop && hasDependent != 0 && hasDependent != 1) {
      fault(Rule::dependency, wanted[kHasDep] != nullptr ? wanted[kHasDep]->at : tag.at,
            "hasdep=" + std::to_string(hasDependent) + " must be 0 or 1");
    }
    checkStep(tag, step, wanted);
    checkDependency(tag, step, wanted);
  }
  read.block.steps.push_back(step);
}

void Reader::checkStep(const Tag& tag, const Step& step, const Wanted<kStepFields.size()>& wanted) {
  const ThreadBlock& block = m_blocks.back().block;
  if (sends(step.type) && block.sendPeer == -1) {
    fault(Rule::stepType, tag.at,
          "type " + std::string(toString(step.type)) + " sends, but the threadblock has no send peer",
          "set send=\"rank\" on the tb");
  }
  if (receives(step.type) && block.recvPeer == -1) {
    fault(Rule::stepType, tag.at,
          "type " + std::string(toString(step.type)) + " receives, but the threadblock has no recv peer",
          "set recv=\"rank\" on the tb");
  }
  if (step.type == StepType::nop) {
    return;
  }
  if (wanted[kCount] != nullptr && (step.count < 0 || step.count > m_limits.count)) {
    fault(Rule::stepCount, wanted[kCount]->at,
          "cnt=" + std::to_string(step.count) + " must be 1 to " + std::to_string(m_limits.count), "split the step");
  } else if (wanted[kCount] != nullptr && step.count == 0) {
    warn(Rule::stepCount, wanted[kCount]->at, "cnt=0 moves nothing", "remove the step");
  }
  if (usesSource(step.type)) {
    checkOffset(wanted[kSrcOff], step.src, step.count, "src");
  }
  if (usesDestination(step.type)) {
    checkOffset(wanted[kDstOff], step.dst, step.count, "dst");
  }
}

void Reader::checkOffset(const Attribute* attribute, const Slot& slot, int count, std::string_view word) {
  if (attribute == nullptr || !m_chunksStated) {
    return;
  }
  const int chunks = slot.buffer == Buffer::input    ? m_rankProgram.inputChunks
                     : slot.buffer == Buffer::output ? m_rankProgram.outputChunks
                                                     : m_rankProgram.scratchChunks;
  const auto what = [&] { return std::string(word) + "off=" + std::to_string(slot.offset); };
  if (slot.offset > m_limits.offset) {
    const int wrapped = static_cast<std::int16_t>(slot.offset);
    fault(Rule::stepOffset, attribute->at,
          what() + " does not fit the runtime's 16-bit offset and becomes " + std::to_string(wrapped),
          "use fewer chunks");
  } else if (slot.offset < 0) {
    fault(Rule::stepOffset, attribute->at, what() + " on a step that uses it");
  } else if (std::int64_t{slot.offset} + std::max(0, count) > chunks) {
    fault(Rule::stepOffset, attribute->at,
          what() + " with cnt=" + std::to_string(count) + " leaves the " + std::to_string(chunks) +
              " chunks of buffer " + std::string(1, letter(slot.buffer)),
          "the gpu element states the sizes of the buffers");
  }
}

void Reader::checkDependency(const Tag& tag, const Step& step, const Wanted<kStepFields.size()>& wanted) {
  const bool waits = step.dependsOnTb != -1;
  const std::size_t at = wanted[kDepId] != nullptr ? wanted[kDepId]->at : tag.at;
  if (step.dependsOnTb > m_limits.dependencyTb) {
    fault(Rule::dependency, at,
          "depid=" + std::to_string(step.dependsOnTb) + " must be -1 or 0 to " + std::to_string(m_limits.dependencyTb) +
              " (it is stored in 8 bits)",
          "give the threadblocks that others wait for the low ids");
  } else if (waits && step.dependsOnStep < 0) {
    fault(Rule::dependency, at, "deps=" + std::to_string(step.dependsOnStep) + " names no step to wait for");
  } else if (!waits && step.dependsOnStep != -1) {
    warn(Rule::dependency, at, "deps without depid is ignored", "set depid, or deps=\"-1\"");
  }
  if (step.type == StepType::nop) {
    if (!waits) {
      fault(Rule::nop, tag.at, "a nop without dependency shifts the runtime's step numbers", "remove it");
    }
    m_nopWaits = waits;
    return;
  }
  if (m_nopWaits && !waits) {
    fault(Rule::nop, tag.at, "a step without dependency after a waiting nop: the runtime refuses the file",
          "move the last nop's dependency onto this step");
  }
  m_nopWaits = false;
}

void Reader::finishThreadBlock(const OpenElement& element) {
  const std::size_t steps = m_blocks.back().block.steps.size();
  if (steps > static_cast<std::size_t>(m_limits.stepsPerThreadBlock)) {
    fault(Rule::tooMany, element.at,
          std::to_string(steps) + " steps in one threadblock; " + std::string(toString(m_runtime)) + " takes " +
              std::to_string(m_limits.stepsPerThreadBlock),
          "spread them over more threadblocks");
  }
  if (m_nopWaits) {
    warn(Rule::nop, element.at, "the threadblock ends with a nop, which is dropped without waiting", "remove it");
    m_nopWaits = false;
  }
}

void Reader::finishGpu(const OpenElement& element) {
  std::vector<char> taken(m_blocks.size(), 0);
  bool inOrder = true;
  std::size_t elements = m_blocks.size();
  for (const ReadBlock& read : m_blocks) {
    elements += read.block.steps.size();
    const bool fits = read.id >= 0 && static_cast<std::size_t>(read.id) < taken.size() && taken[read.id] == 0;
    if (fits) {
      taken[read.id] = 1;
      continue;
    }
    const bool twice = read.id >= 0 && static_cast<std::size_t>(read.id) < taken.size();
    m_report.add(Rule::tbId, Severity::error, read.at,
                 "tb id " + std::to_string(read.id) + (twice ? " occurs twice" : " leaves a gap") +
                     ": this rank refuses the file",
                 "number the threadblocks of a rank 0 to " + std::to_string(m_blocks.size() - 1),
                 m_rank >= 0 ? ElementRef(RefKind::rank, m_rank) : ElementRef());
    inOrder = false;
  }
  if (inOrder) {
    std::sort(m_blocks.begin(), m_blocks.end(),
              [](const ReadBlock& left, const ReadBlock& right) { return left.id < right.id; });
  }
  m_rankProgram.threadBlocks.reserve(m_blocks.size());
  for (ReadBlock& read : m_blocks) {
    m_rankProgram.threadBlocks.push_back(std::move(read.block));
  }
  m_blocks.clear();
  if (m_rank >= 0) {
    m_elements[m_rank] = {elements, element.at};
    m_program.ranks[m_rank] = std::exchange(m_rankProgram, {});
  }
  m_rank = -1;
}

void Reader::finishFile() {
  if (m_gpusStated) {
    m_seen.resize(m_gpus, 0);
    m_program.ranks.resize(m_seen.size());
    m_elements.resize(m_seen.size());
  }
  for (std::size_t rank = 0; rank < m_seen.size(); ++rank) {
    if (m_seen[rank] == 0) {
      m_report.add(Rule::gpuId, Severity::error, m_algoAt,
                   "there is no gpu element for rank " + std::to_string(rank) + ", which then runs nothing",
                   "write one gpu element for each rank 0 to ngpus - 1");
      continue;
    }
    const auto [elements, at] = m_elements[rank];
    if (const std::size_t nodes = 1 + m_gpuElements + elements; nodes > static_cast<std::size_t>(m_limits.xmlNodes)) {
      m_report.add(Rule::tooMany, Severity::error, at,
                   "rank " + std::to_string(rank) + " reads " + std::to_string(nodes) +
                       " elements (algo, every gpu, its own tb and step); the runtime's table holds " +
                       std::to_string(m_limits.xmlNodes),
                   "use fewer steps on this rank");
    }
  }
  if (m_gpuElements > kMaxChildren) {
    m_report.add(Rule::tooMany, Severity::error, m_algoAt,
                 std::to_string(m_gpuElements) + " gpu elements; more than 1024 children of one element crash");
  }
}

}  // namespace

Result<MscclFile> readMscclXml(std::string_view text, Runtime runtime, std::string_view fileName) {
  if (text.size() > kLongestText) {
    return Error{.code = ErrorCode::limit,
                 .message = "the text has " + std::to_string(text.size()) + " bytes; at most 2^30 are read",
                 .fix = {},
                 .where = {.file = std::string(fileName)}};
  }
  return guarded(
      [&] { return Reader(text, runtime, fileName).read(); },
      {.memory = "not enough memory to read this file", .memoryFix = {}, .where = {.file = std::string(fileName)}});
}

}  // namespace coppice::program
