//! Requests a second on loopback, beside nginx with the same bytes in a file. Run by hand:
//!
//! ```console
//! $ apt-get install nginx-light wrk
//! $ cargo bench -p berth-ignition-server --bench serve
//! ```
//!
//! The goal: at least 0.8 of nginx, a p99 of at most twice its own, and flat memory over 100,000 requests.
#![expect(clippy::print_stdout, reason = "the figures are for the person who ran it")]

use std::{
    error::Error,
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use berth_clock::Clock;
use berth_ignition_server::{Access, Catalog, CatalogHandle, IgnitionService};
use berth_listen::{ListenOptions, Server, TlsOptions};
use berth_pools::MachineConfig;
use serde_json::json;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ACCEPT: &str = "Accept: application/vnd.coreos.ignition+json;version=3.4.0";

/// Bytes of the served config, about.
const SIZE: usize = 300_000;

/// Runs of each server; the figures are those of the median run.
const ROUNDS: usize = 3;

/// Requests over which memory has to stay flat.
const MANY: u32 = 100_000;

fn main() -> Result<()> {
    // `cargo test --benches` only wants to know that it builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let missing: Vec<_> = ["nginx", "wrk"]
        .into_iter()
        .filter(|program| !is_here(program))
        .collect();
    if !missing.is_empty() {
        println!(
            "not run: {} missing (Debian packages nginx-light and wrk)",
            missing.join(" and ")
        );
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let (certificate, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    fs::write(&certificate, made.cert.pem())?;
    fs::write(&key, made.signing_key.serialize_pem())?;

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = ListenOptions {
        tls: Some(TlsOptions::new(any, &certificate, &key)),
        plain: Some(any),
        ..ListenOptions::default()
    };
    let service = IgnitionService::new(
        CatalogHandle::new(catalog()?),
        Access::Anonymous,
        Clock::stopped(jiff::Timestamp::UNIX_EPOCH),
    );
    let server = runtime.block_on(Server::bind(options, service))?;
    let plain = server.plain_address().ok_or("no plain address")?;
    let secure = server.tls_address().ok_or("no TLS address")?;
    runtime.spawn(server.run(std::future::pending()));

    let body = fetch(plain)?;
    let nginx = Nginx::start(folder.path(), &body)?;
    println!("config of {} bytes, 2 threads, 64 connections", body.len());
    for (name, own, other) in [
        ("plain", format!("http://{plain}"), format!("http://{}", nginx.plain)),
        ("TLS", format!("https://{secure}"), format!("https://{}", nginx.secure)),
    ] {
        compare(name, (&own, std::process::id()), (&other, nginx.child.id()))?;
    }
    memory(&format!("http://{plain}"))
}

fn is_here(program: &str) -> bool {
    // Both print their version and end, whatever their exit code.
    Command::new(program).arg("-v").output().is_ok()
}

/// One pool whose config, with all that is appended, has about the wanted size.
fn catalog() -> Result<Catalog> {
    let files: Vec<_> = (0..100)
        .map(|n| {
            // The content is in the answer twice: as itself, and escaped in the machine config.
            let text = "x".repeat(SIZE / 100 / 2 - 200);
            json!({"path": format!("/etc/file-{n}"), "mode": 420, "contents": {"source": format!("data:,{text}")}})
        })
        .collect();
    let config = MachineConfig::from_json(&json!({
        "metadata": {"name": "rendered-worker-0"},
        "spec": {"config": {"ignition": {"version": "3.4.0"}, "storage": {"files": files}}},
    }))?;
    let mut builder = Catalog::builder("bench");
    builder.pool("worker", config);
    Ok(builder.build()?)
}

fn fetch(address: SocketAddr) -> Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "GET /config/worker HTTP/1.1\r\nHost: localhost\r\n{ACCEPT}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let head = answer
        .windows(4)
        .position(|bytes| bytes == b"\r\n\r\n")
        .ok_or("no answer")?;
    if !answer.starts_with(b"HTTP/1.1 200") {
        return Err(String::from_utf8_lossy(&answer).into_owned().into());
    }
    Ok(answer.split_off(head + 4))
}

/// nginx, as it would serve a folder of configs.
struct Nginx {
    child: Child,
    plain: SocketAddr,
    secure: SocketAddr,
}

impl Nginx {
    fn start(folder: &Path, body: &[u8]) -> Result<Self> {
        let root = folder.join("root/config");
        fs::create_dir_all(&root)?;
        fs::write(root.join("worker"), body)?;
        // nginx gives up root's rights, and then has to read the file.
        for path in [folder, &folder.join("root"), &root] {
            fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        }
        let (plain, secure) = (free_address()?, free_address()?);
        let path = folder.display();
        let config = format!(
            "daemon off; pid {path}/pid; error_log {path}/error.log; worker_processes 2;\n\
             events {{ worker_connections 1024; }}\n\
             http {{\n\
               access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 100000000;\n\
               default_type application/json; open_file_cache max=10;\n\
               server {{\n\
                 listen {plain}; listen {secure} ssl; root {path}/root;\n\
                 ssl_certificate {path}/tls.crt; ssl_certificate_key {path}/tls.key;\n\
                 ssl_protocols TLSv1.2 TLSv1.3;\n\
               }}\n\
             }}\n"
        );
        let file = folder.join("nginx.conf");
        fs::write(&file, config)?;
        let child = Command::new("nginx")
            .arg("-p")
            .arg(folder)
            .arg("-c")
            .arg(&file)
            .stderr(Stdio::null())
            .spawn()?;
        let nginx = Self { child, plain, secure };
        for _ in 0..100 {
            if TcpStream::connect(plain).is_ok() {
                return if fetch(plain)? == body {
                    Ok(nginx)
                } else {
                    Err("nginx serves something else".into())
                };
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err("nginx does not start".into())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Asked with a signal that ends its workers too; killing the master would leave them.
        let asked = Command::new("kill").arg(self.child.id().to_string()).status();
        if asked.is_ok_and(|status| status.success()) {
            let _ = self.child.wait();
        }
    }
}

fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}

/// What one run of wrk says.
#[derive(Clone, Copy, Debug)]
struct Run {
    requests: u32,
    per_second: f64,
    p99_milliseconds: f64,
    /// What the server's own threads used. It says more than the rate does on a machine that is busy otherwise.
    cpu_microseconds: f64,
}

fn wrk(url: &str, seconds: u32) -> Result<Run> {
    let output = Command::new("wrk")
        .args(["-t2", "-c64", "--latency", "-H", ACCEPT])
        .arg(format!("-d{seconds}s"))
        .arg(format!("{url}/config/worker"))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() || text.contains("Non-2xx") || text.contains("Socket errors") {
        return Err(format!("wrk {url}: {text}").into());
    }
    read_run(&text).ok_or_else(|| format!("wrk says: {text}").into())
}

fn read_run(text: &str) -> Option<Run> {
    let after = |label: &str| {
        let line = text.lines().map(str::trim).find(|line| line.starts_with(label))?;
        Some(line.strip_prefix(label)?.trim().to_owned())
    };
    let p99 = after("99%")?;
    let (number, factor) = [("us", 0.001), ("ms", 1.0), ("s", 1000.0)]
        .into_iter()
        .find_map(|(unit, factor)| Some((p99.strip_suffix(unit)?, factor)))?;
    let requests = text.lines().find(|line| line.contains(" requests in "))?;
    Some(Run {
        requests: requests.split_whitespace().next()?.parse().ok()?,
        per_second: after("Requests/sec:")?.parse().ok()?,
        p99_milliseconds: number.parse::<f64>().ok()? * factor,
        cpu_microseconds: 0.0,
    })
}

/// Runs both in turn, so that whatever else the machine does hits both.
fn compare(name: &str, own: (&str, u32), other: (&str, u32)) -> Result<()> {
    let mut runs = [Vec::new(), Vec::new()];
    for (url, _) in [own, other] {
        wrk(url, 1)?;
    }
    for _ in 0..ROUNDS {
        for (runs, (url, process)) in runs.iter_mut().zip([own, other]) {
            let before = cpu_ticks(process)?;
            let mut run = wrk(url, 5)?;
            // The kernel counts in hundredths of a second.
            let used = (cpu_ticks(process)? - before) * 10_000;
            run.cpu_microseconds = f64::from(used) / f64::from(run.requests);
            runs.push(run);
        }
    }
    let [own, other] = runs.map(median);
    let (own, other) = (own.ok_or("no run")?, other.ok_or("no run")?);
    for (server, run) in [("berth", own), ("nginx", other)] {
        println!(
            "{name:5} {server}: {:9.0} requests/s, p99 {:8.2} ms, {:6.1} µs of processor time each",
            run.per_second, run.p99_milliseconds, run.cpu_microseconds
        );
    }
    println!(
        "{name:5} ratio: {:.2} of nginx's requests (goal 0.80), {:.2} of its p99 (goal 2.00), {:.2} of its time",
        own.per_second / other.per_second,
        own.p99_milliseconds / other.p99_milliseconds,
        own.cpu_microseconds / other.cpu_microseconds
    );
    Ok(())
}

/// Processor time of a server so far: its own, or that of its workers if it has some. This process has children too,
/// which are not workers.
fn cpu_ticks(process: u32) -> Result<u32> {
    let mut processes = vec![process];
    if process != std::process::id() {
        let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"))?;
        for child in children.split_whitespace() {
            processes.push(child.parse()?);
        }
    }
    let mut ticks = 0;
    for process in processes {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
        // After the name, which may hold blanks, come the state and ten more fields, then user and system time.
        let (_, fields) = stat.rsplit_once(')').ok_or("no stat")?;
        for field in fields.split_whitespace().skip(11).take(2) {
            ticks += field.parse::<u32>()?;
        }
    }
    Ok(ticks)
}

fn median(mut runs: Vec<Run>) -> Option<Run> {
    runs.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
    runs.get(runs.len() / 2).copied()
}

fn memory(url: &str) -> Result<()> {
    let before = resident()?;
    let mut requests = 0;
    while requests < MANY {
        requests += wrk(url, 5)?.requests;
    }
    let after = resident()?;
    println!("memory: {before} kB before, {after} kB after {requests} requests");
    Ok(())
}

/// Resident memory of this process, in which the server runs, in kB.
fn resident() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}
