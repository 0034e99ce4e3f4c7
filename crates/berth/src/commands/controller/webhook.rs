//! The admission webhook beside the controllers, or beside the API.

use berth_cluster::admission::Webhook;
use berth_listen::{ListenOptions, Server, TlsOptions};

use crate::{args::LimitArgs, failure::Failure};

/// Opens the port.
pub(crate) async fn webhook(webhook: Webhook, tls: TlsOptions, limits: &LimitArgs) -> Result<Server, Failure> {
    let options = ListenOptions {
        tls: Some(tls),
        plain: None,
        limits: limits.over(Webhook::limits()),
    };
    let server = Server::bind(options, webhook).await?;
    if let Some(address) = server.tls_address() {
        tracing::info!(%address, "admission reviews are answered");
    }
    Ok(server)
}
