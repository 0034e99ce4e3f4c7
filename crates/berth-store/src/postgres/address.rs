//! The address of a database server: what may be said in it, and what it leaves unsaid.

use std::net::IpAddr;

use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::error::Error;

/// Whether an address holds a password, which nobody else may see.
///
/// Rather too often than not: what cannot be understood and may be one counts.
pub fn has_password(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once("://") else {
        // How libpq writes addresses too: words such as `host=db password=x`. A path of a file may have any sign in it.
        return !address.starts_with("sqlite:") && address.to_ascii_lowercase().contains("password");
    };
    // A path may have any sign in it.
    if scheme == "sqlite" {
        return false;
    }
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    // A question mark may stand in a password that nobody encoded.
    let is_cut = place.contains(':')
        && query
            .split('&')
            .any(|pair| pair.contains('@') && !WITH_NAMES.contains(&pair.split('=').next().unwrap_or_default()));
    let in_place = if is_cut { rest } else { place }
        .rsplit_once('@')
        .and_then(|(user, _)| user.split_once(':'))
        .is_some_and(|(_, password)| !password.is_empty());
    in_place || parameters(query).any(|name| name.ends_with("password"))
}

/// Parameters of a query whose values may have an `@` in them.
const WITH_NAMES: [&str; 8] = [
    "application_name",
    "dbname",
    "host",
    "options",
    "sslcert",
    "sslkey",
    "sslrootcert",
    "user",
];

/// The names of a query's parameters, in small letters.
fn parameters(query: &str) -> impl Iterator<Item = String> {
    query.split('&').map(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        decoded(name).to_ascii_lowercase()
    })
}

/// A text without its percent signs. What is not ASCII is not a name of a parameter.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(byte.map_or('%', char::from));
        decoded.push_str(if byte.is_some() {
            part.get(2..).unwrap_or_default()
        } else {
            part
        });
    }
    decoded
}

/// How to connect. A server on another machine must show a certificate for its name, unless the address or `PGSSLMODE` says
/// something else.
pub(super) fn options(address: &str) -> Result<PgConnectOptions, Error> {
    let options: PgConnectOptions = address.parse().map_err(Error::database("reading the address"))?;
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let is_said = parameters(query).any(|name| name == "sslmode" || name == "ssl-mode");
    // This mode is also what the library takes where nobody says anything.
    let is_unsaid = !is_said && matches!(options.get_ssl_mode(), PgSslMode::Prefer);
    if is_unsaid && is_remote(&options) {
        return Ok(options.ssl_mode(PgSslMode::VerifyFull));
    }
    Ok(options)
}

/// Whether the way to the server leads over a network.
fn is_remote(options: &PgConnectOptions) -> bool {
    let host = options.get_host().trim_matches(['[', ']']);
    let is_local = host.starts_with('/')
        || host.eq_ignore_ascii_case("localhost")
        || host.parse().is_ok_and(|host: IpAddr| host.to_canonical().is_loopback());
    options.get_socket().is_none() && !is_local
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_found_wherever_they_are() {
        for address in [
            "postgres://berth:secret@db.example.com/berth",
            "postgresql://berth:s@ec:ret@db/berth",
            "postgres://berth:se/cret@db/berth",
            "postgres://:secret@db/berth",
            "postgres://berth:se?cret@db/berth",
            "postgres://berth:s/e?c=r&et@db/berth?sslmode=require",
            "postgres://berth:?secret@db/berth",
            "postgres://berth:se#cret@db/berth",
            "postgres://db/berth?password=secret",
            "postgres://berth@db/berth?sslmode=require&PASSWORD=secret",
            "postgres://db/berth?p%61ssword=secret",
            "postgres://db/berth?sslpassword=secret",
            "host=db user=berth password=secret dbname=berth",
            "host=db PASSWORD = secret",
        ] {
            assert!(has_password(address), "{address}");
        }
        for address in [
            "sqlite:berth.db",
            "sqlite:///srv/a:b@c/berth.db",
            "postgres://berth@db:5432/berth?sslmode=verify-full",
            "postgres://berth:@db/berth",
            "postgres:///berth?host=/run/postgresql",
            "postgres://db:5432/berth?user=a@b",
            "berth.db",
            "",
        ] {
            assert!(!has_password(address), "{address}");
        }
    }

    #[test]
    fn a_server_elsewhere_must_show_its_certificate_unless_the_address_says_otherwise() {
        for (address, expected) in [
            ("postgres://berth@db.example.com/berth", PgSslMode::VerifyFull),
            ("postgres://berth@192.0.2.1/berth", PgSslMode::VerifyFull),
            ("postgres://berth@[2001:db8::1]/berth", PgSslMode::VerifyFull),
            ("postgres:///berth?host=db.example.com", PgSslMode::VerifyFull),
            ("postgres://berth@localhost.example.com/berth", PgSslMode::VerifyFull),
            (
                "postgres://berth@db.example.com/berth?sslmode=require",
                PgSslMode::Require,
            ),
            (
                "postgres://berth@db.example.com/berth?sslmode=prefer",
                PgSslMode::Prefer,
            ),
            (
                "postgres://berth@db.example.com/berth?ssl-mode=disable",
                PgSslMode::Disable,
            ),
            ("postgres://berth@localhost/berth", PgSslMode::Prefer),
            ("postgres://berth@127.0.0.1:5433/berth", PgSslMode::Prefer),
            ("postgres://berth@[::1]/berth", PgSslMode::Prefer),
            ("postgres://%2Frun%2Fpostgresql/berth", PgSslMode::Prefer),
            ("postgres:///berth?host=/run/postgresql", PgSslMode::Prefer),
        ] {
            let options = options(address).unwrap();
            let (found, expected) = (format!("{:?}", options.get_ssl_mode()), format!("{expected:?}"));
            assert_eq!(found, expected, "{address}");
        }
    }
}
