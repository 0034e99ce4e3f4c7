//! Patterns of RE2 in the words of the `regex` crate.
//!
//! Both are linear and nearly alike. They differ in classes, which are ASCII in RE2, and in what a set may hold.

use regex::Regex;

/// Patterns longer than this are refused, as a guard.
const LONGEST: usize = 16 * 1024;

/// Reads a pattern as the API server does, in the language of RE2; words for what is wrong otherwise.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > LONGEST {
        return Err("expression too large".to_owned());
    }
    regex::RegexBuilder::new(&translated(pattern))
        .size_limit(10 << 20)
        .build()
        .map_err(|_| format!("error parsing regexp: invalid pattern: `{pattern}`"))
}

fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut characters = pattern.chars().peekable();
    let mut in_set = false;
    // `]` is a member of a set when it comes first.
    let mut first = false;
    while let Some(character) = characters.next() {
        let was_first = std::mem::take(&mut first);
        match character {
            '\\' => {
                let Some(letter) = characters.next() else {
                    out.push('\\');
                    break;
                };
                let class = match letter {
                    'd' => "0-9",
                    'w' => "0-9A-Za-z_",
                    's' => r"\t\n\f\r ",
                    'D' if !in_set => "^0-9",
                    'W' if !in_set => "^0-9A-Za-z_",
                    'S' if !in_set => r"^\t\n\f\r ",
                    'b' if !in_set => {
                        out.push_str(r"(?-u:\b)");
                        continue;
                    }
                    'Q' => {
                        let mut quoted = String::new();
                        for next in characters.by_ref() {
                            quoted.push(next);
                            if quoted.ends_with(r"\E") {
                                quoted.truncate(quoted.len() - 2);
                                break;
                            }
                        }
                        out.push_str(&regex::escape(&quoted));
                        continue;
                    }
                    _ => {
                        out.push('\\');
                        out.push(letter);
                        continue;
                    }
                };
                if in_set {
                    out.push_str(class);
                } else {
                    out.push('[');
                    out.push_str(class);
                    out.push(']');
                }
            }
            '[' if !in_set => {
                in_set = true;
                first = true;
                out.push('[');
                if characters.peek() == Some(&'^') {
                    characters.next();
                    out.push('^');
                }
            }
            // Named classes are alike in both.
            '[' if characters.peek() == Some(&':') => {
                out.push('[');
                for next in characters.by_ref() {
                    out.push(next);
                    if next == ']' {
                        break;
                    }
                }
            }
            '[' => out.push_str(r"\["),
            ']' if in_set && was_first => out.push_str(r"\]"),
            ']' => {
                in_set = false;
                out.push(']');
            }
            '&' | '~' if in_set => {
                out.push('\\');
                out.push(character);
            }
            // A hyphen after a class or before the end stands for itself; doubled it would be a difference of sets.
            '-' if in_set && characters.peek().is_some_and(|next| *next == '-' || *next == ']') => out.push_str(r"\-"),
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_re2() {
        for (pattern, yes, no) in [
            (r"^[a-zA-Z0-9:._\-]+\..", "a.b", "a"),
            (r"^[0-9A-Za-z_.:/=+-@ ]+$", "a=b", "ä"),
            (
                r"^([a-zA-Z0-9-]+\.)+[a-zA-Z0-9-]+(/[a-zA-Z0-9-_]{1,61})*$",
                "a.b/c_d",
                "a",
            ),
            (r"^[\da-zA-Z\.\[\]]+$", "a[0].b", "-"),
            (r"^[]a]+$", "]a", "b"),
            (r"^\d+$", "12", "١"),
            (r"^[[:alpha:]]+$", "ab", "1"),
            (r"^[a&&b]+$", "a&b", "c"),
            (r"^\Qa.b\E$", "a.b", "axb"),
            (r"^(?i)[^][ ()\\<>]+$", "A-b", "a]b"),
        ] {
            let compiled = compile(pattern).unwrap();
            assert!(compiled.is_match(yes), "{pattern} {yes}");
            assert!(!compiled.is_match(no), "{pattern} {no}");
        }
        assert!(compile("(").is_err());
    }
}
