//! For tests only: a private Kubernetes control plane with real kubelets on it, and the real Ignition.
//!
//! ```text
//! cargo xtask envtest ──► Programs ──► ControlPlane ──► clients, kubeconfigs, tokens
//!  (built once, cached)                     └─────────► Kubelet (real, with its own containerd)
//! ```
//!
//! Each [`ControlPlane`] is an etcd and a kube-apiserver of its own, in a folder of its own, on a loopback port that was
//! free. Node authorizer, RBAC and `NodeRestriction` are on, as in a real cluster. Several can run at once. When the
//! value is dropped, or the test's process ends in any way, its programs end too.
//!
//! ```no_run
//! # async fn example() -> Result<(), berth_testing::TestingError> {
//! use berth_testing::{ControlPlane, Identity, Options, Programs};
//! use k8s_openapi::api::core::v1::Node;
//! use kube::{Api, api::PostParams};
//!
//! // Says why and gives `None` where the programs are missing; fails there if `BERTH_REQUIRE_TOOLS` is set.
//! let Some(programs) = Programs::for_test() else { return Ok(()) };
//! let mut plane = ControlPlane::start(&programs, Options::default()).await?;
//!
//! // Whoever is asked for is a real identity with a certificate of its own.
//! let admin = plane.client(&Identity::admin()).await?;
//! let kubelet = plane.client(&Identity::kubelet("w1")).await?;
//! let nodes: Api<Node> = Api::all(kubelet);
//! # let node = Node::default();
//! nodes.create(&PostParams::default(), &node).await.ok();
//!
//! // The API server can go away and come back with the same address and content.
//! plane.kill_api_server()?;
//! plane.start_api_server().await?;
//! # Ok(())
//! # }
//! ```

mod bootstrap;
mod campaign;
mod certificates;
mod control_plane;
mod error;
mod first_boot;
mod ignition;
mod judge;
mod kubelet;
mod machine;
pub mod operator;
mod process;
mod programs;
mod request_judge;
mod scratch;

pub use bootstrap::BootstrapToken;
pub use campaign::{KILLS, LOAD_MINUTES, LOAD_REPORT, LOAD_SEED, kills, load_report, load_seed, load_time};
pub use certificates::Identity;
pub use control_plane::{ControlPlane, Options};
pub use error::TestingError;
pub use first_boot::{FirstBoot, Outcome};
pub use ignition::{Ignition, Verdict, WrittenRoot};
pub use kubelet::{Credentials, Kubelet, KubeletOptions};
pub use machine::{HOST_ADDRESS, Image};
pub use operator::{OPERATOR, Operator, OperatorRendered, first_boot_labelling};
pub use programs::{
    ENVTEST, KUBERNETES_VERSION, MissingPrograms, OPENSHIFT_API_VERSION, OPENSHIFT_CRDS, PROGRAMS, Programs,
    REQUIRE_TOOLS, cache_directory,
};
pub use request_judge::{REQUEST_JUDGE, Reading, RequestJudge};
