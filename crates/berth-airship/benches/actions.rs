//! How long a page of actions takes when the store has 100,000 of them. Run by hand:
//!
//! ```console
//! $ cargo bench -p berth-airship --bench actions
//! ```
#![expect(clippy::print_stdout, reason = "the figures are for the person who ran it")]
#![expect(clippy::disallowed_methods, reason = "a bench measures time")]

use std::{
    error::Error,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use berth_airship::{Api, ApiState, Auth};
use berth_clock::Clock;
use berth_listen::{ListenOptions, Server};
use berth_repository::{NoRules, Repository};
use berth_store::{ActionId, ActionStore, Database, NewAction, Origin, SealingKeys, Store};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ACTIONS: u64 = 100_000;
const ROUNDS: usize = 50;

fn main() -> Result<()> {
    // `cargo test --benches` only wants to know that it builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let folder = tempfile::tempdir()?;
    let address = format!("sqlite:{}", folder.path().join("berth.db").display());
    let (server, middle) = runtime.block_on(async {
        let database: Arc<dyn Database> = berth_store::open(&address, SealingKeys::none()).await?;
        let began = Instant::now();
        let mut middle = String::new();
        for number in 0..ACTIONS {
            let id = database.create_action(&action(number)).await?.id;
            if number == ACTIONS / 2 {
                middle = id.to_string();
            }
        }
        println!("{ACTIONS} actions made in {:.1?}", began.elapsed());
        let documents: Arc<dyn Store> = Arc::clone(&database) as _;
        let actions: Arc<dyn ActionStore> = database;
        let state = ApiState::new(
            Arc::new(Repository::new(documents)),
            Arc::new(NoRules),
            Auth::None,
            Clock::stopped(jiff::Timestamp::UNIX_EPOCH),
            Arc::new(|| "bench".to_owned()),
        )
        .without_cluster(actions, "this is a bench");
        let options = ListenOptions {
            plain: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            ..ListenOptions::default()
        };
        let server = Server::bind(options, Api::new(state)).await?;
        Ok::<_, Box<dyn Error>>((server, middle))
    })?;
    let address = server.plain_address().ok_or("the server listens nowhere")?;
    runtime.spawn(server.run(std::future::pending()));
    for (what, path) in [
        ("first page of 100", "actions".to_owned()),
        ("page of 100 in the middle", format!("actions?marker={middle}")),
        ("first page of 1000", "actions?limit=1000".to_owned()),
        ("one action", format!("actions/{middle}")),
    ] {
        let mut times: Vec<Duration> = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            times.push(ask(address, &path)?);
        }
        times.sort_unstable();
        let median = times.get(ROUNDS / 2).copied().unwrap_or_default();
        let worst = times.last().copied().unwrap_or_default();
        println!("{what}: median {median:.1?}, worst {worst:.1?}");
    }
    Ok(())
}

fn action(number: u64) -> NewAction {
    let now = 1_772_366_400_000_000_i64.saturating_add(i64::try_from(number).unwrap_or(i64::MAX).saturating_mul(1_000));
    let mut random = [0; 10];
    random[2..].copy_from_slice(&number.to_be_bytes());
    NewAction {
        id: ActionId::new(now, random),
        task_id: format!("{number:08x}-0000-4000-8000-000000000000"),
        origin: Origin::Action,
        name: "update_labels".to_owned(),
        parameters: json!({"target_nodes": ["node1"]}),
        user: "bench".to_owned(),
        context_marker: String::new(),
        revision: Some(1),
        allow_intermediate_commits: None,
        options: json!({"strategy": "mirror"}),
        exclusive: None,
        // One without nodes is done at once.
        nodes: Vec::<(String, Value)>::new(),
        now,
    }
}

fn ask(address: SocketAddr, path: &str) -> Result<Duration> {
    let began = Instant::now();
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "GET /api/v1.0/{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    if !answer.starts_with(b"HTTP/1.1 200 ") {
        return Err(String::from_utf8_lossy(&answer).into());
    }
    Ok(began.elapsed())
}
