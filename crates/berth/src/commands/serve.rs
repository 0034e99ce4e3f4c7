//! `berth serve`: the API, and the Ignition server beside it.

use std::{net::SocketAddr, sync::Arc};

use berth_repository::{Repository, SiteRules};
use berth_server::{Api, ApiState, Auth, Clock, IdSource, ListenOptions, Server};
use tokio::sync::watch;

use super::ignition_server::{self, Ready, stop_signal};
use crate::{
    args::{AuthArg, ServeArgs},
    database::{self, IfMissing},
    exit::Exit,
    failure::Failure,
    io::microseconds,
    output::Printer,
};

/// Runs the command.
pub(crate) fn run(args: &ServeArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let api = args
        .listen
        .map(|address| auth(address, args.auth).map(|auth| (address, auth)))
        .transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    let options = &args.ignition;
    let wants_ignition = options.ignition_listen.or(options.plain_listen).is_some();
    let repository = if api.is_some() || options.paths.is_empty() {
        let store = runtime.block_on(database::open(&args.database, IfMissing::Create))?;
        Some(Arc::new(Repository::new(store)))
    } else {
        None
    };
    let ignition = match (&repository, wants_ignition) {
        (_, false) => None,
        (Some(repository), true) if options.paths.is_empty() => {
            let repository = Arc::clone(repository);
            Some(ignition_server::of_revisions(options, repository, clock, printer)?)
        }
        (_, true) => match ignition_server::of_folder(options, clock, printer)? {
            Some(ready) => Some(ready),
            None => return Ok(Exit::No),
        },
    };
    printer.flush()?;
    ignition_server::start_log(options);
    let api = api.zip(repository).map(|((address, auth), repository)| {
        let rules = SiteRules {
            flavour: args.ignition.flavour.typed(),
        };
        let state = ApiState::new(repository, Arc::new(rules), auth, Arc::new(microseconds), ids());
        (address, Api::new(state))
    });
    runtime.block_on(serve(api, ignition))?;
    Ok(Exit::Done)
}

/// Who may ask the API. Nobody is asked who they are yet, so nobody else may reach it.
fn auth(address: SocketAddr, given: Option<AuthArg>) -> Result<Auth, Failure> {
    if address.ip().is_loopback() {
        return Ok(Auth::None);
    }
    let message = match given {
        Some(AuthArg::None) => format!("`--auth none` is for loopback addresses, and {address} is none"),
        None => format!("the API does not ask callers who they are, and {address} can be reached from elsewhere"),
    };
    Err(Failure::Argument {
        message,
        hint: Some("listen on 127.0.0.1 or [::1]".to_owned()),
    })
}

async fn serve(api: Option<(SocketAddr, Api)>, ignition: Option<Ready>) -> Result<(), Failure> {
    // Before the listeners, so that nobody can tell a server to stop before it would hear it.
    let stop = stop_signal().map_err(Failure::Runtime)?;
    let mut servers = Vec::new();
    if let Some((address, api)) = api {
        let options = ListenOptions {
            plain: Some(address),
            ..ListenOptions::default()
        };
        let server = Server::bind(options, api).await?;
        if let Some(address) = server.plain_address() {
            tracing::info!(%address, "the API is listening");
        }
        servers.push(server);
    }
    let follow = match ignition {
        None => None,
        Some(ready) => {
            let (server, follow) = ready.listen().await?;
            servers.push(server);
            Some(tokio::spawn(follow))
        }
    };
    let (tell, told) = watch::channel(false);
    let running: Vec<_> = servers
        .into_iter()
        .map(|server| {
            let mut told = told.clone();
            tokio::spawn(server.run(async move {
                let _ = told.wait_for(|stopped| *stopped).await;
            }))
        })
        .collect();
    stop.await;
    let _ = tell.send(true);
    for server in running {
        let _ = server.await;
    }
    if let Some(follow) = follow {
        follow.abort();
    }
    tracing::info!("stopped");
    Ok(())
}

/// Random names in the form of UUIDs, as clients expect them.
fn ids() -> IdSource {
    Arc::new(|| {
        let mut bytes = [0; 16];
        // A system without randomness would have refused to start long before.
        let _ = getrandom::fill(&mut bytes);
        let number = u128::from_be_bytes(bytes);
        let number = number & !(0xf << 76) & !(0b11 << 62) | (4 << 76) | (0b10 << 62);
        let digits = format!("{number:032x}");
        let (first, rest) = digits.split_at(8);
        let (second, rest) = rest.split_at(4);
        let (third, rest) = rest.split_at(4);
        let (fourth, fifth) = rest.split_at(4);
        format!("{first}-{second}-{third}-{fourth}-{fifth}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_look_like_random_uuids() {
        let ids = ids();
        let (one, other) = (ids(), ids());
        assert_ne!(one, other);
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(one.as_bytes()[14], b'4', "{one}");
        assert!(b"89ab".contains(&one.as_bytes()[19]), "{one}");
    }

    #[test]
    fn without_authentication_only_loopback_is_served() {
        for address in ["127.0.0.1:80", "127.9.9.9:80", "[::1]:80"] {
            let address = address.parse().unwrap();
            assert!(auth(address, None).is_ok());
            assert!(auth(address, Some(AuthArg::None)).is_ok());
        }
        for address in ["0.0.0.0:80", "192.0.2.1:80", "[::]:80", "[::ffff:127.0.0.1]:80"] {
            let address = address.parse().unwrap();
            assert!(auth(address, None).is_err());
            assert!(auth(address, Some(AuthArg::None)).is_err());
        }
    }
}
