# How workerd runs what is traced: with the flag that gives it modules of Node, and bindings that name a service on loopback.

using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (
      name = "traced",
      worker = (
        modules = [(name = "traced.js", esModule = embed "traced.bundle.js")],
        bindings = [
          (name = "HOSTED_PARTNER_ID", fromEnvironment = "HOSTED_PARTNER_ID"),
          (name = "HOSTED_API_KEY", fromEnvironment = "HOSTED_API_KEY"),
          (name = "HOSTED_SANDBOX_BASE_URL", fromEnvironment = "HOSTED_SANDBOX_BASE_URL"),
        ],
        compatibilityDate = "2026-10-01",
        compatibilityFlags = ["nodejs_compat"],
        globalOutbound = "loopback",
      ),
    ),
    (
      name = "loopback",
      network = (allow = ["public", "private", "local"], tlsOptions = (trustBrowserCas = true)),
    ),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "traced")],
);
