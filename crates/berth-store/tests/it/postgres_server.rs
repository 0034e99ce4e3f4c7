//! A `PostgreSQL` server of our own: in a folder of its own, on a socket of its own.
//!
//! One server serves all tests of a process. A shell holds it and waits for its input to end, which happens when the
//! process ends, however it ends; then it stops the server and removes the folder.

use std::{
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// Set where every program that tests use is installed.
const REQUIRE_TOOLS: &str = "BERTH_REQUIRE_TOOLS";

/// Where Debian keeps the programs, below a folder for each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// `$1` is the folder with the programs, `$2` our folder. A crash of the machine may lose the data: it is a test's.
const SCRIPT: &str = r#"
set -e
export LC_ALL=C
"$1/initdb" -D "$2/data" --auth=trust --username=berth --encoding=UTF8 --no-sync >"$2/initdb.log" 2>&1
"$1/pg_ctl" -D "$2/data" -l "$2/server.log" -w -s \
    -o "-k '$2' -c listen_addresses= -c fsync=off -c full_page_writes=off -c synchronous_commit=off" start
echo ready
cat >/dev/null
"$1/pg_ctl" -D "$2/data" -m immediate -s stop || true
cd /
rm -rf "$2"
"#;

/// The URL of a new, empty database; nothing when there is no server program on this machine.
pub(crate) async fn database() -> Option<String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let server = server()?;
    let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let mut connection = PgConnection::connect(&server.url("postgres")).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}")))
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    Some(server.url(&name))
}

#[derive(Debug)]
struct Server {
    folder: PathBuf,
    /// Holds the input of the shell open.
    _shell: Child,
}

impl Server {
    fn url(&self, database: &str) -> String {
        format!("postgres:///{database}?host={}&user=berth", self.folder.display())
    }
}

fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER
        .get_or_init(|| match programs() {
            Some(programs) => Some(start(&programs)),
            None => {
                let required = std::env::var_os(REQUIRE_TOOLS).is_some_and(|value| value == "1");
                assert!(!required, "there is no PostgreSQL server, and {REQUIRE_TOOLS} is set");
                say_why();
                None
            }
        })
        .as_ref()
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn say_why() {
    eprintln!("skipped: there is no PostgreSQL server on the PATH or in {DEBIAN} (Debian: postgresql)");
}

/// The folder with `initdb`, `pg_ctl` and `postgres`.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut versions: Vec<PathBuf> = fs::read_dir(DEBIAN)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .collect();
    versions.sort();
    std::env::split_paths(&path)
        .chain(versions.into_iter().rev())
        .find(|folder| {
            ["initdb", "pg_ctl", "postgres"]
                .iter()
                .all(|program| folder.join(program).is_file())
        })
}

fn start(programs: &Path) -> Server {
    let folder = tempfile::Builder::new().prefix("berth-pg-").tempdir().unwrap().keep();
    let mut command = match other_user(&folder) {
        Some(user) => {
            let mut command = Command::new("runuser");
            command.args([OsString::from("-u"), user, OsString::from("--"), OsString::from("sh")]);
            command
        }
        None => Command::new("sh"),
    };
    let mut shell = command
        .args(["-c", SCRIPT, "sh"])
        .args([programs, &folder])
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(shell.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    if line != "ready\n" {
        let logs: Vec<String> = ["initdb.log", "server.log"]
            .iter()
            .filter_map(|name| fs::read_to_string(folder.join(name)).ok())
            .collect();
        panic!("PostgreSQL did not start: {}", logs.join("\n"));
    }
    Server { folder, _shell: shell }
}

/// The server refuses to run as root, so root hands the folder to another user.
fn other_user(folder: &Path) -> Option<OsString> {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return None;
    }
    let id = |user: &str| {
        let output = Command::new("id").args(["-u", user]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().parse::<u32>().ok()
    };
    let mut users = ["postgres", "nobody"].into_iter();
    let (user, uid) = users
        .find_map(|user| Some((user, id(user)?)))
        .unwrap_or_else(|| panic!("root needs a user to run PostgreSQL as"));
    chown(folder, Some(uid), None).unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    Some(user.into())
}
