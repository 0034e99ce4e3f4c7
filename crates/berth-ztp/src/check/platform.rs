//! Platform and networking of a cluster: which combinations Assisted Service rejects.

use super::{
    Findings,
    model::{ClusterView, Kind},
};
use crate::lints;

pub(super) fn check(cluster: &ClusterView<'_>, findings: &mut Findings) {
    if !cluster.has_install {
        return;
    }
    let span = cluster.platform_span.unwrap_or(cluster.span);
    let said = cluster.user_networking_said;
    let platform = cluster.platform.unwrap_or_default();
    let mut refuse = |message: String, help: &str| findings.add_with_help(&lints::PLATFORM, span, message, help);
    match platform {
        "None" | "External" => {
            let fits = cluster.is_single || said == Some(true) || cluster.kind == Kind::SiteConfig;
            if !fits && cluster.kind == Kind::Instance {
                refuse(
                    format!(
                        "platform {platform} needs user-managed networking, which the default templates do not render for more than one \
                         node"
                    ),
                    "suppress the AgentClusterInstall and apply one of your own, or use a template of your own",
                );
            } else if !fits {
                refuse(
                    format!("platform {platform} cannot be set with user-managed networking disabled"),
                    "set `networking.userManagedNetworking: true`",
                );
            }
            if platform == "External" && cluster.kind == Kind::Raw && !cluster.has_external {
                refuse(
                    "platform External needs `external.platformName`".to_owned(),
                    "add `external: {platformName: NAME}`",
                );
            }
        }
        "BareMetal" | "Nutanix" if said == Some(true) => refuse(
            format!("platform {platform} cannot be set with user-managed networking enabled"),
            "use platform None, or remove userManagedNetworking",
        ),
        _ => {}
    }
    if cluster.is_single && matches!(platform, "BareMetal" | "VSphere" | "Nutanix") {
        refuse(
            format!("platform {platform} cannot be set on single-node OpenShift"),
            "leave platformType out: a single node gets platform None",
        );
    }
    if cluster.is_single && said == Some(false) {
        refuse(
            "userManagedNetworking must be true on single-node OpenShift".to_owned(),
            "set it to true, or leave it out",
        );
    }
    if platform != "External" && cluster.has_external {
        refuse(
            "external settings need platform External".to_owned(),
            "remove `external`, or set `platformType: External`",
        );
    }
}
