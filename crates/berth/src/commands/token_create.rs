//! `berth token create`: a new token, whose secret is shown once.

use berth_clock::Clock;
use berth_decide::is_node_name;
use berth_resources::{
    Berth,
    bootstrap::{BootstrapToken, NAMESPACE, bootstrap_token, expiry},
};
use berth_tokens::{CreatedToken, NewToken, Role, TokenScope, TokenStore};
use jiff::{SignedDuration, Timestamp};
use kube::{
    Api, Client,
    api::{ListParams, PostParams},
};
use serde::Serialize;

use crate::{
    args::{Format, RoleArg, TokenCreateArgs},
    cluster::{connect, unanswered},
    database::wait,
    exit::Exit,
    failure::Failure,
    output::{Printer, Report},
};

/// Runs the command.
pub(crate) fn run(args: &TokenCreateArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    if args.output.format == Format::Name {
        return Err(Failure::Argument {
            message: "`-o name` would hide the secret, which is shown only once".to_owned(),
            hint: Some("take `-o table` for the secret alone, or `-o json`".to_owned()),
        });
    }
    let now = clock.now();
    if let Some(node) = &args.bootstrap {
        lifetime(args)?;
        return bootstrap(args, node, now, printer);
    }
    // clap has made sure that one of the two is there.
    let Some(path) = &args.token_file else {
        return Err(Failure::Argument {
            message: "a token needs a file to be in".to_owned(),
            hint: Some("name one with `--token-file`".to_owned()),
        });
    };
    let scope = match (&args.pool, &args.node, args.role) {
        (Some(pool), _, _) => TokenScope::Pool(name("pool", pool)?),
        (None, Some(node), _) => TokenScope::Node(name("node", node)?),
        (None, None, Some(role)) => TokenScope::Role(match role {
            RoleArg::Viewer => Role::Viewer,
            RoleArg::Operator => Role::Operator,
            RoleArg::Admin => Role::Admin,
        }),
        (None, None, None) => TokenScope::Any,
    };
    let lifetime = lifetime(args)?;
    let created = TokenStore::open(path)?.create(
        NewToken {
            scope: scope.clone(),
            expires: lifetime.map(|lifetime| after(now, SignedDuration::from_secs(lifetime))),
            single_use: args.single_use,
            comment: args.comment.clone(),
        },
        now,
    )?;
    printer.report(args.output.format, &Created::new(&created, &scope))?;
    if matches!(args.output.format, Format::Table | Format::Wide) {
        printer.hint(&format!(
            "this is token {} for {scope}; its secret is not shown again",
            created.id
        ))?;
    }
    Ok(Exit::Done)
}

/// How long it is good for, in seconds.
fn lifetime(args: &TokenCreateArgs) -> Result<Option<i64>, Failure> {
    let lifetime = args
        .expires
        .map(|lifetime| i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX));
    if lifetime == Some(0) {
        return Err(Failure::Argument {
            message: "a token that expires at once opens nothing".to_owned(),
            hint: Some("write for example `--expires 24h`".to_owned()),
        });
    }
    Ok(lifetime)
}

/// To the second, as tokens keep it.
fn after(now: Timestamp, lifetime: SignedDuration) -> Timestamp {
    let end = now.checked_add(lifetime).unwrap_or(Timestamp::MAX);
    Timestamp::from_second(end.as_second()).unwrap_or(end)
}

/// A token of the cluster, bound to one node.
fn bootstrap(args: &TokenCreateArgs, node: &str, now: Timestamp, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let node = name("node", node)?;
    if !is_node_name(&node) {
        return Err(Failure::Argument {
            message: format!("`{node}` cannot be the name of a node"),
            hint: Some("write small letters, digits, `-` and `.`, as in `w1.example.org`".to_owned()),
        });
    }
    let expires = expiry(now, args.expires);
    let mut random = [0; 22];
    getrandom::fill(&mut random)
        .map_err(|error| Failure::Unusable(format!("the system gives no randomness: {error}")))?;
    let issued = bootstrap_token(&node, &random, Some(expires));
    let place = wait(async {
        let client = connect(&args.cluster).await?;
        let place = place(&client, &node).await.map_err(unanswered)?;
        issue(client, &issued).await.map_err(unanswered)?;
        Ok::<_, Failure>(place)
    })?;
    let id = issued.token.split('.').next().unwrap_or_default();
    let report = Bootstrap {
        id,
        token: &issued.token,
        node: &node,
        expires: expires.to_string(),
    };
    printer.report(args.output.format, &report)?;
    match place {
        Some(berth) if is_given_up(&berth) => printer.warning(&format!(
            "the Berth of {node} is released: nobody joins with this token before it is reserved again"
        ))?,
        Some(_) => {}
        None => printer.warning(&format!(
            "no Berth has the name {node}: nobody joins with this token before there is one"
        ))?,
    }
    if matches!(args.output.format, Format::Table | Format::Wide) {
        printer.hint(&format!(
            "this is bootstrap token {id} for node {node}, good for one machine until {expires}; put it in the machine's \
             bootstrap kubeconfig"
        ))?;
    }
    Ok(Exit::Done)
}

/// The binding comes first: a token without one would be anybody's.
async fn issue(client: Client, issued: &BootstrapToken) -> kube::Result<()> {
    let parameters = PostParams::default();
    let bindings: Api<_> = Api::all(client.clone());
    bindings.create(&parameters, &issued.binding).await?;
    let secrets: Api<_> = Api::namespaced(client, NAMESPACE);
    secrets.create(&parameters, &issued.secret).await?;
    Ok(())
}

/// The Berth that has the name of the node: one that is not released, if there is one.
async fn place(client: &Client, node: &str) -> kube::Result<Option<Berth>> {
    let berths: Api<Berth> = Api::all(client.clone());
    let has_name = |berth: &Berth| berth.node_name() == node;
    let named = berths.get_opt(node).await?.filter(has_name);
    if named.as_ref().is_some_and(|berth| !is_given_up(berth)) {
        return Ok(named);
    }
    // Its Berth may be called otherwise.
    let others = berths.list(&ListParams::default()).await?.into_iter().filter(has_name);
    Ok(others.min_by_key(is_given_up))
}

fn is_given_up(berth: &Berth) -> bool {
    berth.spec.release || berth.metadata.deletion_timestamp.is_some()
}

/// A new bootstrap token. The fields are a contract.
#[derive(Serialize)]
struct Bootstrap<'a> {
    id: &'a str,
    token: &'a str,
    node: &'a str,
    expires: String,
}

impl Report for Bootstrap<'_> {
    fn text(&self, _wide: bool) -> String {
        format!("{}\n", self.token)
    }

    fn names(&self) -> Vec<String> {
        vec![format!("secret/bootstrap-token-{}", self.id)]
    }
}

/// A name that nothing can have would make a token that opens nothing.
fn name(what: &str, text: &str) -> Result<String, Failure> {
    if text.is_empty() || text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '/') {
        return Err(Failure::Argument {
            message: format!("`{text}` cannot be the name of a {what}"),
            hint: None,
        });
    }
    Ok(text.to_owned())
}

/// The new token. The fields are a contract.
#[derive(Serialize)]
struct Created<'a> {
    id: &'a str,
    token: &'a str,
    scope: &'a TokenScope,
}

impl<'a> Created<'a> {
    fn new(created: &'a CreatedToken, scope: &'a TokenScope) -> Self {
        Self {
            id: &created.id,
            token: created.secret.reveal(),
            scope,
        }
    }
}

impl Report for Created<'_> {
    /// Nothing but the secret, so that a pipe can take it.
    fn text(&self, _wide: bool) -> String {
        format!("{}\n", self.token)
    }

    fn names(&self) -> Vec<String> {
        vec![format!("token/{}", self.id)]
    }
}
