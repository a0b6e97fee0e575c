// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>
#include <set>

#include "base/one_line.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "fabric/fabric.hpp"
#include "input.hpp"
#include "io/cluster_files.hpp"
#include "io/fabric_json.hpp"
#include "text.hpp"

namespace coppice::cli {
namespace {

struct ImportFiles {
  std::vector<std::string> files;
  std::string output;
  io::ImportAnswers answers;
};

Json originJson(const io::NumberOrigin& origin) {
  return {{"what", origin.what},
          {"bandwidth", toFraction(origin.bandwidth)},
          {"links", origin.links},
          {"source", io::toString(origin.source)},
          {"detail", origin.detail}};
}

Result<std::vector<io::ClusterFile>> readFiles(const ImportFiles& options) {
  std::vector<io::ClusterFile> files;
  for (const std::string& name : options.files) {
    auto text = workflow::readText(name, readStandardInput);
    if (!text) {
      return text.error();
    }
    const auto format = io::detectFormat(name == "-" ? std::string() : name, *text);
    if (!format) {
      return format.error();
    }
    files.push_back({*std::move(text), workflow::inputName(name), *format});
  }
  return files;
}

/// What is in a fabric that can be built.
Outcome describeCluster(const fabric::Description& description, Report& report) {
  const auto built = fabric::Fabric::build(description);
  if (!built) {
    return built.error();
  }
  std::array<int, 3> kinds{};
  std::set<std::string> hosts;
  for (const fabric::Node& node : built->nodes()) {
    ++kinds[static_cast<std::size_t>(node.kind)];
    if (!node.box.empty()) {
      hosts.insert(node.box.substr(0, node.box.find('/')));
    }
  }
  report.json["hosts"] = hosts.size();
  report.json["gpus"] = kinds[0];
  report.json["nics"] = kinds[1];
  report.json["switches"] = kinds[2];
  report.json["links"] = description.links.size();
  report.text += "  nodes       " + counted(static_cast<std::int64_t>(hosts.size()), "host") + ", " +
                 counted(kinds[0], "GPU") + ", " + counted(kinds[1], "NIC") + ", " +
                 counted(kinds[2], "switch", "switches") + "\n";
  return Done{};
}

Result<Report> run(const ImportFiles& options, bool json) {
  const auto files = readFiles(options);
  if (!files) {
    return files.error();
  }
  const auto import = workflow::readImportOptions(options.answers);
  if (!import) {
    return import.error();
  }
  for (const std::string& file : options.files) {
    if (const Outcome kept = keepInput(file, options.output); !kept) {
      return kept.error();
    }
  }
  const auto imported = io::importCluster(*files, *import);
  if (!imported) {
    return imported.error();
  }
  const std::string text = io::writeFabricJson(imported->description);
  Report report;
  report.json = {{"ok", true}, {"fabric", imported->description.name}, {"files", Json::array()}};
  report.text = named(imported->description.name) + ": imported from ";
  for (std::size_t i = 0; i < files->size(); ++i) {
    const io::ClusterFile& file = (*files)[i];
    report.json["files"].push_back({{"file", file.name}, {"format", io::toString(file.format)}});
    report.text += (i == 0 ? "" : ", ") + oneLine(file.name) + " (" + std::string(io::toString(file.format)) + ")";
  }
  report.text += "\n";
  if (const Outcome described = describeCluster(imported->description, report); !described) {
    return described.error();
  }
  report.json["origins"] = Json::array();
  for (const io::NumberOrigin& origin : imported->origins) {
    report.json["origins"].push_back(originJson(origin));
    report.text += "  " + origin.what + ": " + toExactText(origin.bandwidth) + " GB/s, " +
                   counted(static_cast<std::int64_t>(origin.links), "link") + "; " +
                   std::string(io::toString(origin.source)) + ": " + oneLine(origin.detail) + "\n";
  }
  report.json["findings"] = toJson(imported->findings);
  if (const Outcome delivered = deliver(options.output, text, "  fabric      ", json, report); !delivered) {
    return delivered.error();
  }
  report.text += lines(imported->findings);
  return report;
}

}  // namespace

void addImport(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "import", "Make one fabric of the files that describe a cluster: its network and its hosts",
      "  coppice-cli import ibnetdiscover.txt host.xml -o cluster.fabric.json\n"
      "  coppice-cli import topology.conf h100.txt --nic-bandwidth 400Gb/s -o cluster.fabric.json\n"
      "  coppice-cli import node0.xml node1.xml --scale-out rails -o pair.fabric.json\n"
      "  coppice-cli import tray.txt domains.txt -o rack.fabric.json\n"
      "  coppice-cli import ibnetdiscover.txt host.xml --hosts 'dgx*' -o cluster.fabric.json --json");
  auto options = std::make_shared<ImportFiles>();
  sub.add_option("files", options->files,
                 "Networks (ibnetdiscover, slurm), hosts (nccl-xml, nvidia-smi, rocm-smi, hwloc), and NVLink domains "
                 "(nvidia-smi -q)")
      ->required();
  sub.add_option("-o,--output", options->output, "File to write; - for standard output")->required();
  addImportOptions(sub, options->answers);
  sub.add_option("--set", options->answers.numbers,
                 "Another number for links that the import lists: \"a cable between switches=100\", or only those of "
                 "50: \"a cable between switches@50=100\"");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress&) { return run(*options, invocation.json); };
  });
}

}  // namespace coppice::cli
