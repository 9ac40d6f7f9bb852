# How workerd runs the recipe for Hono: its bindings are the variables of a service, which it reaches by loopback.

using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (
      name = "hono",
      worker = (
        modules = [(name = "hono-on-workers.js", esModule = embed "hono-on-workers.bundle.js")],
        bindings = [
          (name = "HOSTED_PARTNER_ID", fromEnvironment = "HOSTED_PARTNER_ID"),
          (name = "HOSTED_API_KEY", fromEnvironment = "HOSTED_API_KEY"),
          (name = "HOSTED_SANDBOX_BASE_URL", fromEnvironment = "HOSTED_SANDBOX_BASE_URL"),
        ],
        compatibilityDate = "2026-10-01",
        globalOutbound = "loopback",
      ),
    ),
    (
      name = "loopback",
      network = (allow = ["public", "private", "local"], tlsOptions = (trustBrowserCas = true)),
    ),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "hono")],
);
