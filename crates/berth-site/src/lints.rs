//! The findings this crate makes. Each has its explanation here, so no code is without one.

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
UNKNOWN_KIND Note "unknown-kind" "a document of a kind that Berth does not use"
"Berth carries such documents along and ignores them: a site folder often holds more than labels and pools. If you
meant one of Berth's kinds, compare the spelling of `apiVersion` and `kind` (or `schema`).

Berth reads MachineConfigPool, MachineConfig, KubeletConfig, ContainerRuntimeConfig, ControllerConfig and OSImageStream
(machineconfiguration.openshift.io/v1), LabelRule and Berth (berth.dev/v1alpha1), Node (v1), Cluster (berth.dev/v1alpha1), IngressController
(operator.openshift.io/v1), EgressIP (k8s.ovn.org/v1), and drydock's Region, Rack, Network, HostProfile,
HardwareProfile and BaremetalNode (drydock/KIND/v1). A kind of one envelope can be written in the other: schema `berth/LabelRule/v1` with `data`, or
apiVersion berth.dev/v1alpha1 and kind `Rack` with `spec`.
"
MISSPELLED_KIND Warning "misspelled-kind" "a kind that is nearly one of Berth's"
"The document is ignored, but its kind looks like one that Berth uses, in another spelling, group or version. Compare `apiVersion` and
`kind` (or `schema`) with the message.

  apiVersion: berth.dev/v1
  kind: Labelrule           # wrong, twice
  apiVersion: berth.dev/v1alpha1
  kind: LabelRule           # right
"
DUPLICATE_DOCUMENT Error "duplicate-document" "two documents have the same kind and name"
"Names identify documents. With two of them, which one holds would depend on the order of files, so neither is
preferred: the first is used and the second is an error. Delete one, or rename it.
"
UNKNOWN_FIELD Warning "unknown-field" "a field that this kind does not have"
"The field is ignored, which is seldom what its author wanted. Most often it is a typo.

  spec:
    nodeSelecter: {}     # wrong: there is no such field
    nodeSelector: {}     # right
"
WRONG_TYPE Error "wrong-type" "a value of the wrong type"
"The field wants another type of value. YAML guesses the type of a value without quotes: `yes` is a boolean, `0644` a
number (octal), `1.10` a number. Quotes make it a string.

  paused: \"true\"      # wrong: a string
  paused: true        # right
"
MISSING_FIELD Error "missing-field" "a required field is not there"
"The document cannot be used without this field. The message names it and the document.
"
INVALID_VALUE Error "invalid-value" "a value that the field does not allow"
"The field allows only the values that the message lists. Letter case matters.

  poolPolicy: Enforce   # wrong
  poolPolicy: enforce   # right
"
INVALID_NAME Error "invalid-name" "a name that Kubernetes would refuse"
"Names of nodes, pools, rules and berths are DNS names: lower-case letters, digits, `-` and `.`, beginning and ending
with a letter or digit, at most 253 characters. The API server refuses anything else.
In Drydock's own documents profiles, hardware profiles, networks and racks may have any name; nodes may have capitals there, which a
commit takes, but no node of such a name can be relabelled.
"
INVALID_LABEL_KEY Error "invalid-label-key" "a label key that Kubernetes would refuse"
"A key is a name of at most 63 letters, digits, `-`, `_` and `.`, which begins and ends with a letter or digit. Before
it may stand a DNS domain and a slash. One bad key makes the API server refuse the whole change, and in a kubelet flag it
keeps the kubelet from starting.

  labels:
    my role: \"\"           # wrong: a space
    example.com/role: \"\"  # right

In Drydock's own documents a commit takes it with a warning; the nodes that use it cannot be relabelled.
"
INVALID_LABEL_VALUE Error "invalid-label-value" "a label value that Kubernetes would refuse"
"A value is empty, or at most 63 letters, digits, `-`, `_` and `.`, beginning and ending with a letter or digit. This also
holds for values that a rule computes: they are checked for every node, here and not at boot.

  labels:
    example.com/site: \"Atlanta, GA\"   # wrong: comma and space
    example.com/site: \"atlanta-ga\"    # right

In Drydock's own documents a commit takes it with a warning; the nodes that use it cannot be relabelled.
"
UNQUOTED_VALUE Error "unquoted-value" "a label value that YAML does not read as a string"
"Label values are strings. Without quotes YAML reads `true`, `yes` and `on` as booleans and `1` or `0644` as numbers, and
Kubernetes refuses them (so does kubectl). Put quotes around the value.

  labels:
    example.com/gpu: true     # wrong: a boolean
    example.com/gpu: \"true\"   # right
"
INVALID_SELECTOR Error "invalid-selector" "a selector that Kubernetes would refuse"
"The operators are In and NotIn (with at least one value), Exists and DoesNotExist (with none). In OpenShift an invalid
selector in one pool stops the pool lookup of every node. Berth reports it, treats that pool as selecting nothing and goes
on with the others.
"
EMPTY_SELECTOR Warning "empty-selector" "a pool whose selector selects no node"
"A pool without nodeSelector, or with the empty selector `{}`, selects no node. It never means all nodes.

  nodeSelector: {}                      # wrong: selects nothing
  nodeSelector:
    matchLabels:
      node-role.kubernetes.io/infra: \"\" # right
"
AMBIGUOUS_SELECTOR Error "ambiguous-selector" "a pool's selector allows several values for a label"
"A node must carry labels that satisfy its pool's nodeSelector, and Berth gives them to it. Where the selector allows
several values, Berth does not guess. Say which one new nodes get with the annotation berth.dev/implicit-values.

  metadata:
    annotations:
      berth.dev/implicit-values: example.com/tier=gold
  spec:
    nodeSelector:
      matchExpressions:
      - {key: example.com/tier, operator: In, values: [gold, silver]}
"
UNSATISFIABLE_SELECTOR Error "unsatisfiable-selector" "a pool's selector that no node can satisfy"
"The requirements contradict each other, so the pool will always be empty.

  matchLabels: {example.com/tier: gold}
  matchExpressions:
  - {key: example.com/tier, operator: NotIn, values: [gold]}   # nobody can have both
"
POOL_WITHOUT_WORKER Warning "pool-without-worker" "a custom pool that does not inherit the worker configuration"
"OpenShift's admission refuses a custom pool whose machineConfigSelector does not take the role `worker` too: its machines
would have no kubelet.

  machineConfigSelector:
    matchExpressions:
    - {key: machineconfiguration.openshift.io/role, operator: In, values: [worker, infra]}
"
INVALID_MAX_UNAVAILABLE Error "invalid-max-unavailable" "a maxUnavailable that means nothing"
"maxUnavailable is a whole number of at least 1, or a percentage such as \"10%\". OpenShift accepts anything here: a negative
number then freezes the pool, and a text without `%` fails every sync.
"
ZERO_MAX_UNAVAILABLE Warning "zero-max-unavailable" "a maxUnavailable of 0, which means 1"
"OpenShift reads 0 as 1, and so does Berth. To hold a pool still, pause it.

  maxUnavailable: 0   # does not stop the rollout
  paused: true        # does
"
INVALID_MACHINE_CONFIG Error "invalid-machine-config" "a machine config that cannot be used"
"A MachineConfig has a field of the wrong type, asks for a kernel or extension that does not exist, or carries a config that
Ignition refuses. In OpenShift one such object degrades the whole pool. The finding points at the field.

  storage:
    files:
    - path: etc/motd     # wrong: not absolute
    - path: /etc/motd    # right
"
POOL_WITHOUT_CONFIGS Warning "pool-without-configs" "a pool that selects no machine config"
"The site has machine configs, but the pool's machineConfigSelector selects none of them (or is empty, which selects none
either). Nothing can be rendered for the pool, and its machines get no Ignition.
"
RENDER_FAILED Error "render-failed" "machine configs that do not go together"
"Each machine config is fine alone, but merged they are not: the result is too large, or two parts contradict each other. The
message names the machine config.
"
POOL_LABELS_LOST Error "pool-labels-lost" "a machine config that would lose the labels of its pool"
"The labels that identify a pool reach the kubelet at boot. A unit, drop-in or file in a machine config can drop or replace them:
a drop-in that starts the kubelet without them, a kubelet-env that sets CUSTOM_KUBELET_LABELS to something else, a labels file
without them. The machine would then register in another pool and reboot. The finding shows the line.
"
KUBELET_STOPPED Error "kubelet-stopped" "a machine config whose kubelet would not start"
"A label in --node-labels that the kubelet refuses (a wrong key or value, or a kubernetes.io key it may not set) stops it for
ever, and so does a field of a KubeletConfig whose value has another type than the kubelet reads. Which keys are refused depends on the
flavour: an OpenShift kubelet may set a few role labels, an upstream one none.
Objects of an OpenShift cluster show which it is; otherwise say it with the label berth.dev/flavour of a Region document, or
with --flavour.
"
NODE_NOT_REGISTERED Error "node-not-registered" "a kubelet config that keeps nodes from registering"
"With `registerNode: false` the kubelet runs and never creates its Node, so no label can be on it.
"
KUBELET_CONFIG_NOT_RENDERED Note "kubelet-config-not-rendered" "a kubelet config that is not part of the rendered config"
"A KubeletConfig or ContainerRuntimeConfig becomes a machine config of each pool that it selects by the pool's labels. Of this one
nothing reaches the machines, so `berth render`, `berth diff` and `berth forecast` do not count what it costs.

A KubeletConfig is written over the kubelet configuration that the pool has already: `/etc/kubernetes/kubelet.conf` in one of its
machine configs. On OpenShift that is 01-POOL-kubelet, which the operator makes; add it to the documents (`oc get machineconfig
01-worker-kubelet -o yaml`). On plain Kubernetes write a machine config with that file. The machine config that is made has the role of
the pool, which the pool's machineConfigSelector has to select.
"
INVALID_CONTROLLER_CONFIG Error "invalid-controller-config" "a controller config that no machine configs can be made of"
"With `spec.berth` the ControllerConfig `machine-config-controller` gives every role its base machine configs: 00-ROLE, 01-ROLE-kubelet,
01-ROLE-container-runtime and 99-ROLE-ssh. A field is missing or wrong, so none of them is made, and what the pools have stays. The
message names the field, or the template of the ConfigMap that `spec.berth.templates` names.

Right:

    spec:
      clusterDNSIP: 10.96.0.10
      kubeAPIServerServingCAData: LS0tLS1CRUdJTi…
      berth:
        family: debian
"
TEMPLATES_NOT_RENDERED Note "templates-not-rendered" "machine configs of templates that are not part of rendered configs"
"The ControllerConfig names a ConfigMap or a Secret that is not among the documents. Controllers read both in the namespace they run in.
Without them nothing is made of templates here, and the machine configs among the documents are all that is rendered.

Or a machine config of that name is there already: one that people made, or a newer version of Berth. It counts as it is.
"
REFUSED_SETTING Error "refused-setting" "settings for kubelets or container runtimes that no machine config is made of"
"Nothing is made of the object as a whole, and the pool keeps what it has. OpenShift's operator says so in the object's condition.
The message names the field.

Some fields belong to the pool's own kubelet.conf: cgroupDriver, clusterDNS, clusterDomain, featureGates, failSwapOn and swapBehavior.
A machine could be lost with other values. A field that the kubelet (1.36) does not know would have no effect. A pool has at most ten
objects of each kind.

Wrong:

    kubeletConfig:
      cgroupDriver: cgroupfs
      maxPod: 500

Right:

    kubeletConfig:
      maxPods: 500
"
UNREADABLE_CONTENT Note "unreadable-content" "contents that cannot be judged"
"A file that matters for labels has its contents elsewhere (an http source), so nothing can be proved about them here.
"
UNKNOWN_POOL Error "unknown-pool" "a pool that no document describes"
"A node document, Berth or rule names a pool that is not among the documents. Add the MachineConfigPool, or correct the
name.
"
UNKNOWN_PROFILE Error "unknown-profile" "a host profile that no document describes"
"The labels of the profile chain cannot be known, so the node would silently lose some. Add the HostProfile document, or
correct the name.
"
PROFILE_CYCLE Error "profile-cycle" "host profiles that inherit from each other in a circle"
"Each profile may build on another with `host_profile`, but the chain has to end. The message shows the circle.
"
UNKNOWN_RACK Error "unknown-rack" "a rack that no document describes"
"A node is in a rack that has no Rack document. Its rack labels cannot be known. Add the document, or correct the name.
Drydock looks no rack up. In its own documents the finding is a warning where a rack has nearly that name, and else a note.
"
UNKNOWN_HARDWARE_PROFILE Warning "unknown-hardware-profile" "a hardware profile that no document describes"
"Drydock refuses to build a node whose hardware profile is missing. Labels do not depend on it, so this is a warning.
"
INVALID_PATTERN Error "invalid-pattern" "a name pattern that is not a regular expression, or is too large"
"Patterns are regular expressions (no look-around, no back-references). Berth anchors and groups each one, so
`atl|nyc` matches exactly the names `atl` and `nyc`, and `worker-0` does not match `worker-01`.

Patterns have a limit, so that a small document does not take much memory: 4096 bytes and 10000 states for each, 200000 states for
all of a site. A letter or a class is a state, and `[a-z]{20}` is twenty. Where a site needs
more, the rules with the longest patterns are rejected.
"
UNKNOWN_CAPTURE Error "unknown-capture" "a template names a capture that the pattern does not have"
"`${name}` in a label value stands for a named capture of the rule's pattern, `(?<name>...)`. Every pattern of the rule has
to have it, for any of them may be the one that matches.

  namePatterns: ['(?<place>[a-z]{4})-.*']
  labels:
    example.com/place: ${palce}   # wrong
    example.com/place: ${place}   # right
"
INVALID_TEMPLATE Error "invalid-template" "a label value template that cannot be read"
"Templates are `${capture}`, `${clli.place}`, `${node.rack}` and the like, optionally with filters: `${state | states |
upper}`. A dollar sign is written `$$`.
"
UNKNOWN_TABLE Error "unknown-table" "a template names a table that the rule does not have"
"After `|` stands `upper`, `lower` or the name of one of the rule's `tables`.

  tables:
    states: {ga: georgia}
  labels:
    example.com/state: ${clli.state | states}
"
UNKNOWN_CODE Error "unknown-code" "a code that a lookup table does not know"
"A rule looks up what it captured from a node's name, and the table has no entry for it. Without an answer the label would
be missing on that node. Add the code to the table, or an entry `\"*\"` for all others.
"
INVALID_CLLI Error "invalid-clli" "a name that is not the CLLI code the rule decodes"
"A rule with `clli` decodes the node's name (or the capture it names) as a CLLI code. Place and state are six letters, then
comes a building (two letters or two digits and perhaps a three-character entity), a non-building code (one of B E J M P Q S U X
and four digits) or a customer code (digit, letter, three digits). Narrow the rule's pattern if other names match it.
"
EMPTY_MATCH Error "empty-match" "a rule that matches nothing"
"A rule says in `match` for which nodes it holds: namePatterns, pools, racks or profiles. Without any of these it would match
nothing; to match every node write `namePatterns: ['.*']`.
"
EMPTY_RULE Warning "empty-rule" "a rule that gives nothing"
"The rule has neither `labels` nor `pool`, so it changes nothing.
"
IDLE_RULE Note "idle-rule" "a rule that matches no node of the site"
"The site has nodes, but the rule is for none of them. That is fine for machines still to come. Otherwise compare its patterns
with the names: Berth matches whole names, so `worker` does not match `worker-1`.
"
MISSING_FACT Error "missing-fact" "a rule uses something that the node does not have"
"The label value contains `${node.rack}`, `${node.profile}` or `${clli.entity}`, and the node has no rack, no host profile, or a code
without entity. The label would be missing on that node. Give the node what is missing, or narrow the rule.
"
RULE_POOL_CYCLE Error "rule-pool-cycle" "a rule that gives a pool depends on the pool"
"The pool of a node is decided before rules that match by pool are looked at. A rule that gives a pool can match by name, rack or
profile.
"
NOT_AT_ADMISSION Error "not-at-admission" "a rule promises at registration what no kubelet may claim"
"With `admission: required` a rule has to hold from the first moment, also for a machine that nobody reserved: its kubelet's
own request to create the Node gets the labels. The API server then checks the Node once more as the kubelet's, and
refuses it with the first key that a kubelet may not set, such as every role. The machine would never join.

  admission: required
  labels:
    node-role.kubernetes.io/infra: \"\"   # wrong: refused
    example.com/tier: infra              # right

Reserve such machines with Berths: their Nodes are created for them, with every label. Or leave `admission` out: what a
kubelet may set is there from the first moment, and the rest follows when the controllers see the Node.
"
RULE_TIE Warning "rule-tie" "two rules of equal priority disagree"
"Both rules match the node and give different values for the same thing. The rule whose name sorts last wins, which is
seldom meant. Give one of them a higher `priority`.
"
EQUAL_RANK Error "equal-rank-conflict" "two sources of equal rank disagree"
"The node document and the Berth of a node have the same rank. Where they give different values for a label, or pin different
pools, neither wins. Remove one of the two statements.
"
IMPLICIT_OVERRIDE Error "implicit-override" "a source would change a label that identifies the pool"
"The labels of a pool's nodeSelector decide which pool a machine is in. If another source could change or remove one, the machine
would leave its pool and reboot. Implicit labels always win; the source that disagrees is an error. To move a node, change
its pool.
"
POOL_MISMATCH Error "pool-mismatch" "the labels of a node put it in another pool"
"The node is pinned to a pool (or a rule gives it one), but with all its labels OpenShift's membership rules choose another, or none.
`master` beats a custom pool, and two custom pools at once are an error. The message names both pools and the label.
"
POOL_CONSTRAINT Error "pool-constraint" "a label that the node's pool forbids"
"The pool's nodeSelector has NotIn or DoesNotExist requirements, and a source gives the node a label that violates one. The node
would not be in its pool.
"
NO_POOL Warning "no-pool" "a node that no pool selects"
"The site has pools, but the node is pinned to none, no rule gives it one, and its labels satisfy no nodeSelector. OpenShift does
not manage such a node: it gets no configuration and no updates.
"
POOL_OVERRULED Warning "pool-overruled" "a custom pool that loses against master"
"The node has the labels of a custom pool and of `master`. OpenShift silently takes `master`.
"
KUBELET_LABEL Warning "kubelet-label" "a label that the kubelet sets itself"
"The kubelet keeps kubernetes.io/hostname, kubernetes.io/os and kubernetes.io/arch equal to what it finds on the machine. A different
declared value would be overwritten at every start.
"
DUPLICATE_BERTH Error "duplicate-berth" "two berths reserve the same node"
"A machine has one place. Two Berths with the same nodeName cannot both hold. Delete one.
"
UNKNOWN_NETWORK Error "unknown-network" "a network that no document describes"
"An address, interface, rack or remote site names a network that is not among the documents. Add the Network, or correct the
name. A site without any Network document is not checked.
In Drydock's own documents it is an error for static addresses only, because Drydock looks up no others; else a warning where a
network has nearly that name, or a note.
"
SEVERAL_CLUSTERS Error "several-clusters" "two Cluster documents in one site"
"A site is one cluster: its VIPs, its pools and its nodes belong together. Keep another cluster's documents in another folder.
"
OVERLAPPING_NETWORKS Error "overlapping-networks" "two networks that share addresses"
"An address would lie in both, and a host that knows both would send packets to the wrong one. Networks in different `routedomain`s
may overlap, for nothing routes between them; pod and service networks may overlap no other.

  cidr: 10.19.3.0/24    # one network
  cidr: 10.19.0.0/16    # another, which contains the first: wrong

Drydock does not check it, so that it is a warning in Drydock's own documents.
"
UNUSABLE_ADDRESS Error "unusable-address" "an address that nothing can have"
"The address is not in the network that it is said to be in, or it is the network's own or its broadcast address. Addresses are
compared as addresses, so another spelling of the same address is not the cause.
"
DUPLICATE_ADDRESS Error "duplicate-address" "one address for two machines"
"Two machines, management controllers, gateways or VIPs have the same address in one routing domain. Whichever answers first wins,
and it changes. With a load balancer that you manage yourself, API and ingress may share one VIP.
"
DUPLICATE_MAC Error "duplicate-mac" "one MAC address for two machines"
"A MAC address says which machine is which: Ignition, network configuration and host inventory are found by it. Letter case does not
matter. Most often a block was copied and not changed.
Drydock does not check it, so that it is a warning in Drydock's own documents.
"
NODE_WITHOUT_ADDRESS Error "node-without-address" "a machine that is in no network"
"The site describes networks, and the node document puts the machine in none of them (the network of its management controller does
not count). Nothing can be said about where routers and egress addresses may be. Drydock refuses such a node.

  addressing:
  - {network: control, address: 10.19.3.21}   # or address: dhcp
"
VIP_WITHOUT_NETWORK Error "vip-without-network" "a VIP that is in no network"
"keepalived puts a VIP on a node that has an address in the same network. A VIP outside of all machine networks can be put nowhere,
and the installer refuses it.
"
REMOTE_MISMATCH Warning "remote-mismatch" "a machine that is remote by its network and not by the documents, or the other way round"
"Since 4.13 OpenShift decides by itself: on bare metal, with the load balancer it manages, a node without an address in the network of a
VIP is a remote worker. keepalived sleeps there and the node gets the label node.openshift.io/remote-worker, which keeps routers
away. Name the networks of remote sites in the Cluster, so that documents and machines say the same.

  remoteSites:
  - {name: smyrna, networks: [remote-smyrna]}
"
BMC_PASSWORD Error "bmc-password" "a password of a management controller in a document"
"Documents are kept in version control, sent around and printed. Whoever reads this one can switch the machine off and boot anything
on it. Keep user name and password in a Secret and name it in the document; change the password that was written down.

  bmc:
    address: redfish-virtualmedia+https://10.19.9.21/redfish/v1/Systems/1
    credentialsName: atlngamaw01-bmc

Drydock needs `oob.credential`. Written in clear text in its own documents it is a warning, which stops no commit; substituted from a
Passphrase it is in order.
"
INGRESS_SELECTOR Error "ingress-selector" "a node selector that the ingress operator refuses"
"The operator turns nodePlacement.nodeSelector into a plain map of labels. matchLabels and `In` with one value can be turned; `In` with
several values, NotIn, Exists and DoesNotExist cannot. The operator then stops working on that controller, with the text that
the message quotes. `berth ingress rewrite` finds the nodes that are meant, gives them a label and selects by that.
"
INGRESS_NO_NODES Error "ingress-no-nodes" "an ingress controller that selects no node"
"Its routers stay Pending. Where it selects by kubernetes.io/hostname, the value is the node's whole name: a node called
w1.example.com is not selected by `w1`.
"
INGRESS_REMOTE_LABEL Error "ingress-remote-label" "routers that the remote-worker label keeps away"
"The operator gives every router, also those of a shard, the affinity node.openshift.io/remote-worker NotIn [\"\"]. Since 4.13 a node
without an address beside a VIP gets that label with an empty value, so a shard for remote workers stays Pending forever. A value that is
not empty passes. Give the nodes one by a rule, and let the default controller select other nodes, for it may now run there too.

  labels:
    node.openshift.io/remote-worker: smyrna
"
INGRESS_OUTSIDE_VIP Warning "ingress-outside-vip" "a default router where the VIP cannot be"
"keepalived moves the ingress VIP to a node that runs a router of the default controller. A node without an address in the VIP's network
cannot have it: its router runs, and nobody reaches it. Select the nodes beside the VIP.
"
INGRESS_REPLICAS Warning "ingress-replicas" "fewer nodes than routers"
"On bare metal a router takes ports of its node, so that a node runs one. What is too many stays Pending, and the controller is never
Available as asked. Without `replicas` there are two.
"
INGRESS_TAINT Error "ingress-taint" "routers that tolerate no node they may run on"
"Every node that the controller selects has a taint that its routers do not tolerate. Masters have node-role.kubernetes.io/master:NoSchedule
unless the cluster says mastersSchedulable.

  nodePlacement:
    tolerations:
    - {key: node-role.kubernetes.io/master, operator: Exists, effect: NoSchedule}
"
INGRESS_PORTS Error "ingress-ports" "routers that want one port twice"
"On the host network the HTTP, HTTPS and stats ports of a controller have to differ, and two controllers that share nodes need other ports or
enough nodes for both.
"
INGRESS_DOMAIN Warning "ingress-domain" "a domain that another controller answers for"
"Domains of controllers are unique: the operator does not admit the second one. And the nodes' own DNS answers everything below
apps.CLUSTER.BASE with the ingress VIP, so a shard's domain has to be beside it and not below.

  domain: smyrna.apps.georgia.telco.example   # wrong: below
  domain: apps-smyrna.georgia.telco.example   # right: beside
"
INGRESS_DOMAIN_NAME Error "ingress-domain-name" "a domain that the API server rejects in an ingress controller"
"A domain consists of lower-case letters, digits, `-` and `.`. It has at most 244 characters, each part at most 63, and
`router-NAME.DOMAIN` at most 253.
"
INGRESS_OVERLAP Warning "ingress-overlap" "a route that several ingress controllers serve"
"Nothing in their routeSelector and namespaceSelector keeps two controllers apart. The route is then served by both, also where only the
shard was meant. Let the default controller leave out what the shard serves.

  routeSelector:
    matchExpressions:
    - {key: type, operator: NotIn, values: [smyrna-route]}
"
INGRESS_UNSERVED Warning "ingress-unserved" "routes that no ingress controller serves"
"Every controller has a selector, and together they do not take all routes. The message has an example. Such a Route is there and
answers nothing.
"
INGRESS_BACKENDS Warning "ingress-backends" "a load balancer that does not fit the routers behind it"
"An HAProxy in front of routers needs a server for every node that may run one, and no others; and it needs the router's own
answer to know which node has one: HTTP on the stats port (1936), path /healthz/ready. A node without a router refuses
connections, and one whose router is about to stop says so there 45 seconds before.

`berth ingress check -f site/ --haproxy haproxy.cfg` compares; `berth ingress shard --haproxy FILE` writes one that fits.
"
EGRESS_ADDRESS Error "egress-address" "an egress address that is not an address"
"spec.egressIPs has plain addresses, without prefix. With one that cannot be read OVN-Kubernetes leaves out the whole object.

  egressIPs: [10.19.3.50/24]   # wrong
  egressIPs: [10.19.3.50]      # right
"
EGRESS_CONFLICT Error "egress-conflict" "an egress address that something else has"
"It is the address of a node, a VIP or a gateway, or another EgressIP has it. OVN-Kubernetes refuses it.
"
EGRESS_NO_NODE Error "egress-no-node" "an egress address that no node can host"
"A node hosts an egress address if one of its networks contains it. None does, so that traffic keeps the node's own address.
"
EGRESS_UNKNOWN Note "egress-unknown" "an egress address of which nobody knows whether a node can host it"
"A node hosts an egress address if one of its networks contains it. The documents have no nodes, or say nothing of their networks.
Add networks and addresses to the documents, or read the nodes of the cluster:

  oc get nodes -o yaml > nodes.yaml
  berth egress plan -f site/ --nodes nodes.yaml
"
EGRESS_UNLABELLED Error "egress-unlabelled" "an egress address whose nodes are not labelled"
"Only nodes with the label k8s.ovn.org/egress-assignable host egress addresses, and none of those in the address's network has it. `berth
egress plan` proposes the smallest set of nodes to label.
"
EGRESS_UNPLACED Error "egress-unplaced" "more egress addresses than nodes"
"A node hosts at most one address of an EgressIP. There are more addresses than labelled nodes in their networks, so one is nowhere.
"
EGRESS_GREEDY Warning "egress-greedy" "a placement that OVN-Kubernetes would not find"
"There is a placement of all addresses, but OVN-Kubernetes takes for each address the first node that fits and never goes back, so that a
later one finds its nodes taken. More labelled nodes, or another order of addresses, help.
"
EGRESS_SINGLE_NODE Warning "egress-single-node" "an egress address that one node alone can host"
"When that node reboots, which every rollout makes it do, the address is gone. Label a second node of the network.
"
EGRESS_REMOTE_ONLY Note "egress-remote-only" "an egress address that only remote nodes can host"
"OVN-Kubernetes takes an address away from a node that does not answer within a second. Over a slow line that happens without
any fault, and breaks connections. The timeout is a field of network.operator.openshift.io/cluster.
"
EGRESS_ALL_NAMESPACES Warning "egress-all-namespaces" "egress addresses for every namespace"
"The empty namespaceSelector selects all namespaces, those of the platform too. All their traffic would leave by these addresses.
"
EGRESS_USELESS_LABEL Warning "egress-useless-label" "an egress label that serves no address"
"The node has k8s.ovn.org/egress-assignable, and no egress address is in its networks. OVN-Kubernetes probes it every few seconds for
nothing.
"
EGRESS_LABEL_SEARCH Note "egress-label-search" "the smallest set of nodes to label was not searched to the end"
"`berth egress plan` proposes the smallest set of nodes to label k8s.ovn.org/egress-assignable. Where nodes are in many networks, or a
cloud limits their addresses, there are more sets than can be looked at. The one that is proposed is enough for every
address, but a smaller one may exist.
"
INVALID_OBSERVED Warning "invalid-observed-node" "an observed Node that cannot be used"
"The Node object has no name, or its labels are not a mapping of strings. It is left out. Take the file from `kubectl get
nodes -o yaml` or `-o json`.
"
}
