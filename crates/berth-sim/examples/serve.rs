//! Serves an empty cluster and writes a kubeconfig for it: `cargo run -p berth-sim --example serve -- KUBECONFIG [PORT] [FOLDER]`.

use std::{error::Error, net::SocketAddr, path::PathBuf};

use berth_clock::Clock;
use berth_sim::{ApiServer, Cluster, ClusterOptions, Identity, kubeconfig};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("give the name of the kubeconfig to write")?;
    let port: u16 = arguments.next().map_or(Ok(0), |port| port.parse())?;
    let options = ClusterOptions::new(Clock::system(), 1);
    let cluster = match arguments.next() {
        Some(folder) => Cluster::open(options, &PathBuf::from(folder)).await?,
        None => Cluster::new(options),
    };
    cluster.add_token("admin", Identity::administrator());
    let server = ApiServer::start(cluster, SocketAddr::from(([127, 0, 0, 1], port))).await?;
    std::fs::write(&file, kubeconfig(&server.url(), "admin"))?;
    tokio::signal::ctrl_c().await?;
    server.stop().await;
    Ok(())
}
