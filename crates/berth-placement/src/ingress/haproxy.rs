//! The configuration of an `HAProxy` in front of routers.

use std::{fmt::Write as _, net::IpAddr};

use super::Ports;

/// A node that runs a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: IpAddr,
}

/// A whole configuration: plain TCP on 80 and 443, and health by the router's own answer.
///
/// A router that is about to stop says so 45 seconds before, so two failed checks five seconds apart take it out in time.
pub fn haproxy_config(domain: &str, servers: &[Server], ports: Ports) -> String {
    let mut text = format!(
        "# Routes below {domain}: let *.{domain} point to this machine.\n\
         global\n    log stderr format raw local0\n    maxconn 20000\n\n\
         defaults\n    mode tcp\n    log global\n    option tcplog\n    option dontlognull\n    timeout connect 5s\n    timeout client 1m\n    \
         timeout server 1m\n    timeout tunnel 1h\n    timeout check 5s\n"
    );
    for (name, bind, port) in [("http", 80, ports.http), ("https", 443, ports.https)] {
        let _ = write!(
            text,
            "\nfrontend {name}\n    bind :::{bind} v4v6\n    default_backend routers-{name}\n\n\
             backend routers-{name}\n    balance source\n    option httpchk\n    http-check send meth GET uri /healthz/ready\n    \
             http-check expect status 200\n    default-server check port {} inter 5s rise 2 fall 2\n",
            ports.stats
        );
        for server in servers {
            let address = match server.address {
                IpAddr::V4(address) => address.to_string(),
                IpAddr::V6(address) => format!("[{address}]"),
            };
            let _ = writeln!(text, "    server {} {address}:{port}", server.name);
        }
    }
    text
}
