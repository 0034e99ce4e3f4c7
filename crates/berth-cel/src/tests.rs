use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use crate::{EvalError, EvalErrorKind, Names, Program, Type, Value};

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

/// The same names, as JSON.
struct Lazy(serde_json::Value);

impl Names for Lazy {
    fn value(&self, name: &str) -> Option<Result<Value, EvalError>> {
        names().get(name).cloned().map(Ok)
    }

    fn json(&self, name: &str) -> Option<&serde_json::Value> {
        (name == "object").then_some(&self.0)
    }
}

/// Evaluates, and sees that it makes no difference whether the names are values or JSON.
fn evaluate(text: &str) -> Result<Value, String> {
    let eager = evaluate_with(text, &names());
    let object = names().get("object").and_then(Value::to_json).unwrap();
    let lazy = evaluate_with(text, &Lazy(object));
    assert_eq!(format!("{eager:?}"), format!("{lazy:?}"), "{text}");
    eager
}

fn evaluate_with(text: &str, names: &dyn Names) -> Result<Value, String> {
    let program =
        Program::compile(text, &["object", "nothing", "Object", "JSONPatch"]).map_err(|error| error.to_string())?;
    let mut budget = 100_000;
    program.evaluate(names, &mut budget).map_err(|error| error.to_string())
}

#[test]
fn expressions_that_hold() {
    for text in [
        "1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && -3 % 2 == -1 && 7 / 2 == 3",
        "dyn(1) == 1.0 && dyn(1u) == 1 && 2 > 1.5 && dyn(1) in [1.0] && !(dyn(1) == '1')",
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
        ("object.metadata.name + 1 == 2", "no such overload"),
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

fn typed(text: &str) -> Result<Type, Vec<String>> {
    let inner = Type::object("inner", [("x".to_owned(), Type::Int)]);
    let own = Type::object(
        "self",
        [
            ("a".to_owned(), Type::Text),
            ("n".to_owned(), Type::Int),
            ("d".to_owned(), Type::Double),
            ("b".to_owned(), Type::Bool),
            ("any".to_owned(), Type::Dyn),
            ("t".to_owned(), Type::Timestamp),
            ("l".to_owned(), Type::list(Type::Text)),
            ("lo".to_owned(), Type::list(inner.clone())),
            ("m".to_owned(), Type::map(Type::Text)),
            ("o".to_owned(), inner),
        ],
    );
    match Program::compile_typed(text, &[("self", own)]) {
        Ok(program) => Ok(program.result().clone()),
        Err(error) => {
            let shown = error.to_string();
            let findings = shown.lines().filter_map(|line| line.strip_prefix("ERROR: <input>:"));
            Err(findings.map(str::to_owned).collect())
        }
    }
}

/// What a real API server says of these.
#[expect(clippy::too_many_lines, reason = "a table")]
#[test]
fn wrong_types_are_found_before_anything_is_evaluated() {
    for (text, words) in [
        (
            "self.l.map(x, x.y) == []",
            "1:16: type 'string' does not support field selection",
        ),
        (
            "self.m.k.z == 'a'",
            "1:9: type 'string' does not support field selection",
        ),
        ("self.n.foo == 1", "1:7: type 'int' does not support field selection"),
        (
            "self.a[0] == 'x'",
            "1:7: found no matching overload for '_[_]' applied to '(string, int)'",
        ),
        (
            "self.l['a'] == 'x'",
            "1:7: found no matching overload for '_[_]' applied to '(list(string), string)'",
        ),
        ("self.a && true", "1:5: expected type 'bool' but found 'string'"),
        (
            "!self.a",
            "1:1: found no matching overload for '!_' applied to '(string)'",
        ),
        (
            "self.a ? true : false",
            "1:8: found no matching overload for '_?_:_' applied to '(string, bool, bool)'",
        ),
        (
            "true ? 1 : 'x'",
            "1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'",
        ),
        (
            "self.a in self.a",
            "1:8: found no matching overload for '@in' applied to '(string, string)'",
        ),
        (
            "self.n in self.l",
            "1:8: found no matching overload for '@in' applied to '(int, list(string))'",
        ),
        (
            "self.l + 1 == []",
            "1:8: found no matching overload for '_+_' applied to '(list(string), int)'",
        ),
        (
            "self.a.startsWith(1)",
            "1:18: found no matching overload for 'startsWith' applied to 'string.(int)'",
        ),
        ("self.l.all(x, x)", "1:15: expected type 'bool' but found 'string'"),
        (
            "self.l.filter(x, 1) == []",
            "1:14: found no matching overload for '_?_:_' applied to '(int, list(string), list(string))'",
        ),
        (
            "-self.a == ''",
            "1:1: found no matching overload for '-_' applied to '(string)'",
        ),
        (
            "self.a == 1",
            "1:8: found no matching overload for '_==_' applied to '(string, int)'",
        ),
        (
            "self.a != null",
            "1:8: found no matching overload for '_!=_' applied to '(string, null)'",
        ),
        (
            "self.n + 1.5 > 2.0",
            "1:8: found no matching overload for '_+_' applied to '(int, double)'",
        ),
        (
            "self.a.all(x, true)",
            "1:5: expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        ("self.o.y == 1", "1:7: undefined field 'y'"),
        ("has(self.o.y)", "1:4: undefined field 'y'"),
        ("self.lo.all(i, i.z == 1)", "1:17: undefined field 'z'"),
        ("self.lo[0].z == 1", "1:11: undefined field 'z'"),
        (
            "size(self.n) == 1",
            "1:5: found no matching overload for 'size' applied to '(int)'",
        ),
        (
            "self.a.size(1) == 1",
            "1:12: found no matching overload for 'size' applied to 'string.(int)'",
        ),
        (
            "self.t > 'x'",
            "1:8: found no matching overload for '_>_' applied to '(timestamp, string)'",
        ),
        (
            "self.l == [1]",
            "1:8: found no matching overload for '_==_' applied to '(list(string), list(int))'",
        ),
        ("self.?zz.orValue('') == ''", "1:5: undefined field 'zz'"),
        (
            "self.o.?x.orValue('a') == 'b'",
            "1:18: found no matching overload for 'orValue' applied to 'optional_type(int).(string)'",
        ),
        ("[self.a, self.n] == []", "1:14: expected type 'string' but found 'int'"),
        (
            "{'a': self.a} == {'a': 1}",
            "1:15: found no matching overload for '_==_' applied to '(map(string, string), map(string, int))'",
        ),
        (
            "self.m.all(k, k == 1)",
            "1:17: found no matching overload for '_==_' applied to '(string, int)'",
        ),
        (
            "self.a.size() == 'x'",
            "1:15: found no matching overload for '_==_' applied to '(int, string)'",
        ),
        (
            "(self.a == 'x') + 1",
            "1:17: found no matching overload for '_+_' applied to '(bool, int)'",
        ),
        (
            "self.a.split(',')[0] == 1",
            "1:22: found no matching overload for '_==_' applied to '(string, int)'",
        ),
        (
            "self.n % 2.0 == 1.0",
            "1:8: found no matching overload for '_%_' applied to '(int, double)'",
        ),
        ("self.b && self.n", "1:15: expected type 'bool' but found 'int'"),
    ] {
        assert_eq!(typed(text), Err(vec![words.to_owned()]), "{text}");
    }
    for text in [
        "self.m.k == 'a' && self.a in self.l && self.n < 1.5 && self.d > 1",
        "self.any == 'x' && self.any + 1 == 2 && self.any.y.z",
        "self.l == ['a'] && 'a' in self.m && self.l == [] && self.m == {} && self.m == {'a': 'b'}",
        "'%s %d'.format([self.a, self.n]) == '' && self.?a.orValue('') == ''",
        "self.lo.exists(i, i.x > 0) && self.o == null && self.t > timestamp('2020-01-01T00:00:00Z')",
    ] {
        assert_eq!(typed(text), Ok(Type::Bool), "{text}");
    }
    assert_eq!(typed("self.l.map(x, size(x))"), Ok(Type::list(Type::Int)));
    let both = ["1:5: undefined field 'zz'", "1:21: undefined field 'yy'"].map(str::to_owned);
    assert_eq!(typed("self.zz == 1 || self.yy == 2"), Err(both.to_vec()));
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
fn what_is_wrong_all_over_is_told_a_hundred_times() {
    for text in [
        "#".repeat(50_000),
        vec!["a"; 25_000].join("+"),
        vec!["!1"; 9_000].join("||"),
    ] {
        let error = Program::compile(&text, &[]).unwrap_err().to_string();
        assert_eq!(
            error.matches("ERROR: ").count(),
            100,
            "{}",
            text.get(..4).unwrap_or_default()
        );
    }
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
