//! The kubelet's `--node-labels` flag.

use berth_labels::NodeLabels;

use crate::support::set;

fn entries(values: &[&str]) -> Vec<(String, String)> {
    NodeLabels::parse(values).entries().to_vec()
}

#[test]
fn reads_values_as_the_kubelet_does() {
    type Row<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)]);
    let rows: [Row<'_>; 16] = [
        (&[], &[]),
        (&[""], &[]),
        (&[",,"], &[]),
        (&["a=b"], &[("a", "b")]),
        (&["a=b,c=d"], &[("a", "b"), ("c", "d")]),
        (&[",a=b,,c=d,"], &[("a", "b"), ("c", "d")]),
        (
            &["node-role.kubernetes.io/worker"],
            &[("node-role.kubernetes.io/worker", "")],
        ),
        (&["a="], &[("a", "")]),
        (&["a=b=c"], &[("a", "b=c")]),
        (&["=b"], &[("", "b")]),
        (&[" a = b , c "], &[("a", "b"), ("c", "")]),
        (&["a=b", "c=d"], &[("a", "b"), ("c", "d")]),
        (&["a=1,b=2", "a=3"], &[("a", "3"), ("b", "2")]),
        (&["a=1,a"], &[("a", "")]),
        // Blanks alone are an item; its key is empty, and the kubelet refuses that.
        (&["a=1, ,b=2"], &[("a", "1"), ("", ""), ("b", "2")]),
        (&["a=\"\""], &[("a", "\"\"")]),
    ];
    for (values, expected) in rows {
        let expected: Vec<_> = expected
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        assert_eq!(entries(values), expected, "{values:?}");
    }
}

#[test]
fn the_unit_of_openshift_with_an_unset_variable_reads_well() {
    let flag = "node-role.kubernetes.io/worker,node.openshift.io/os_id=rhcos,";
    let labels = NodeLabels::parse([flag]);
    assert_eq!(
        labels.valid().to_string(),
        "node-role.kubernetes.io/worker=,node.openshift.io/os_id=rhcos"
    );
}

#[test]
fn illegal_labels_are_named_with_the_reason() {
    let labels = NodeLabels::parse(["ok=1,bad key=1,quoted=\"\", "]);
    let checked = labels.checked();
    let refused: Vec<_> = checked.iter().filter_map(|item| item.as_ref().err()).collect();
    assert_eq!(
        refused.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>(),
        ["bad key=1", "quoted=\"\"", "="]
    );
    assert_eq!(labels.valid().to_string(), "ok=1");
}

#[test]
fn formats_a_value_without_quotes() {
    assert_eq!(NodeLabels::format(&set("b=,a=1")), "a=1,b=");
    assert_eq!(NodeLabels::format(&set("")), "");
}
