//! The hooks that merge labels into what is there: a second run changes nothing, and the labels are there after it.
//!
//! Input: labels as in `--node-labels`, labels of an earlier run, an argument list with one word per line, an
//! environment file; separated by lines of `====`.
#![no_main]

use berth_fuzz::byte_parts;
use berth_labels::{Flavour, LabelSet, NodeLabels};
use berth_units::{
    EffectiveUnit, EnvFile, HookError, KUBELET_ENV_VARIABLE, KubeletCommand, LabelChange, MergedFile, merge_argv,
    merge_default_kubelet, merge_kubelet_env,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let parts = byte_parts(data, 4);
    let part = |at: usize| parts.get(at).copied().unwrap_or_default();
    let labels = NodeLabels::parse([String::from_utf8_lossy(part(0))]).valid();
    let previous = NodeLabels::parse([String::from_utf8_lossy(part(1))]).valid();
    let argv = String::from_utf8_lossy(part(2));
    let argv: Vec<&str> = argv.split('\n').collect();
    for flavour in [Flavour::Upstream, Flavour::Openshift] {
        check_argv(&argv, &labels, flavour);
        let change = LabelChange {
            labels: &labels,
            previous: &previous,
            flavour,
        };
        check_file(part(3), &|file| merge_default_kubelet(file, change));
        let unit = EffectiveUnit::assemble("kubelet.service", ("kubelet.service", part(2)), &[]);
        check_file(part(3), &|file| merge_kubelet_env(file, Some(&unit), change));
        if let Ok(merged) = merge_kubelet_env(part(3), None, change) {
            let file = EnvFile::parse(&merged.text);
            let value = file.get(KUBELET_ENV_VARIABLE).map_or("", |entry| entry.value.as_str());
            let read = NodeLabels::parse([value]).valid();
            for (key, value) in &labels {
                let refused = merged.left_out.iter().any(|left| left.label.key == *key);
                assert!(refused || read.get(key.as_str()) == Some(value), "{key}: {read}");
            }
        }
    }
});

fn check_argv(argv: &[&str], labels: &LabelSet, flavour: Flavour) {
    let Ok(once) = merge_argv(argv, labels, flavour) else {
        return;
    };
    let twice = merge_argv(&once.argv, labels, flavour);
    assert_eq!(twice.as_ref(), Ok(&once));
    assert!(once.argv.len() <= argv.len() + 1);
    let kubelet = KubeletCommand::from_argv(&once.argv).expect("it was one before");
    let read = kubelet.node_labels();
    for (key, value) in labels {
        let refused = once.left_out.iter().any(|left| left.label.key == *key);
        let there = read
            .iter()
            .any(|label| label.key == key.as_str() && label.value == value.as_str());
        assert!(refused || there, "{key}={value}: {:?}", once.argv);
    }
    let before = KubeletCommand::from_argv(argv).expect("labels were merged into it");
    for label in before.node_labels() {
        let kept = read.iter().any(|now| now.key == label.key);
        assert!(kept, "{label:?} is gone: {:?}", once.argv);
    }
}

fn check_file(file: &[u8], merge: &dyn Fn(&[u8]) -> Result<MergedFile, HookError>) {
    let Ok(once) = merge(file) else {
        return;
    };
    assert_eq!(once.changed, once.text != file);
    let twice = merge(&once.text).expect("what was merged can be merged again");
    assert!(!twice.changed, "{once:?}\n{twice:?}");
}
