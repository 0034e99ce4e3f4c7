//! How a machine fetches its Ignition config: over HTTP, with its token.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use reqwest::{
    Client, StatusCode,
    header::{ACCEPT, USER_AGENT},
    redirect::Policy,
};
use thiserror::Error;

/// For one try.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why there is no config.
#[derive(Debug, Error)]
pub enum FetchError {
    /// The system gives no HTTP client.
    #[error("there is no HTTP client")]
    Client(#[source] reqwest::Error),
    /// The server is not there.
    #[error("the server at {address} does not answer")]
    Unreachable {
        /// Where it should be.
        address: SocketAddr,
        /// What the network said.
        #[source]
        source: reqwest::Error,
    },
    /// The server says no.
    #[error("{status}: {body}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// What the server says about it.
        body: String,
    },
}

/// The Ignition server as machines know it.
#[derive(Clone, Debug)]
pub struct IgnitionSource {
    address: SocketAddr,
    tokens: Arc<BTreeMap<String, String>>,
    client: Client,
}

impl IgnitionSource {
    /// The server's address, and the token of each machine.
    pub fn new(address: SocketAddr, tokens: BTreeMap<String, String>) -> Result<Self, FetchError> {
        let client = Client::builder()
            .timeout(PATIENCE)
            .no_proxy()
            .redirect(Policy::none())
            // Each machine has a connection of its own.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(FetchError::Client)?;
        Ok(Self {
            address,
            tokens: Arc::new(tokens),
            client,
        })
    }

    /// Fetches the config of one machine.
    pub async fn fetch(&self, machine: &str) -> Result<Vec<u8>, FetchError> {
        let unreachable = |source| FetchError::Unreachable {
            address: self.address,
            source,
        };
        let mut request = self
            .client
            .get(format!("http://{}/node/{machine}", self.address))
            .header(ACCEPT, "application/vnd.coreos.ignition+json;version=3.4.0, */*;q=0.1")
            .header(USER_AGENT, "Ignition/2.20.0");
        if let Some(token) = self.tokens.get(machine) {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.map_err(unreachable)?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(unreachable)?;
        if status == StatusCode::OK {
            return Ok(body.into());
        }
        let body = String::from_utf8_lossy(&body).trim().to_owned();
        Err(FetchError::Refused { status, body })
    }
}
