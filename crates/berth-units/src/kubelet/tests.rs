use proptest::prelude::*;

use super::*;
use crate::{ExecLine, Place};

fn labels(command: &KubeletCommand) -> String {
    let texts: Vec<_> = command
        .node_labels()
        .iter()
        .map(|label| format!("{}={}", label.key, label.value))
        .collect();
    texts.join(",")
}

fn argv(words: &str) -> Vec<&str> {
    words.split(' ').collect()
}

#[test]
fn labels_are_read_by_pflag_rules() {
    let table = [
        ("kubelet", ""),
        ("kubelet --node-labels=a=b", "a=b"),
        ("kubelet --node-labels a=b --v 2", "a=b"),
        ("kubelet --node_labels=a=b", "a=b"),
        ("kubelet --node-labels=a=b --node-labels=c=d,a=e", "a=e,c=d"),
        ("kubelet --node-labels=,a,,b=,", "a=,b="),
        ("kubelet -v 2 --node-labels=a=b", "a=b"),
        ("kubelet -v=2 --node-labels=a=b", "a=b"),
        ("kubelet --register-node --node-labels=a=b", "a=b"),
        ("kubelet --fail-swap-on false --node-labels=a=b", "a=b"),
        ("kubelet --config --node-labels=a=b", ""),
        ("kubelet --new-flag --node-labels=a=b", "a=b"),
        ("kubelet --new-flag x --node-labels=a=b", "a=b"),
        ("kubelet -- --node-labels=a=b", ""),
        ("kubelet --node-labels", ""),
        ("kubelet -node-labels=a=b", ""),
    ];
    for (words, expected) in table {
        let command = KubeletCommand::from_argv(&argv(words)).unwrap();
        assert_eq!(labels(&command), expected, "{words}");
    }
}

#[test]
fn the_kubelet_is_found_behind_wrappers() {
    let table = [
        (
            "/usr/local/bin/kubenswrapper /usr/bin/kubelet --v=2",
            "/usr/bin/kubelet",
            1,
        ),
        ("/usr/bin/env A=b nice -n 5 /usr/bin/kubelet", "/usr/bin/kubelet", 5),
        ("numactl --cpunodebind=0 kubelet --v=2", "kubelet", 2),
        ("/hyperkube kubelet --v=2", "kubelet", 1),
        ("systemd-cat -t kubelet /usr/bin/kubelet --v=2", "/usr/bin/kubelet", 3),
    ];
    for (words, path, wrapper) in table {
        let command = KubeletCommand::from_argv(&argv(words)).unwrap();
        assert_eq!((command.path(), command.wrapper().len()), (path, wrapper), "{words}");
    }
}

/// A script of one word ends in `/kubelet` only until a flag is added to it.
#[test]
fn one_more_flag_does_not_change_which_word_is_the_kubelet() {
    let environment = Environment::new();
    let line = "wrap /opt/kubelet word /bin/sh -c";
    for (value, path) in [
        (format!("{line} '/usr/bin/kubelet'"), "/usr/bin/kubelet"),
        (
            format!("{line} '/usr/bin/kubelet --node-labels=a=b'"),
            "/usr/bin/kubelet",
        ),
        (
            "systemd-cat -t kubelet /bin/sh -c 'exec kubelet --v=2'".to_owned(),
            "kubelet",
        ),
        ("wrap /opt/kubelet --hostname-override sh".to_owned(), "/opt/kubelet"),
    ] {
        assert_eq!(find(&value, &environment).unwrap().path(), path, "{value}");
    }
}

fn find(value: &str, environment: &Environment) -> Result<KubeletCommand, NotKubelet> {
    KubeletCommand::find(&ExecLine::parse(value).commands[0], environment)
}

#[test]
fn shells_are_refused_unless_the_script_is_plain() {
    let environment = Environment::new();
    let plain = find("/bin/bash -c \"exec /usr/bin/kubelet --node-labels=a=b\"", &environment).unwrap();
    assert_eq!(labels(&plain), "a=b");
    assert_eq!(plain.insertion(), Insertion::InsideScript(2));
    let refused = [
        (
            "/bin/bash -c '/usr/bin/kubelet --x=$$(hostname)'",
            "the kubelet is started by the shell script",
        ),
        (
            "/bin/sh -ec 'sleep 1; kubelet'",
            "the kubelet is started by the shell script",
        ),
        (
            "/bin/bash -c \"${ORIG_EXECSTART}\"",
            "the command in ${ORIG_EXECSTART} is run by a shell",
        ),
        ("/bin/bash -c $RUN", "the command in ${RUN} is run by a shell"),
        ("/bin/bash -c 'echo hello'", "`/bin/bash` does not run the kubelet"),
        ("/bin/bash /opt/start.sh", "`/bin/bash` does not run the kubelet"),
        ("/usr/bin/crio --x", "`/usr/bin/crio` does not run the kubelet"),
    ];
    for (value, message) in refused {
        let error = find(value, &environment).unwrap_err().to_string();
        assert!(error.starts_with(message), "{value}: {error}");
    }
}

#[test]
fn flags_in_variables_are_read_when_the_variable_is_known() {
    let mut environment = Environment::new();
    let place = Place {
        path: "/etc/default/kubelet".to_owned(),
        line: 1,
        column: 1,
    };
    environment.set("EXTRA", "--node-labels=a=b '--v=2'", place);
    let value = "@/usr/bin/kubelet kubelet --node-labels=x=${X} $EXTRA $NONE";
    let command = find(value, &environment).unwrap();
    assert_eq!(labels(&command), "x=,a=b");
    assert_eq!(command.flag("node-labels").unwrap().variable.as_deref(), Some("EXTRA"));
    assert_eq!(command.opaque(), []);

    environment.add_unread("/etc/default/kubelet");
    let command = find(value, &environment).unwrap();
    assert_eq!(labels(&command), "x=${X}");
    assert!(command.node_labels()[0].open);
    let opaque: Vec<_> = command.opaque().iter().map(|found| found.variable.as_str()).collect();
    assert_eq!(opaque, ["EXTRA", "NONE"]);
}

#[test]
fn only_what_is_not_known_is_open() {
    let mut environment = Environment::new();
    let command = find("/usr/bin/kubelet --node-labels=a=$$X,b=%%y", &environment).unwrap();
    assert!(command.node_labels().iter().all(|label| !label.open));
    environment.add_unread("/etc/env");
    let command = find(
        "/usr/bin/kubelet --node-labels=a=%H,b=${B},c=d --config $CONF",
        &environment,
    )
    .unwrap();
    let open: Vec<_> = command.node_labels().iter().map(|label| label.open).collect();
    assert_eq!(open, [true, true, false]);
    assert_eq!(command.opaque()[0].variable, "CONF");
}

#[test]
fn what_the_kubelet_would_stumble_over_is_told() {
    let command = KubeletCommand::from_argv(&argv("kubelet run --v=2 -- more")).unwrap();
    assert_eq!(command.positional(), ["run", "more"]);
    assert_eq!(command.insertion(), Insertion::Before(3));
    let command = KubeletCommand::from_argv(&argv("kubelet --v=2 --node_labels")).unwrap();
    assert_eq!(command.needs_value(), Some("node-labels"));
    assert_eq!(command.value("v"), Some("2"));
}

proptest! {
    #[test]
    fn no_argument_list_makes_it_panic(words in prop::collection::vec("-{0,3}[a-z_$=é]{0,4}", 0..8)) {
        let mut words = words;
        words.insert(0, "kubelet".to_owned());
        let command = KubeletCommand::from_argv(&words).unwrap();
        let _ = command.node_labels();
    }
}
