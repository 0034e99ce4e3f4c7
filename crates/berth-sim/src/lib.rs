//! An embedded Kubernetes API and simulated machines: for trying, rehearsing and testing.
//!
//! It is not a cluster for production: there is one process, no redundancy, no scheduler and no TLS. A real cluster is what
//! production uses.
//!
//! ```text
//! kubectl, kube-rs ──► ApiServer (HTTP) ──► Cluster ──► storage (pure) ──► journal (SQLite)
//!                                             │
//!                                             ├─ resources, schema, policies, patch, managed, selectors, table (pure)
//!                                             └─ access, admission
//! ```
//!
//! Admission webhooks are asked, by their `clientConfig.url`. Validation rules of definitions and admission policies are
//! evaluated.
//!
//! [`Fleet`] is machines on a cluster in simulated time, and [`play`] plays a scenario on them.
//!
//! [`Cluster`] is everything that a request does and knows nothing of HTTP. [`ApiServer`] serves one on loopback, and
//! [`kubeconfig`] writes the file by which clients find it.

mod access;
mod admission;
mod cluster;
mod discovery;
mod failure;
mod fleet;
mod http;
mod ids;
mod journal;
mod kubeconfig;
mod machine;
mod managed;
mod object;
mod openapi;
mod patch;
mod policies;
mod protobuf;
mod resources;
mod scenario;
mod schema;
mod selectors;
mod storage;
mod table;

pub use access::Identity;
pub use cluster::{Cluster, ClusterOptions};
pub use failure::{Cause, Failure};
pub use fleet::{Fleet, Habits, Phase, SimulatedTime, UnknownMachine};
pub use http::{ApiServer, ListenError};
pub use journal::JournalError;
pub use kubeconfig::kubeconfig;
pub use machine::{Disk, FetchError, IgnitionError, IgnitionSource};
pub use scenario::{ScenarioError, Statement, perform, play, statements};
