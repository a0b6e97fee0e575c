// SPDX-License-Identifier: Apache-2.0
#include "dot/cgraph_session.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <new>
#include <unordered_map>

// Exported by some versions of libcgraph without a declaration: both drop what its scanner still holds after a failed
// read, the second also a string that never ended.
extern "C" void aglexbad(void) __attribute__((weak));
extern "C" int aaglex_destroy(void) __attribute__((weak));  // NOLINT(readability-identifier-naming)

namespace coppice::dot {
namespace {

std::mutex g_cgraphMutex;
CgraphSession* g_session = nullptr;

/// Our own naming service for libcgraph. Its default one takes addresses for identifiers, so that the order of
/// subgraphs would change from run to run; ours counts. And it is the one place that hears of every new object: a graph
/// may be huge although its text is short ({a b c ...} -> {x y z ...}), and libcgraph does not check.
struct Names {
  struct Table {
    std::unordered_map<std::string, IDTYPE> ids;  // even
    std::vector<char*> names;                     // by half the id; libcgraph's own strings, as it looks behind them
  };
  Agraph_t* graph = nullptr;
  Table tables[3];  // graphs, nodes, edges
  IDTYPE nextAnonymous = 1;
  std::size_t edges = 0;

  Table& table(int objectType) { return tables[objectType == AGINEDGE ? AGOUTEDGE : objectType]; }
};

// The only way out of libcgraph's parser is a jump, which leaks the graph it was building.
std::jmp_buf g_escape;
bool g_isReading = false;

enum class Found { yes, no, noRoom };

Found findId(Names& names, int objectType, char* text, IDTYPE* id, bool create) {
  names.edges += create && (objectType == AGOUTEDGE || objectType == AGINEDGE) ? 1 : 0;
  if (names.edges > CgraphSession::kMaxEdges) {
    return Found::noRoom;
  }
  if (text == nullptr) {
    *id = names.nextAnonymous;
    names.nextAnonymous += 2;
    return Found::yes;
  }
  try {
    Names::Table& table = names.table(objectType);
    const std::string name = text;
    if (const auto known = table.ids.find(name); known != table.ids.end()) {
      *id = known->second;
      return Found::yes;
    }
    if (!create) {
      return Found::no;
    }
    char* kept = table.names.size() < CgraphSession::kMaxNodes ? agstrdup(names.graph, text) : nullptr;
    if (kept == nullptr) {
      return Found::noRoom;
    }
    table.names.push_back(kept);
    *id = 2 * table.names.size();
    table.ids.emplace(name, *id);
    return Found::yes;
  } catch (const std::bad_alloc&) {
    return Found::noRoom;
  }
}

void escape() {
  if (g_isReading) {
    g_isReading = false;
    std::longjmp(g_escape, 1);
  }
}

void* openNames(Agraph_t* graph, Agdisc_t*) {
  auto* names = new (std::nothrow) Names;
  if (names == nullptr) {
    escape();
    return nullptr;
  }
  names->graph = graph;
  return names;
}

void closeNames(void* state) {
  delete static_cast<Names*>(state);
}

long mapName(void* state, int objectType, char* text, IDTYPE* id, int create) {
  if (state == nullptr) {
    return 0;
  }
  const Found found = findId(*static_cast<Names*>(state), objectType, text, id, create != 0);
  if (found == Found::noRoom) {
    escape();
  }
  return found == Found::yes ? 1 : 0;
}

char* nameOfId(void* state, int objectType, IDTYPE id) {
  const Names::Table& table = static_cast<Names*>(state)->table(objectType);
  return id % 2 == 0 && id >= 2 && id / 2 <= table.names.size() ? table.names[id / 2 - 1] : nullptr;
}

long allocateId(void*, int, IDTYPE) {
  return 0;  // no caller chooses an id
}

void freeId(void*, int, IDTYPE) {}

void registerId(void*, int, void*) {}

int readFrom(void* channel, char* buffer, int size) {
  auto* rest = static_cast<std::string_view*>(channel);
  const std::size_t count = std::min(rest->size(), static_cast<std::size_t>(std::max(size, 0)));
  std::memcpy(buffer, rest->data(), count);
  rest->remove_prefix(count);
  return static_cast<int>(count);
}

int putInto(void* channel, const char* text) {
  static_cast<std::string*>(channel)->append(text);
  return 0;
}

int flushNothing(void*) {
  return 0;
}

Agdisc_t* discipline() {
  static Agiddisc_t ids = {openNames, mapName, allocateId, freeId, nameOfId, closeNames, registerId};
  static Agiodisc_t io = {readFrom, putInto, flushNothing};
  static Agdisc_t all = {&AgMemDisc, &ids, &io};
  return &all;
}

/// Apart, so that no C++ object lives in the frame that is jumped into.
Agraph_t* readGuarded(std::string_view* rest, bool* isTooLarge) {
  *isTooLarge = false;
  if (setjmp(g_escape) != 0) {
    *isTooLarge = true;
    return nullptr;
  }
  g_isReading = true;
  Agraph_t* graph = agread(rest, discipline());
  g_isReading = false;
  return graph;
}

}  // namespace

CgraphSession::CgraphSession() : m_lock(g_cgraphMutex) {
  g_session = this;
  agseterr(AGWARN);
  agseterrf(hearMessage);
  agreseterrors();
  agreadline(1);
  char noName[] = "";
  agsetfile(noName);
}

CgraphSession::~CgraphSession() {
  if (m_graph != nullptr) {
    agclose(m_graph);
  }
  if (aaglex_destroy != nullptr) {
    aaglex_destroy();
  } else if (aglexbad != nullptr) {
    aglexbad();
  }
  agseterrf(nullptr);
  g_session = nullptr;
}

/// libcgraph sends "Error" or "Warning" and ": " first, then the message.
int CgraphSession::hearMessage(char* text) {
  if (g_session == nullptr) {
    return 0;
  }
  const std::string_view part = text;
  std::vector<CgraphMessage>& messages = g_session->m_messages;
  if (part == "Error" || part == "Error: " || part == "Warning" || part == "Warning: ") {
    if (messages.size() < 100) {
      messages.push_back({part.starts_with("Error"), {}});
    }
  } else if (part != ": " && !messages.empty() && messages.back().text.size() < 1000) {
    messages.back().text += part;
  }
  return 0;
}

ReadState CgraphSession::read(std::string_view text) {
  m_rest = text;
  bool isTooLarge = false;
  m_graph = readGuarded(&m_rest, &isTooLarge);
  if (isTooLarge) {
    return ReadState::tooLarge;
  }
  return m_graph == nullptr ? ReadState::failed : ReadState::ok;
}

bool CgraphSession::hasMore() {
  const std::size_t before = m_messages.size();
  bool isTooLarge = false;
  Agraph_t* second = readGuarded(&m_rest, &isTooLarge);
  const bool hasMore = second != nullptr || isTooLarge || m_messages.size() > before;
  if (second != nullptr) {
    agclose(second);
  }
  m_messages.resize(std::min(m_messages.size(), before));
  return hasMore;
}

void CgraphSession::create(const std::string& name) {
  std::string copy = name;
  m_graph = agopen(name.empty() ? nullptr : copy.data(), Agdirected, discipline());
}

std::string CgraphSession::write() {
  std::string text;
  agwrite(m_graph, &text);
  return text;
}

}  // namespace coppice::dot
