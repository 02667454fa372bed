// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include <csignal>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "../end_eal.h"
#include "../subcommands.h"
#include "server.h"

namespace chime::app {
namespace {

volatile bool stop = false;

struct ServeOptions {
  std::vector<std::string> nics;
  std::string control;
  std::string eal;
};

/// EAL carries the wires; it needs little memory and shares none.
bool start_eal(const std::string& more) {
  std::vector<std::string> words{"chime",    "--no-huge",   "--no-shconf",   "-m", "128", "--no-telemetry",
                                 "--no-pci", "--log-level", "lib.eal:error", "-l", "0"};
  std::istringstream in(more);
  for (std::string word; in >> word;) words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) >= 0) return true;
  std::fprintf(stderr, "chime serve: EAL did not start: %s\n", rte_strerror(rte_errno));
  return false;
}

int run(const ServeOptions& options) {
  std::vector<serve::NicOptions> nics;
  for (const std::string& text : options.nics) {
    auto nic = serve::NicOptions::parse(text);
    if (!nic) {
      std::fprintf(stderr, "chime serve: %s\n", nic.error().text);
      return 2;
    }
    nics.push_back(std::move(*nic));
  }
  if (!start_eal(options.eal)) return 1;
  int status = 1;
  {
    auto server = serve::Server::create(nics, options.control);
    if (server) {
      std::signal(SIGINT, [](int) { stop = true; });
      std::signal(SIGTERM, [](int) { stop = true; });
      fmt::print("serving {} cards\n", nics.size());
      std::fflush(stdout);
      status = (*server)->run(stop);
    } else {
      std::fprintf(stderr, "chime serve: %s\n", server.error().text);
    }
  }
  end_eal();
  return status;
}

}  // namespace

void add_serve(CLI::App& app, int& status) {
  static ServeOptions options;
  CLI::App* const command = app.add_subcommand(
      "serve", "Serves software HCAs to QEMU guests as PCI functions (vfio-user-pci, x-pci-proxy-dev).");
  command
      ->add_option("--nic", options.nics,
                   "name=NAME,vfio-user=PATH[,wire=loop|cable:NAME|tap:IF|ETHDEV]"
                   "[,profile=NAME|/FILE][,mac=M]; once a card. QEMU before 10.1: fd=N,qtest=PATH instead of "
                   "vfio-user")
      ->required()
      ->delimiter('\0');
  command->add_option("--control", options.control, "path of a socket for link, faults, health and counters");
  command->add_option("--eal", options.eal, "more EAL arguments, such as the --vdev of wires");
  command->callback([&status] { status = run(options); });
}

}  // namespace chime::app
