# How workerd runs the contracts: one worker, bundled into one file, that may reach loopback. It has no
# compatibility flags: what is not a web standard is not there.

using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (
      name = "contract",
      worker = (
        modules = [(name = "worker.js", esModule = embed "worker.bundle.js")],
        bindings = [(name = "CONTRACT_SURROUNDINGS", fromEnvironment = "CONTRACT_SURROUNDINGS")],
        compatibilityDate = "2026-10-01",
        globalOutbound = "loopback",
      ),
    ),
    (
      name = "loopback",
      network = (allow = ["public", "private", "local"], tlsOptions = (trustBrowserCas = true)),
    ),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "contract")],
);
