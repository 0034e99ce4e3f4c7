//! How a machine fetches its Ignition config: over HTTP, with its token.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use thiserror::Error;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// For one try.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why there is no config.
#[derive(Debug, Error)]
pub enum FetchError {
    /// The server is not there.
    #[error("the server at {0} does not answer")]
    Unreachable(SocketAddr),
    /// The server says no.
    #[error("{status}: {body}")]
    Refused {
        /// The status line.
        status: String,
        /// What the server says about it.
        body: String,
    },
}

/// The Ignition server as machines know it.
#[derive(Clone, Debug)]
pub struct IgnitionSource {
    address: SocketAddr,
    tokens: Arc<BTreeMap<String, String>>,
}

impl IgnitionSource {
    /// The server's address, and the token of each machine.
    pub fn new(address: SocketAddr, tokens: BTreeMap<String, String>) -> Self {
        Self {
            address,
            tokens: Arc::new(tokens),
        }
    }

    /// Fetches the config of one machine.
    pub async fn fetch(&self, machine: &str) -> Result<Vec<u8>, FetchError> {
        let unreachable = || FetchError::Unreachable(self.address);
        let answer = tokio::time::timeout(PATIENCE, self.ask(machine))
            .await
            .map_err(|_| unreachable())?
            .map_err(|_| unreachable())?;
        let (head, body) = split(&answer).ok_or_else(unreachable)?;
        let status = head.lines().next().unwrap_or_default();
        let status = status.split_once(' ').map_or(status, |(_, rest)| rest);
        if status.starts_with("200") {
            Ok(body.to_vec())
        } else {
            Err(FetchError::Refused {
                status: status.to_owned(),
                body: String::from_utf8_lossy(body).trim().to_owned(),
            })
        }
    }

    /// HTTP/1.0, so that the answer ends with the connection.
    async fn ask(&self, machine: &str) -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(self.address).await?;
        let authorization = match self.tokens.get(machine) {
            Some(token) => format!("authorization: Bearer {token}\r\n"),
            None => String::new(),
        };
        let request = format!(
            "GET /node/{machine} HTTP/1.0\r\nhost: {}\r\naccept: application/vnd.coreos.ignition+json;version=3.4.0, \
             */*;q=0.1\r\nuser-agent: Ignition/2.20.0\r\n{authorization}\r\n",
            self.address
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok(answer)
    }
}

fn split(answer: &[u8]) -> Option<(&str, &[u8])> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(answer.get(..end)?).ok()?;
    Some((head, answer.get(end.checked_add(4)?..)?))
}
