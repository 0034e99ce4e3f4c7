//! The admission webhook beside the controllers, or beside the API.

use std::{net::SocketAddr, path::Path};

use berth_cluster::admission::Webhook;
use berth_server::{ListenOptions, Reviews, Server, TlsOptions};

use crate::failure::{Chain, Failure};

/// Opens the port.
pub(crate) async fn webhook(
    webhook: Webhook,
    address: SocketAddr,
    certificate: &Path,
    key: &Path,
) -> Result<Server, Failure> {
    let reviews = Reviews::new(move |path, body| {
        let webhook = webhook.clone();
        async move {
            let answer = webhook.answer(&path, &body).await;
            answer.map_err(|error| Chain(&error).to_string())
        }
    });
    let options = ListenOptions {
        tls: Some(TlsOptions::new(address, certificate, key)),
        ..ListenOptions::default()
    };
    let server = Server::bind(options, reviews).await?;
    if let Some(address) = server.tls_address() {
        tracing::info!(%address, "admission reviews are answered");
    }
    Ok(server)
}
