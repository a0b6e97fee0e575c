// SPDX-License-Identifier: Apache-2.0
#include "patch/wiring.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/checked.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "patch/colouring.hpp"

namespace coppice::patch {
namespace {

using std::size_t;

constexpr std::string_view kHeader = "cable,from,from_port,to,to_port,panel,panel_from,panel_to";

std::string quoted(const std::string& id) {
  if (id.find_first_of(",\"\n\r") == std::string::npos) {
    return id;
  }
  std::string text = "\"";
  for (const char c : id) {
    text += c == '"' ? "\"\"" : std::string(1, c);
  }
  return text + "\"";
}

/// Cells of one line; a cell in double quotes may hold commas.
std::vector<std::string> cells(std::string_view line) {
  std::vector<std::string> result(1);
  bool isQuoted = false;
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '"' && isQuoted && at + 1 < line.size() && line[at + 1] == '"') {
      result.back() += c;
      ++at;
    } else if (c == '"') {
      isQuoted = !isQuoted;
    } else if (c == ',' && !isQuoted) {
      result.emplace_back();
    } else if (c != '\r') {
      result.back() += c;
    }
  }
  return result;
}

/// Duplex links on an odd number of ports: in order.
void numberInOrder(const Links& links, Wiring& wiring) {
  std::vector<int> next(links.ids.size(), 0);
  for (const auto& [a, b] : links.ends) {
    const int portA = next[static_cast<size_t>(a)]++;
    const int portB = next[static_cast<size_t>(b)]++;
    wiring.cables.push_back({{a, portA}, {b, portB}});
    wiring.ports = std::max({wiring.ports, portA + 1, portB + 1});
  }
}

std::vector<int> undirectedDegrees(const Links& links) {
  std::vector<int> degree(links.ids.size(), 0);
  for (const auto& [a, b] : links.ends) {
    ++degree[static_cast<size_t>(a)];
    ++degree[static_cast<size_t>(b)];
  }
  return degree;
}

}  // namespace

int Wiring::panelOf(const Cable& cable) const {
  if (panels == 1) {
    return 0;
  }
  return kind == CableKind::simplex ? cable.from.port : cable.from.port / 2;
}

int Wiring::panelPort(const Plug& plug) const {
  if (panels == 1) {
    return plug.node * ports + plug.port;
  }
  return kind == CableKind::simplex ? plug.node : plug.node * 2 + plug.port % 2;
}

Wiring assignPorts(const Links& links) {
  Wiring wiring;
  wiring.kind = links.kind;
  wiring.ids = links.ids;
  std::vector<std::pair<int, int>> arcs = links.ends;
  const bool isDuplex = links.kind == CableKind::duplex;
  if (isDuplex) {
    const std::vector<int> degrees = undirectedDegrees(links);
    if (*std::max_element(degrees.begin(), degrees.end()) % 2 == 1) {
      numberInOrder(links, wiring);
      return wiring;
    }
    const std::vector<bool> directions = eulerDirections(links.nodeCount(), arcs);
    for (size_t i = 0; i < arcs.size(); ++i) {
      if (!directions[i]) {
        std::swap(arcs[i].first, arcs[i].second);
      }
    }
  }
  const std::vector<int> colours = colourArcs(links.nodeCount(), arcs);
  wiring.panels = largestDegree(links.nodeCount(), arcs);
  wiring.ports = isDuplex ? 2 * wiring.panels : wiring.panels;
  for (size_t i = 0; i < arcs.size(); ++i) {
    const int colour = colours[i];
    wiring.cables.push_back(
        {{arcs[i].first, isDuplex ? 2 * colour : colour}, {arcs[i].second, isDuplex ? 2 * colour + 1 : colour}});
  }
  std::sort(wiring.cables.begin(), wiring.cables.end());
  return wiring;
}

std::vector<std::pair<int, int>> linksOf(const Wiring& wiring) {
  std::vector<std::pair<int, int>> links;
  for (const Cable& cable : wiring.cables) {
    links.emplace_back(cable.from.node, cable.to.node);
    if (wiring.kind == CableKind::duplex && links.back().first > links.back().second) {
      std::swap(links.back().first, links.back().second);
    }
  }
  std::sort(links.begin(), links.end());
  return links;
}

std::string faultOf(const Wiring& wiring, const Links& wanted) {
  const bool isSimplex = wiring.kind == CableKind::simplex;
  std::set<Plug> sending;
  std::set<Plug> receiving;  // a simplex port has a transmitter and a receiver
  for (const Cable& cable : wiring.cables) {
    for (const bool isFrom : {true, false}) {
      const Plug& plug = isFrom ? cable.from : cable.to;
      const std::string port =
          "port " + std::to_string(plug.port + 1) + " of " + wiring.ids[static_cast<size_t>(plug.node)];
      if (plug.port < 0 || plug.port >= wiring.ports) {
        return port + " does not exist";
      }
      if (!(isSimplex && !isFrom ? receiving : sending).insert(plug).second) {
        return port + " takes two cables";
      }
    }
    const int otherPanel = isSimplex ? cable.to.port : cable.to.port / 2;
    if (wiring.panels > 1 && wiring.panelOf(cable) != otherPanel) {
      return "a cable of " + wiring.ids[static_cast<size_t>(cable.from.node)] + " leaves its panel";
    }
  }
  std::vector<std::pair<int, int>> links = wanted.ends;
  std::sort(links.begin(), links.end());
  return links == linksOf(wiring) ? std::string() : "the cables do not make the links of the fabric";
}

std::string toCsv(const Wiring& wiring) {
  std::string text(kHeader);
  text += "\n";
  int number = 0;
  for (const Cable& cable : wiring.cables) {
    text += std::to_string(++number) + "," + quoted(wiring.ids[static_cast<size_t>(cable.from.node)]) + "," +
            std::to_string(cable.from.port + 1) + "," + quoted(wiring.ids[static_cast<size_t>(cable.to.node)]) + "," +
            std::to_string(cable.to.port + 1) + "," + std::to_string(wiring.panelOf(cable) + 1) + "," +
            std::to_string(wiring.panelPort(cable.from) + 1) + "," + std::to_string(wiring.panelPort(cable.to) + 1) +
            "\n";
  }
  return text;
}

std::string toPrintable(const Wiring& wiring) {
  std::vector<std::vector<std::string>> panels(static_cast<size_t>(wiring.panels));
  int number = 0;
  size_t width = 4;
  for (const std::string& id : wiring.ids) {
    width = std::max(width, id.size());
  }
  const auto padded = [](std::string text, size_t size) {
    text.resize(std::max(text.size(), size), ' ');
    return text;
  };
  for (const Cable& cable : wiring.cables) {
    const auto end = [&](const Plug& plug) {
      return padded(wiring.ids[static_cast<size_t>(plug.node)], width) + " port " +
             padded(std::to_string(plug.port + 1), 3) + " (panel port " + std::to_string(wiring.panelPort(plug) + 1) +
             ")";
    };
    panels[static_cast<size_t>(wiring.panelOf(cable))].push_back(
        "[ ] " + padded(std::to_string(++number), 6) + padded(end(cable.from), width + 30) +
        (wiring.kind == CableKind::simplex ? " -> " : " -- ") + end(cable.to));
  }
  std::string text;
  for (size_t panel = 0; panel < panels.size(); ++panel) {
    text += (panel == 0 ? "" : "\n") + ("Panel " + std::to_string(panel + 1)) + ": " +
            std::to_string(panels[panel].size()) + " cables\n";
    for (const std::string& row : panels[panel]) {
      text += row + "\n";
    }
  }
  return text;
}

Result<Wiring> readCsv(std::string_view text, CableKind kind, const std::vector<std::string>& order) {
  Wiring wiring;
  wiring.kind = kind;
  wiring.ids = order;
  std::map<std::string, int> numbers;
  for (size_t i = 0; i < order.size(); ++i) {
    numbers[order[i]] = static_cast<int>(i);
  }
  int line = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string> row = cells(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    if (row.size() == 1 && row.front().empty()) {
      continue;
    }
    const auto bad = [&](const std::string& what) {
      return Error{ErrorCode::badInput, what, "give a table as `patch` writes it: " + std::string(kHeader),
                   Place{.line = line}};
    };
    if (line == 1) {
      if (row.size() < 5 || row[1] != "from" || row[2] != "from_port" || row[3] != "to" || row[4] != "to_port") {
        return bad("this is not a patch table");
      }
      continue;
    }
    Cable cable;
    const auto readPlug = [&](const std::string& id, const std::string& port, Plug& plug) {
      const auto it = numbers.find(id);
      const int number = numberIn<int>(port).value_or(0);
      if (it == numbers.end() || number < 1 || number > kMaxCables) {
        return false;
      }
      plug = {it->second, number - 1};
      return true;
    };
    if (row.size() < 5 || !readPlug(row[1], row[2], cable.from) || !readPlug(row[3], row[4], cable.to)) {
      return bad("the line names no known GPU or no port");
    }
    wiring.ports = std::max({wiring.ports, cable.from.port + 1, cable.to.port + 1});
    wiring.cables.push_back(cable);
  }
  std::sort(wiring.cables.begin(), wiring.cables.end());
  return wiring;
}

Rational costOf(const Wiring& wiring, const Prices& prices) {
  const auto cables = static_cast<std::int64_t>(wiring.cables.size());
  // A simplex port is used where its transmitter or its receiver is.
  std::set<Plug> used;
  for (const Cable& cable : wiring.cables) {
    used.insert(cable.from);
    used.insert(cable.to);
  }
  return prices.cable * Rational(cables) +
         (prices.port + prices.panelPort) * Rational(static_cast<std::int64_t>(used.size()));
}

}  // namespace coppice::patch
