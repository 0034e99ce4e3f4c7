use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use crate::{EvalErrorKind, Program, Value};

fn names() -> BTreeMap<String, Value> {
    let object = json!({
        "metadata": {"name": "n1", "labels": {"a": "1", "example.com/b": "x"}},
        "spec": {"count": 3, "items": [{"name": "x", "size": 1}, {"name": "y", "size": 2}], "ratio": 1.5},
    });
    BTreeMap::from([
        ("object".to_owned(), Value::of_json(&object)),
        ("nothing".to_owned(), Value::Null),
    ])
}

fn evaluate(text: &str) -> Result<Value, String> {
    let program =
        Program::compile(text, &["object", "nothing", "Object", "JSONPatch"]).map_err(|error| error.to_string())?;
    let mut budget = 100_000;
    program
        .evaluate(&names(), &mut budget)
        .map_err(|error| error.to_string())
}

#[test]
fn expressions_that_hold() {
    for text in [
        "1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && -3 % 2 == -1 && 7 / 2 == 3",
        "1 == 1.0 && 1u == 1 && 2 > 1.5 && 1 in [1.0] && !(1 == '1')",
        r#"'a\'b' == "a'b" && r'\d' == '\\d' && '''x''' == 'x' && 'é'.size() == 1 && b'\xff' == b'\377'"#,
        "has(object.metadata.labels) && !has(object.metadata.annotations) && object.metadata.labels['example.com/b'] == 'x'",
        "'a' in object.metadata.labels && !('c' in object.metadata.labels)",
        "object.spec.items.all(i, i.size > 0) && object.spec.items.exists(i, i.name == 'y')",
        "object.spec.items.exists_one(i, i.size == 1) && object.spec.items.map(i, i.name) == ['x', 'y']",
        "object.spec.items.map(i, i.size > 1, i.name) == ['y'] && object.spec.items.filter(i, i.size > 1).size() == 1",
        "[1, 2].all(i, v, i + 1 == v) && {'a': 1}.exists(k, v, k == 'a' && v == 1)",
        "[3, 4].transformList(i, v, i * v) == [0, 4] && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
        "{'a': 'b'}.transformMapEntry(k, v, {v: k}) == {'b': 'a'}",
        "object.metadata.labels.all(key, key.size() > 0)",
        "true || object.none == 1 && (object.none == 1 || true)",
        "!(false && object.none == 1) && !(object.none == 1 && false)",
        "[1, 0].exists(x, 1 / x == 1)",
        "object.?spec.?nothing.orValue('d') == 'd' && object.?spec.count.orValue(0) == 3",
        "object.spec.items[?5].hasValue() == false && object[?'spec'].hasValue()",
        "optional.of(1).value() == 1 && optional.none().or(optional.of(2)).value() == 2",
        "optional.of(1).optMap(x, x + 1) == optional.of(2) && !optional.ofNonZeroValue('').hasValue()",
        "[?optional.none(), 1] == [1] && {?'a': optional.none()} == {}",
        "'abc'.matches('^a.c$') && matches('abc', 'b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')",
        "'a-b-c'.split('-') == ['a', 'b', 'c'] && 'a-b-c'.split('-', 2) == ['a', 'b-c'] && ['a', 'b'].join(',') == 'a,b'",
        "'Abc'.lowerAscii() == 'abc' && 'abc'.upperAscii() == 'ABC' && 'abc'.replace('b', 'x') == 'axc'",
        "'tacocat'.substring(4) == 'cat' && 'tacocat'.substring(0, 4) == 'taco' && 'abc'.charAt(1) == 'b'",
        "'abcabc'.indexOf('c') == 2 && 'abcabc'.lastIndexOf('c') == 5 && 'abc'.indexOf('x') == -1",
        "'%s is %d, %.2f %x'.format(['a', 3, 1.5, 255]) == 'a is 3, 1.50 ff'",
        "'abc 123'.find('[0-9]+') == '123' && '1 2 3'.findAll('[0-9]') == ['1', '2', '3'] && '1 2'.findAll('[0-9]', 1) == ['1']",
        "[1, 2, 3].isSorted() && [1, 2].sum() == 3 && [2, 1].max() == 2 && [1, 1].indexOf(1) == 0",
        "sets.contains([1, 2], [1]) && sets.equivalent([1, 1], [1]) && sets.intersects([1], [1, 2])",
        "lists.range(3) == [0, 1, 2] && [[1], [2]].flatten() == [1, 2] && [2, 1].sort() == [1, 2] && [1, 1].distinct() == [1]",
        "[{'a': 2}, {'a': 1}].sortBy(x, x.a)[0].a == 1 && [1, 2].reverse() == [2, 1] && [1, 2, 3].slice(1, 2) == [2]",
        "int('3') == 3 && string(3) == '3' && double('1.5') == 1.5 && uint(3) == 3u && bool('true') && string(1.5) == '1.5'",
        "type(1) == int && type('a') == string && type([]) == list && type(null) == null_type",
        "duration('1h30m') == duration('90m') && string(duration('1.5s')) == '1.5s' && duration('1h').getMinutes() == 60",
        "timestamp('2024-01-02T03:04:05Z').getFullYear() == 2024 && timestamp('2024-01-02T03:04:05Z').getMonth() == 0",
        "timestamp('2024-01-01T00:00:00Z') + duration('24h') == timestamp('2024-01-02T00:00:00Z')",
        "isIP('10.0.0.1') && !isIP('::ffff:1.2.3.4') && ip('10.0.0.1').family() == 4 && isCIDR('10.0.0.0/8')",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsCIDR('0.0.0.0/0')",
        "url('https://a.dev:80/p?q=1').getHostname() == 'a.dev' && url('https://a.dev:80/p').getPort() == '80' && isURL('/a')",
        "url('https://a.dev/p?q=1').getQuery() == {'q': ['1']} && !isURL('a b')",
        "quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('500m').add(quantity('0.5')).asInteger() == 1",
        "!format.dns1123Label().validate('my-name').hasValue() && format.dns1123Label().validate('A').hasValue()",
        "Object{metadata: Object.metadata{labels: {'a': 'b'}}}.metadata.labels.a == 'b'",
        "[JSONPatch{op: 'add', path: '/a', value: 1}][0].op == 'add' && jsonpatch.escapeKey('a/b~') == 'a~1b~0'",
        "nothing == null && object.spec.ratio > 1 && {'a': 1, 'b': 2}.size() == 2 && size('abc') == 3",
        "(object.spec.count > 5 ? 'many' : object.spec.count > 2 ? 'some' : 'few') == 'some'",
        "// a comment\n true",
        "'x' + 'y' + 'z' == 'xyz' && [1] + [2] == [1, 2] && !!true && --1 == 1",
    ] {
        match evaluate(text) {
            Ok(value) => assert!(value.is_true(), "{text}: {value:?}"),
            Err(error) => panic!("{text}: {error}"),
        }
    }
}

#[test]
fn evaluations_fail_in_the_words_of_the_api_server() {
    for (text, words) in [
        ("object.none == 1", "no such key: none"),
        ("object.metadata.labels['z'] == ''", "no such key: z"),
        ("[1][3] == 1", "index out of bounds: 3"),
        ("1 / 0 == 1", "division by zero"),
        ("1 % 0 == 1", "modulus by zero"),
        ("9223372036854775807 + 1 == 0", "integer overflow"),
        ("object.metadata.name + 1 == ''", "no such overload"),
        ("'a'.substring(3) == ''", "index out of range: 3"),
        ("optional.none().value() == 1", "optional.none() dereference"),
        ("object.spec.items.exists_one(i, i.none)", "no such key: none"),
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
    ] {
        assert_eq!(evaluate(text).map(|_| ()), Err(words.to_owned()), "{text}");
    }
}

#[test]
fn texts_that_are_no_expressions_are_shown_with_their_place() {
    for (text, shown) in [
        (
            "object.a ==",
            "ERROR: <input>:1:12: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', \
             'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | object.a ==\n | ...........^",
        ),
        (
            "objekt.a == 1",
            "ERROR: <input>:1:1: undeclared reference to 'objekt' (in container '')\n | objekt.a == 1\n | ^",
        ),
        (
            "object.a.strartsWith('x')",
            "ERROR: <input>:1:21: undeclared reference to 'strartsWith' (in container '')\n | \
             object.a.strartsWith('x')\n | ....................^",
        ),
    ] {
        assert_eq!(evaluate(text).map(|_| ()), Err(shown.to_owned()), "{text}");
    }
    for text in [
        "",
        "a",
        "(",
        "1 +",
        "[1",
        "{'a'}",
        "'a",
        "has(object)",
        "for",
        "object.",
        "1 2",
        "object.all(1, true)",
        "@",
        "\"\\z\"",
    ] {
        assert!(Program::compile(text, &["object"]).is_err(), "{text}");
    }
}

#[test]
fn depth_and_work_are_bounded() {
    let deep = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
    assert!(Program::compile(&deep, &[]).is_err());
    let chain = format!("object{}", ".a".repeat(5_000));
    assert!(Program::compile(&chain, &["object"]).is_err());
    let choices = format!("{}1", "true ? 1 : ".repeat(5_000));
    assert!(Program::compile(&choices, &[]).is_err());
    let nots = format!("{}true", "!".repeat(5_000));
    assert!(Program::compile(&nots, &[]).is_ok());
    let sum = vec!["1"; 5_000].join(" + ");
    assert!(matches!(
        Program::compile(&sum, &[]).unwrap().evaluate(&names(), &mut 100_000),
        Ok(Value::Int(5_000))
    ));
    let work = Program::compile("lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))", &[]).unwrap();
    let error = work.evaluate(&names(), &mut 100_000).unwrap_err();
    assert_eq!(error.kind(), EvalErrorKind::Cost);
}

#[test]
fn names_are_known() {
    let program = Program::compile("self.all(oldSelf, oldSelf > 1)", &["self", "oldSelf"]).unwrap();
    assert!(program.mentions("self") && !program.mentions("oldSelf"));
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,80}") {
        let _ = evaluate(&text);
    }

    #[test]
    fn no_text_of_its_own_signs_panics(words in prop::collection::vec(
        prop::sample::select(vec![
            "object", ".", "?", ":", "(", ")", "[", "]", "{", "}", "'a'", "1", "-", "!", "==", "&&", "||", "in", "has(", ",",
            ".all(x,", ".map(x,", "x", "+", "1.5", "1u", "true", "null", ".size()", ".spec", ".items", "\"", "\\", "r'", "%",
            ".optMap(", "optional.of(", "Object{", "a:", ".substring(", ".format([", "duration('1s')",
        ]), 0..24)) {
        let _ = evaluate(&words.concat());
    }

    #[test]
    fn sums_are_as_in_rust(a in any::<i32>(), b in any::<i32>(), c in 1..1000_i32) {
        let text = format!("{a} + {b} * {c} - {a} / {c}");
        let expected = i64::from(a) + i64::from(b) * i64::from(c) - i64::from(a) / i64::from(c);
        prop_assert!(matches!(evaluate(&text), Ok(Value::Int(value)) if value == expected));
    }
}
