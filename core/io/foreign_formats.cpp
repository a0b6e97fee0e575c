// SPDX-License-Identifier: Apache-2.0
#include "io/foreign_formats.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/ascii.hpp"
#include "base/rational.hpp"

namespace coppice::io {
namespace {

constexpr std::size_t kGlance = std::size_t{1} << 20;

/// Marks that must all be in the text.
struct Fingerprint {
  std::string_view what;
  std::vector<std::string_view> marks;
  std::string_view advice;
};

const std::vector<Fingerprint>& fingerprints() {
  static const std::string_view kNetwork = "give the output of ibnetdiscover, or Slurm's topology.conf";
  static const std::string_view kMatrix = "give the output of: nvidia-smi topo -m";
  static const std::string_view kDump = "give the topology file that NCCL writes with NCCL_TOPO_DUMP_FILE";
  static const std::vector<Fingerprint> kAll{
      // XML
      {"GraphML", {"<graphml"}, "convert it to Graphviz DOT or to networkx's node-link JSON"},
      {"GEXF", {"<gexf"}, "convert it to Graphviz DOT or to networkx's node-link JSON"},
      {"the graphs that NCCL found (NCCL_GRAPH_DUMP_FILE)", {"<graphs "}, kDump},
      {"an MSCCL program", {"<algo ", "<gpu "}, "open it as a program: coppice-cli verify"},
      {"the XML of nvidia-smi -q -x", {"<nvidia_smi_log"}, kMatrix},
      {"a libvirt description", {"<capabilities>", "<topology>"}, "give lstopo's XML of the machine"},
      {"lshw's XML", {"<node id=", "claimed="}, "give lstopo's XML of the machine"},
      {"an HTML page", {"<html"}, "save the text of the page, not the page"},
      {"an SVG picture", {"<svg"}, "give the description that it was drawn from"},
      {"a draw.io diagram", {"<mxfile"}, "export it as Graphviz DOT, or write a table of links"},
      // JSON
      {"an msccl++ execution plan", {"\"num_threads_per_block\"", "\"gpus\""}, "it is a program, not a fabric"},
      {"a Chakra or PyTorch trace", {"\"traceEvents\""}, "give the topology of the machine"},
      {"NetBox cables", {"\"a_terminations\"", "\"b_terminations\""}, kNetwork},
      {"lldpctl's neighbours", {"\"lldp\"", "\"interface\"", "\"chassis\""}, kNetwork},
      {"lldpctl's neighbours", {"LLDP neighbors:"}, kNetwork},
      {"a Chakra trace", {"chakra", "\"schema\""}, "give the topology of the machine"},
      {"a schedule of TE-CCL", {"Epoch_Duration"}, "open it as a schedule: coppice-cli verify"},
      {"JSON Graph Format",
       {"\"graph\"", "\"nodes\"", "\"edges\"", "\"source\""},
       "convert it to networkx's node-link JSON"},
      {"ASTRA-sim's system", {"\"scheduling-policy\""}, "give the network's YAML with npus_count and bandwidth"},
      {"a topology of MSCCL tools", {"\"switches\"", "\"links\"", "msccl_type"}, "write it as a matrix of bandwidths"},
      {"a topology of NetQ", {"\"compounded_links\""}, kNetwork},
      {"a list of compute nodes of NMX", {"\"DomainUUID\"", "\"GpuIDList\""}, kNetwork},
      {"Cytoscape's JSON", {"\"elements\"", "\"data\""}, "convert it to networkx's node-link JSON"},
      {"a topology of NVIDIA Air", {"\"oob\"", "\"nodes\"", "\"links\""}, kNetwork},
      {"nvidia-smi's or DCGM's JSON", {"\"driver_version\"", "\"attached_gpus\""}, kMatrix},
      {"lspci's or lsblk's JSON", {"\"blockdevices\""}, "give lstopo's XML of the machine"},
      // YAML
      {"a containerlab topology", {"topology:", "endpoints:", "kind:"}, kNetwork},
      {"a Kubernetes object", {"apiVersion:", "kind:"}, "give the topology of the cluster's network"},
      // Texts of tools
      {"ibnetdiscover's list of ports (-p)", {"SW ", " 0x", "( '"}, "give the output of ibnetdiscover without -p"},
      {"the output of iblinkinfo", {"==("}, "give the output of: ibnetdiscover"},
      {"the output of ibstat", {"CA '", "Base lid:"}, "give the output of: ibnetdiscover"},
      {"the output of ibhosts", {"Ca\t: 0x"}, "give the output of: ibnetdiscover"},
      {"the output of ibswitches", {"Switch\t: 0x"}, "give the output of: ibnetdiscover"},
      {"a database of ibdiagnet", {"START_LINKS"}, "give the output of: ibnetdiscover"},
      {"a database of ibdiagnet", {"START_NODES"}, "give the output of: ibnetdiscover"},
      {"the output of p2pBandwidthLatencyTest", {"P2P (Peer-to-Peer)"}, kMatrix},
      {"the output of p2pBandwidthLatencyTest", {"D\\D"}, kMatrix},
      {"the output of nvidia-smi -L", {"GPU 0: ", "(UUID: "}, kMatrix},
      {"a query of nvidia-smi", {"index", "pci.bus_id"}, kMatrix},
      {"the output of numactl --hardware", {"node distances:"}, "give lstopo's XML of the machine"},
      {"Slurm's slurm.conf", {"NodeName=", "PartitionName="}, "give Slurm's topology.conf"},
      {"Slurm's slurm.conf", {"ClusterName=", "SlurmctldHost="}, "give Slurm's topology.conf"},
      {"the output of sinfo", {"PARTITION", "NODELIST"}, "give Slurm's topology.conf"},
      {"the output of scontrol show node", {"NodeName=", "CPUTot="}, "give Slurm's topology.conf"},
      {"the output of ethtool", {"Settings for ", "Speed: "}, kNetwork},
      {"a configuration of BookSim", {"routing_function", "topology"}, "write a table of links or Graphviz DOT"},
      {"a network of OMNeT++", {"submodules:", "connections"}, "write a table of links or Graphviz DOT"},
      {"the output of nvidia-smi", {"| NVIDIA-SMI "}, kMatrix},
      {"the output of nvidia-smi -q", {"NVSMI LOG"}, kMatrix},
      {"the output of rocm-smi without the topology",
       {"ROCm System Management"},
       "give the output of: rocm-smi --showtopo"},
      {"the output of lscpu", {"Architecture:", "NUMA node(s):"}, "give lstopo's XML of the machine"},
      {"the output of lstopo as text", {"Machine (", "PU L#"}, "write XML: lstopo machine.xml"},
      {"the output of lspci", {"-[0000:00]-"}, "give lstopo's XML of the machine"},
      {"the output of lspci", {"PCI bridge:", "Host bridge:"}, "give lstopo's XML of the machine"},
      {"the output of lspci", {":00.0 3D controller"}, "give lstopo's XML of the machine"},
      {"the output of lspci", {":00.0 ", "Infiniband controller"}, "give lstopo's XML of the machine"},
      {"a log of NCCL", {"NCCL INFO"}, kDump},
      {"a log of nccl-tests", {"# nThread", "minBytes"}, "give the topology of the machine"},
      {"a table of nccl-tests", {"algbw", "busbw"}, "give the topology of the machine"},
      {"GML", {"graph [", "node [", "edge ["}, "convert it to Graphviz DOT"},
      {"GML", {"graph", "node", "edge", "source", "target", "["}, "convert it to Graphviz DOT"},
      {"Pajek", {"*Vertices"}, "convert it to Graphviz DOT"},
      {"Pajek", {"*vertices"}, "convert it to Graphviz DOT"},
      {"a file of DIMACS", {"\np max "}, "convert it to Graphviz DOT"},
      {"Mermaid", {"graph TD"}, "write it as Graphviz DOT"},
      {"PlantUML", {"@startuml"}, "write it as Graphviz DOT"},
      {"a topology file of OpenSM or UFM", {"\t\"S-"}, "give the output of: ibnetdiscover"},
      {"ASTRA-sim's logical topology", {"\"logical-dims\""}, "give the network's YAML with npus_count and bandwidth"},
      {"a Python program", {"import ", "def "}, "run it, and give what it writes"}};
  return kAll;
}

std::string_view rootName(std::string_view text) {
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    if (at + 1 < text.size() && text[at + 1] != '?' && text[at + 1] != '!') {
      const std::size_t end = std::min(text.find_first_of(" \t\r\n/>", at + 1), text.size());
      return text.substr(at + 1, std::min<std::size_t>(end - at - 1, 32));
    }
  }
  return {};
}

bool isNumber(std::string_view word) {
  return !word.empty() && Rational::parse(std::string(word)).hasValue();
}

}  // namespace

std::optional<ForeignFormat> foreignFormat(std::string_view text) {
  text = text.substr(0, kGlance);
  if (text.starts_with("%PDF")) {
    return ForeignFormat{"a PDF", "give the text that it was made from"};
  }
  if (text.starts_with("PK\x03\x04")) {
    return ForeignFormat{"a ZIP archive or an office document", "unpack it, or save the table as CSV"};
  }
  if (text.starts_with("\x1F\x8B")) {
    return ForeignFormat{"a gzip archive", "unpack it: gunzip"};
  }
  if (text.starts_with("\x28\xB5\x2F\xFD") || text.starts_with("BZh") ||
      text.starts_with("\xFD"
                       "7zXZ")) {
    return ForeignFormat{"a compressed file", "unpack it"};
  }
  if (text.starts_with("\x89PNG") || text.starts_with("\xFF\xD8\xFF")) {
    return ForeignFormat{"a picture", "give the text that it shows"};
  }
  if (text.substr(0, 4096).find('\0') != std::string_view::npos) {
    return ForeignFormat{"a binary file", "give a text"};
  }
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const bool isJson = begin != std::string_view::npos && text[begin] == '{';
  for (const Fingerprint& print : fingerprints()) {
    if (!(isJson && print.what == "GML") &&
        std::all_of(print.marks.begin(), print.marks.end(),
                    [&](std::string_view mark) { return text.find(mark) != std::string_view::npos; })) {
      return ForeignFormat{std::string(print.what), std::string(print.advice)};
    }
  }
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text[start] == '<') {
    if (const std::string_view root = rootName(text); !root.empty()) {
      return ForeignFormat{"XML with the root element <" + std::string(root) + ">",
                           "NCCL's topology has <system>, lstopo's <topology>, ForestColl's trees <Algo>"};
    }
  }
  return std::nullopt;
}

namespace {

std::vector<std::string_view> cellsOf(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    at = std::min(line.find_first_not_of(" \t\r,;\"", at), line.size());
    const std::size_t stop = std::min(line.find_first_of(" \t\r,;\"", at), line.size());
    if (stop > at) {
      words.push_back(line.substr(at, stop - at));
    }
    at = stop;
  }
  return words;
}

/// Calls `take` with the cells of each line that has some and is no comment, until it returns false.
template <typename Take>
void forEachRow(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::vector<std::string_view> cells = cellsOf(line);
    if (!cells.empty() && !cells.front().starts_with("#") && !take(cells)) {
      return;
    }
  }
}

}  // namespace

bool hasRowOfNumbers(std::string_view text) {
  bool has = false;
  forEachRow(text.substr(0, kGlance), [&](const std::vector<std::string_view>& cells) {
    const auto numbers = static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), isNumber));
    has = numbers >= 2 && numbers + 1 >= cells.size();
    return !has;
  });
  return has;
}

bool namesEndsOfLinks(std::string_view text) {
  bool hasTail = false;
  bool hasHead = false;
  forEachRow(text.substr(0, kGlance), [&](const std::vector<std::string_view>& cells) {
    for (const std::string_view cell : cells) {
      const std::string word = lowered(cell);
      hasTail = hasTail || word == "src" || word == "source" || word == "from" || word == "tail";
      hasHead = hasHead || word == "dst" || word == "dest" || word == "destination" || word == "target" ||
                word == "to" || word == "head";
    }
    return false;
  });
  return hasTail && hasHead;
}

bool looksLikeTextMatrix(std::string_view text) {
  std::vector<std::vector<std::string_view>> rows;
  bool isNamed = false;
  while (!text.empty() && rows.size() < 4098) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find("compute_nodes") != std::string_view::npos) {
      isNamed = true;
      continue;
    }
    if (const std::size_t first = line.find_first_not_of(" \t\r");
        first == std::string_view::npos || line[first] == '#') {
      continue;
    }
    std::vector<std::string_view> words = cellsOf(line);
    if (!words.empty()) {
      rows.push_back(std::move(words));
    }
  }
  if (isNamed) {
    return true;
  }
  const auto areNumbers = [](const std::vector<std::string_view>& row, std::size_t from) {
    return std::all_of(row.begin() + static_cast<std::ptrdiff_t>(from), row.end(), isNumber);
  };
  // The rows of numbers; one may be a digit or two off, which the reader then says.
  std::size_t numeric = 0;
  std::size_t columns = 0;
  for (const auto& row : rows) {
    if (areNumbers(row, 0)) {
      ++numeric;
      columns = std::max(columns, row.size());
    } else if (row.size() > 1 && areNumbers(row, 1)) {
      ++numeric;
      columns = std::max(columns, row.size() - 1);
    }
  }
  const std::size_t n = std::max(numeric, columns);
  return numeric >= 2 && columns >= 2 && n - std::min(numeric, columns) <= 1 + n / 8 && rows.size() - numeric <= 1;
}

}  // namespace coppice::io
