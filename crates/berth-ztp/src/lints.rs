//! The findings of this crate. Each has its explanation here, so no code is without one.

use berth_documents::{Lint, Severity};

macro_rules! lints {
    ($($name:ident $severity:ident $code:literal $summary:literal $explanation:literal)*) => {
        $(
            #[doc = $summary]
            pub(crate) static $name: Lint = Lint {
                code: $code,
                severity: Severity::$severity,
                summary: $summary,
                explanation: $explanation,
            };
        )*
        /// All lints of this crate, by topic.
        pub const LINTS: &[&Lint] = &[$(&$name),*];
    };
}

lints! {
NO_CLUSTER Error "ztp-no-cluster" "the documents do not say which cluster is installed"
"Manifests for a hub need the cluster's name, base domain and release. They are in a document of kind Cluster:

  apiVersion: berth.dev/v1alpha1
  kind: Cluster
  metadata:
    name: georgia
  spec:
    baseDomain: telco.example
    release: \"4.18\"
"
HOST Error "ztp-host" "a machine lacks what the hub needs to install it"
"The hub starts a machine through its management controller and knows it again by a MAC address. Each node document needs
`bmc` with `address` and `credentialsName`, and `metadata.boot_mac` or the `mac` of an interface; and the node must be in
a pool, from which its role follows.
"
HOSTNAME Error "ztp-hostname" "a host name that Assisted Service refuses"
"A host name has at most 63 characters with its domain, in lower case, and is not a form of localhost. The same name
becomes the value of labels (the InfraEnv of a host, the selector of its network), which have the same limit.
"
DUPLICATE_HOST Error "ztp-duplicate-host" "two hosts share a name, a MAC address or a management controller"
"The hub pairs machines with their documents by MAC address, letter case aside. With two of a kind, one machine gets the
other's name, network and labels, or the controller is told two things at once.
"
BOOT_MAC Warning "ztp-boot-mac" "the boot card is not among the host's cards"
"The static network of a host is chosen by the MAC addresses in its `interfaces`. If the card it boots from is not there,
the list is probably another machine's.
"
INFRA_ENV Error "ztp-infraenv" "a host names an image that is not in its namespace"
"A BareMetalHost boots the image of the InfraEnv that its label `infraenvs.agent-install.openshift.io` names, in its own
namespace. Without the label, or with another name, the machine never boots the image and nothing says why.
"
NMSTATE_MIXED Error "ztp-nmstate-mixed" "two clusters of the hub select each other's static networks"
"The service looks for NMStateConfigs in all namespaces, by label alone. Two InfraEnvs with one selector mix the networks
of two clusters. Use a label whose value is the cluster's own.
"
NMSTATE Error "ztp-nmstate" "a static network that is not applied"
"An NMStateConfig counts when its labels match the selector of the InfraEnv, and when every physical interface of its
`config` is in `interfaces` with a MAC address.

  spec:
    interfaces: [{name: eno1, macAddress: \"52:54:00:00:00:01\"}]
    config: {interfaces: [{name: eno2, type: ethernet}]}   # wrong: eno2 has no MAC address above
"
HUB Error "ztp-hub" "the hub would not look at these objects"
"The AgentServiceConfig must be named `agent`. BareMetalHosts outside openshift-machine-api are seen only when the
Provisioning `provisioning-configuration` has `watchAllNamespaces: true`.
"
SECRET Error "ztp-secret" "a Secret that cannot serve"
"A pull secret has `type: kubernetes.io/dockerconfigjson` at its top level and the key `.dockerconfigjson`; the Secret of a
management controller has the keys `username` and `password`. Both are in the namespace of the object that names them.
"
FIELD Warning "ztp-field" "a field that is dropped, deprecated, or of the other kind's form"
"Fields that a CRD does not have are silently pruned, such as `agentLabelSelector` in an InfraEnv's spec, which exists
in its status only. apiVIP, ingressVIP and manifestsConfigMapRef have given way to apiVIPs, ingressVIPs and
manifestsConfigMapRefs. serviceNetwork is a list of texts in an AgentClusterInstall and of objects with `cidr` in a
ClusterInstance.
"
REQUIRED Error "ztp-required" "a field that the hub requires is missing"
"The CRD or a webhook rejects the object without the field: for a ClusterInstance clusterName, baseDomain, clusterImageSetNameRef,
pullSecretRef, templateRefs of the cluster and of each node, and for each node hostName, bmcAddress, bmcCredentialsName and
bootMACAddress; for a BareMetalHost online; for an AgentClusterInstall clusterDeploymentRef, networking, provisionRequirements and, until
it is installed, imageSetRef.
"
VALUE Error "ztp-value" "a value that the hub rejects"
"The CRD or a webhook rejects the value: a mode, role, platform or network type that it does not know, a number where it wants a string,
a MAC address or disk that is not one, JSON that cannot be parsed, two settings that exclude each other.

  bootMode: uefi          # wrong
  bootMode: UEFI          # right
  rootDeviceHints: {deviceName: sda}        # wrong
  rootDeviceHints: {deviceName: /dev/sda}   # right
"
BMC Error "ztp-bmc" "a management controller that Metal3 rejects"
"The scheme of the address names a driver: redfish, redfish-virtualmedia, redfish-uefihttp, idrac-redfish, idrac-virtualmedia,
ilo5-redfish and ilo5-virtualmedia, each also with +http or +https, or ipmi and libvirt. The host is a DNS name or an IP address, IPv6 in
brackets. IPMI drivers support neither secure boot, RAID nor fast inspection, and libvirt needs a bootMACAddress.

  address: https://10.0.0.1/redfish/v1/Systems/1                        # wrong
  address: redfish-virtualmedia+https://10.0.0.1/redfish/v1/Systems/1   # right
"
BMC_UNUSABLE Warning "ztp-bmc-unusable" "a management controller that is accepted and cannot work"
"Metal3 accepts an address without a host, or with a port that does not exist, and never reaches the machine. Credentials in the address
are not used: they belong in the Secret that credentialsName names.
"
UNPAIRED Note "ztp-unpaired" "a host without the MAC address by which it is paired"
"The hub pairs a BareMetalHost with the agent that runs on the machine by bootMACAddress. Metal3 accepts a host without it, but role, host
name, labels and disks of the host do not reach the agent.
"
INSTALLER_ARGS Error "ztp-installer-args" "installer arguments that Assisted Service rejects"
"Installer arguments are a JSON array of strings. Supported flags: --append-karg, --delete-karg, -n, --copy-network, --network-dir,
--save-partlabel, --save-partindex, --image-url, --image-file. A value contains no blank; the value of a flag is the next item.

  '[\"--append-karg\", \"ip=dhcp\"]'
"
PLATFORM Error "ztp-platform" "a platform and a kind of networking that exclude each other"
"Platforms None and External need userManagedNetworking; BareMetal and Nutanix exclude it. A single node has platform None or External and
user-managed networking, which are also the defaults. The default templates of a ClusterInstance do not render userManagedNetworking.
"
REFERENCE Warning "ztp-reference" "an object that is not among the manifests"
"The manifests have objects of a kind, and not the one that is named: most often a typing mistake. An object that the hub has already is
fine.
"
COUNTS Error "ztp-counts" "the number of hosts is not the one that the installation waits for"
"provisionRequirements are exact counts: with one host too many or too few of a role the installation never starts. A node
of a ClusterInstance without `role` is a master.
"
ROUTERS Warning "ztp-routers" "the routers may find too few nodes beside the VIP"
"With two workers or more, remote ones counted, the control plane is not schedulable, and the default routers want two
workers that are not remote. With fewer, a router stays Pending. Say where routers run (an IngressController among the
extra manifests), or set mastersSchedulable.
"
CONTROL_PLANE Error "ztp-control-plane" "the control plane is in more than one network"
"With VIPs that the cluster moves itself, all machines of the control plane are in the VIPs' network. Use a load balancer of
your own otherwise.
"
NETWORK Error "ztp-network" "networks or VIPs that Assisted Service refuses"
"A CIDR is written as its network address, is large enough (machine networks up to /28, cluster and service networks up to
/25), and overlaps no other. A cluster of more than one node needs as many API VIPs as ingress VIPs, the first in the first machine
network and the second in the second; a user-managed load balancer may have them in any. A VIP is not a broadcast address; API and
ingress differ unless the load balancer is user-managed. With user-managed networking and with a single node there are no VIPs. Without
dual stack there is one machine network.
"
MACHINE_NETWORK Error "ztp-machine-network" "a host has no address in the machine network"
"While the cluster moves its VIPs, every host needs an address in every machine network, and the validation
belongs-to-machine-cidr stops the installation otherwise. Supported ways for a remote worker: a user-managed load balancer
(from 4.16), user-managed networking, or day 2. Ignored validations work too and are not supported.
"
VALIDATIONS Error "ztp-validations" "a list of validations that the service refuses"
"An id that the service does not know, an empty item, or a validation that cannot be ignored: the service-wide list then
keeps the service from starting, the cluster's list is refused. Where a cluster has its own list, the service-wide one does
not count for it.
"
VALIDATIONS_OFF Warning "ztp-validations-off" "validations are switched off, which is not supported"
"The installation then starts although the service knows that a host does not fit. The service-wide list holds for every
cluster of the hub; the annotation `agent-install.openshift.io/ignored-host-validations` holds for one. Prefer a supported
way: a user-managed load balancer (from 4.16), user-managed networking, or remote workers at day 2.
"
LOAD_BALANCER Error "ztp-load-balancer" "a load balancer that the release or the cluster does not allow"
"A user-managed load balancer (`loadBalancer.type: UserManaged`) is installed from 4.16 on, with VIPs, on one family of
addresses, with more than one node, and not with user-managed networking.
"
REMOTE Note "ztp-remote-worker" "a host that will call itself a remote worker"
"From 4.13 on a bare-metal node without an address in a VIP's network registers with an empty label
`node.openshift.io/remote-worker`, and keepalived sleeps there. A second card in the VIPs' network, or a NODEIP_HINT in the
remote network, ends that.
"
LABEL Error "ztp-label" "a label that cannot be asked for by an annotation"
"A label becomes the end of an annotation's name: a key without a domain may have 20 characters, a domain 210, the name 63.
The API server does not look at the value, so a bad one shows only when the service refuses the host. All annotations of
an object together have 256 KiB.
"
POOL Warning "ztp-pool" "a host's pool and its labels do not fit"
"Labels and pool belong together. A pool without the labels that its nodeSelector wants: the node goes back to worker.
Labels of a custom pool without the annotation: the node boots as a worker and reboots. Labels of two custom pools: the
operator refuses both. A pool on a master is silently ignored.
"
POOL_MANIFEST Error "ztp-pool-manifest" "a pool that the installation does not find"
"The service looks for a host's pool in the extra manifests: the first document of a file ending in yaml, yml or json. A
MachineConfig before the pool in one file hides it, and the installation fails with `machine config pool X was not found`.
`worker` as a pool fails the same way.

Put each pool first in a file of its own.
"
POOL_ROLE Error "ztp-pool-role" "a custom pool without the role worker"
"A pool's machineConfigSelector must take the machine configs of role worker too: `role In [worker, NAME]`. The cluster
refuses the pool otherwise.
"
HOSTNAME_SELECTOR Error "ztp-hostname-selector" "a selector on a host name that no node has"
"The label kubernetes.io/hostname has the node's name as it registers. `openshift-worker-2` is not
`openshift-worker-2.ztp.example.com`: selector and host name must be the same text.
"
REMOTE_LABEL Warning "ztp-remote-label" "a label file hides the label of remote workers"
"CUSTOM_KUBELET_LABELS in /etc/kubernetes/kubelet-env beats what the platform puts there itself, so
`node.openshift.io/remote-worker=` is lost unless the file has it, and routers may land on the remote node. With a value that
is not empty, the default router may land there too.
"
STALE_LABEL Warning "ztp-stale-label" "a label on a host that the site does not declare"
"The annotation stays when the label leaves the site's documents, and the next installation of the machine gets the label
again. Removing the annotation does not remove the label from a Node: `berth ztp check --against DIR` names such labels.
"
HIDDEN_ANNOTATIONS Warning "ztp-hidden-annotations" "annotations of a node hide those of the cluster"
"In a ClusterInstance the annotations or labels that a node has for a kind replace the cluster's for that kind; they are
not merged. Repeat at the node what it needs.
"
FROZEN Warning "ztp-frozen" "a change that the hub refuses after the installation"
"Once its cluster is installed, a ClusterInstance refuses changes of nodeLabels, role and ignitionConfigOverride (`detected
unauthorized changes in immutable fields`); extraAnnotations and extraLabels stay free. While it is being installed it refuses
every change. An AgentClusterInstall is frozen from the start of its installation on, and what the annotations of a
BareMetalHost say is not stored any more.

`berth ztp check` sees such a change in four ways: `--against DIR` compares with the manifests that the hub has; an exported
ClusterInstance carries the spec that the operator saw last; exported Agents say what they were installed with; and `-f SITE`
compares with what the site wants. Labels of Nodes that are there are changed in their own cluster: `berth plan`, or the
controller.
"
OVERRIDE Error "ztp-override" "an Ignition override that the service refuses"
"The service reads overrides as Ignition 3.2.0, then 3.1.0. Without `ignition.version`, or with another one, the host is not
accepted and the cluster waits forever. In a ClusterInstance an apostrophe ends the quotes around it. At most 256 KiB.

  {\"storage\": {\"files\": []}}                                      # wrong
  {\"ignition\": {\"version\": \"3.2.0\"}, \"storage\": {\"files\": []}}  # right
"
OVERRIDE_PATH Warning "ztp-override-path" "an override of a path that the pool writes"
"A host's override is merged into the small config that points to the pool's. At first boot the pool's config wins for every
path that both write, so the override has no effect. Put the file into a MachineConfig of the host's pool.
"
KEEPALIVED Warning "ztp-keepalived" "keepalived or coredns is taken from machines that need it, or without need"
"From 4.13 on keepalived sleeps on remote workers by itself. Taken from all workers, the ingress VIP can be on the control
plane only, and the routers must be there. Without coredns a node cannot resolve the cluster's names.
"
MANIFEST Error "ztp-manifest" "an extra manifest that the installation refuses or fails with"
"A key of the ConfigMap is a file's name: no blank, slash or leading dot, ending in yaml, yml or json, not empty, at most 1 MiB,
and once in all ConfigMaps of the cluster. A Node among them makes assisted installations fail: it never becomes Ready.
"
FILE_MODE Warning "ztp-file-mode" "a file mode that readers take for two numbers"
"`mode: 0644` is octal for a YAML 1.1 reader and six hundred forty-four for others. Write 420, which is the same for all.
"
ROUTER_PLACEMENT Warning "ztp-router-placement" "an ingress controller whose routers cannot run where it says"
"The operator turns a controller's nodeSelector into plain labels and refuses all else; its routers avoid nodes whose
remote-worker label is empty, so a shard for them stays Pending; two controllers on one node need different ports; routers
on the control plane need a toleration; a domain below apps.CLUSTER is answered with the default ingress address on the nodes.
`berth ingress check` says more.
"
BACKENDS Warning "ztp-backends" "a load balancer that does not fit the routers behind it"
"A load balancer in front of the routers needs a server for every node on which a router may run and for no other, and asks each
for http://NODE:1936/healthz/ready (or the controller's statsPort): without it, connections go to nodes without a router. Files
ending in .cfg among the manifests are read as HAProxy configurations.
"
EGRESS Warning "ztp-egress" "an egress address that no host can have"
"An egress address is a plain IP address in a network of a host labelled `k8s.ovn.org/egress-assignable`, and belongs to
nobody else. `berth egress plan` says more.
"
}
