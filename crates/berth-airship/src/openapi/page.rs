//! The reference as a page. It is whole in itself: nothing is fetched from anywhere else.

use std::fmt::Write as _;

use crate::endpoint::{Endpoint, Family, Kind, Parameter};

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}\
code{font:0.95em ui-monospace,monospace}h2{margin-top:2.5rem;border-bottom:1px solid #ccc}\
h3{margin:2rem 0 .25rem;font-size:1.05rem}table{border-collapse:collapse;width:100%}\
th,td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #e4e4e4}\
.method{display:inline-block;min-width:4.5rem;font-weight:700}\
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}a{color:#8ab4f8}th,td{border-color:#333}}";

pub(super) fn render(endpoints: &[Endpoint]) -> String {
    let mut page = String::new();
    page.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width\">\n<title>Berth API</title>\n");
    let _ = writeln!(page, "<style>{STYLE}</style>\n</head>\n<body>");
    page.push_str("<h1>Berth API</h1>\n<p>Documents in revisions, their staging, and relabelling as one action. The same for programs: ");
    page.push_str("<a href=\"/openapi.json\">/openapi.json</a>.</p>\n");
    for family in Family::ALL {
        let _ = writeln!(page, "<h2>{}</h2>", family.name());
        for endpoint in endpoints.iter().filter(|endpoint| endpoint.family == family) {
            section(&mut page, endpoint);
        }
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn section(page: &mut String, endpoint: &Endpoint) {
    let _ = writeln!(
        page,
        "<h3 id=\"{}\"><span class=\"method\">{}</span> <code>{}</code></h3>",
        endpoint.id,
        endpoint.method,
        escaped(endpoint.path)
    );
    let _ = writeln!(
        page,
        "<p><b>{}.</b> {}</p>",
        escaped(endpoint.summary),
        escaped(endpoint.description)
    );
    if let Some(rule) = endpoint.rule {
        let _ = writeln!(
            page,
            "<p>Rule: <code>{}</code>; role {}; in a cluster <code>{} {}.berth.dev</code></p>",
            rule.name, rule.role, rule.verb, rule.resource
        );
    }
    if let Some(body) = endpoint.body {
        let _ = writeln!(
            page,
            "<p>Body: {} as <code>{}</code></p>",
            (body.name)(),
            body.media_type
        );
    }
    if !endpoint.parameters.is_empty() {
        page.push_str("<table>\n<tr><th>Parameter</th><th>Value</th><th></th></tr>\n");
        for parameter in endpoint.parameters {
            row(page, parameter);
        }
        page.push_str("</table>\n");
    }
    page.push_str("<ul>\n");
    for reply in endpoint.replies {
        let content = reply.content.map_or_else(String::new, |content| {
            format!(" {} as <code>{}</code>", (content.name)(), content.media_type)
        });
        let _ = writeln!(
            page,
            "<li><b>{}</b> {}{content}</li>",
            reply.status.as_u16(),
            escaped(reply.description)
        );
    }
    page.push_str("</ul>\n");
}

fn row(page: &mut String, parameter: &Parameter) {
    let kind = match parameter.kind {
        Kind::Text => "text".to_owned(),
        Kind::Truth => "true, false".to_owned(),
        Kind::Number => "number".to_owned(),
        Kind::OneOf(values) => values.join(", "),
    };
    let repeated = if parameter.repeated { ", repeatable" } else { "" };
    let _ = writeln!(
        page,
        "<tr><td><code>{}</code></td><td>{kind}{repeated}</td><td>{}</td></tr>",
        parameter.name,
        escaped(parameter.description)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
