// SPDX-License-Identifier: Apache-2.0
#include "dot/cgraph_session.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstring>

// Exported by some versions of libcgraph without a declaration: both drop what its scanner still holds after a failed
// read, the second also a string that never ended.
extern "C" void aglexbad(void) __attribute__((weak));
extern "C" int aaglex_destroy(void) __attribute__((weak));

namespace coppice::dot {
namespace {

std::mutex g_cgraphMutex;
CgraphSession* g_session = nullptr;

// A graph may be huge although its text is short ({a b c ...} -> {x y z ...}), and libcgraph asks nobody. Its
// identifier service is ours, so the count is kept there; the only way out of its parser is a jump, which leaks that
// graph.
std::size_t g_nodes = 0;
std::size_t g_edges = 0;
std::jmp_buf g_escape;
bool g_isReading = false;

long mapId(void* state, int objectType, char* text, IDTYPE* id, int create) {
  if (create != 0 && g_isReading) {
    g_nodes += objectType == AGNODE ? 1 : 0;
    g_edges += objectType == AGEDGE || objectType == AGINEDGE ? 1 : 0;
    // A name that is known counts again here; nodes are mentioned at most once per byte, hence the wide margin.
    if (g_nodes > 16 * CgraphSession::kMaxNodes || g_edges > CgraphSession::kMaxEdges) {
      g_isReading = false;
      std::longjmp(g_escape, 1);
    }
  }
  return AgIdDisc.map(state, objectType, text, id, create);
}

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
  static Agiddisc_t ids = [] {
    Agiddisc_t copy = AgIdDisc;
    copy.map = mapId;
    return copy;
  }();
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
  g_nodes = 0;
  g_edges = 0;
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
