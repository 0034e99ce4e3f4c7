//! `berth shipyard`: Shipyard's own command line on Berth's server.

mod item;
mod tables;

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use berth_api::NewAction;
use reqwest::{Method, RequestBuilder, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use self::item::Item;
use crate::{
    args::{
        ShipyardArgs, ShipyardCommand, ShipyardCommit, ShipyardCreate, ShipyardCreateActionArgs,
        ShipyardCreateConfigdocsArgs, ShipyardFormat, ShipyardGet, ShipyardHelpArgs,
    },
    database, documents,
    exit::Exit,
    failure::Failure,
    output::Printer,
    server::{Family, Server},
    workflow::json,
};

/// Runs the command.
pub(crate) fn run(args: ShipyardArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    if let ShipyardCommand::Help(topic) = &args.command {
        return help(topic, printer);
    }
    let shipyard = Shipyard {
        server: Server::required(&args.server.credentials())?,
        marker: args.context_marker,
        verbosity: args.verbosity.to_string(),
        format: args.output_format,
    };
    match args.command {
        ShipyardCommand::Create(args) => match args.command {
            ShipyardCreate::Action(args) => shipyard.create_action(&args, printer),
            ShipyardCreate::Configdocs(args) => shipyard.create_configdocs(&args, stdin, printer),
        },
        ShipyardCommand::Commit(args) => {
            let ShipyardCommit::Configdocs(args) = args.command;
            let word = |flag| if flag { "true" } else { "false" };
            let query = [("force", word(args.force)), ("dryrun", word(args.dryrun))];
            let request = shipyard.request(Method::POST, &["commitconfigdocs"], &query);
            shipyard.answer(request, printer, |answer| {
                tables::status(answer, "Configuration documents committed.")
            })
        }
        ShipyardCommand::Get(args) => shipyard.get(args.command, printer),
        ShipyardCommand::Describe(args) => shipyard.describe(&Item::read(&args.item)?, printer),
        ShipyardCommand::Logs(args) => {
            let item = Item::read(&args.item)?;
            let Item::Step { attempt, .. } = &item else {
                return Err(Failure::Argument {
                    message: "only steps have logs".to_owned(),
                    hint: Some("write step/ID/STEP".to_owned()),
                });
            };
            let attempt = args
                .attempt
                .map(|number| number.to_string())
                .or_else(|| attempt.clone());
            let query: Vec<_> = attempt.as_deref().map(|number| ("try", number)).into_iter().collect();
            let mut path = item.path();
            path.push("logs");
            shipyard.text(shipyard.request(Method::GET, &path, &query), printer)
        }
        ShipyardCommand::Stop(args) => shipyard.control("stop", &Item::action(&args.item)?, printer),
        ShipyardCommand::Pause(args) => shipyard.control("pause", &Item::action(&args.item)?, printer),
        ShipyardCommand::Unpause(args) => shipyard.control("unpause", &Item::action(&args.item)?, printer),
        ShipyardCommand::Help(topic) => help(&topic, printer),
    }
}

/// A server, spoken to as Shipyard's client does.
struct Shipyard {
    server: Server,
    marker: Option<String>,
    verbosity: String,
    format: ShipyardFormat,
}

impl Shipyard {
    fn request(&self, method: Method, path: &[&str], query: &[(&str, &str)]) -> RequestBuilder {
        let mut query = query.to_vec();
        query.push(("verbosity", &self.verbosity));
        let request = self.server.request(method, path, &query);
        match &self.marker {
            Some(marker) => request.header("X-Context-Marker", marker),
            None => request,
        }
    }

    /// Sends a request and prints its answer in the form asked for.
    fn answer<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
        printer: &mut Printer<'_>,
        table: impl FnOnce(&T) -> String,
    ) -> Result<Exit, Failure> {
        let (status, text) = self.exchange(request)?;
        let documents = crate::server::values(&text);
        match self.format {
            ShipyardFormat::Raw => printer.data(&ended(&text))?,
            ShipyardFormat::Format => match serde_json::from_str::<Value>(&text) {
                Ok(value) => printer.data(&format!("{value:#}\n"))?,
                Err(_) => printer.data(&ended(&text))?,
            },
            ShipyardFormat::Cli => {
                let first = documents.and_then(|documents| documents.into_iter().next());
                let is_validation = |value: &Value| value.get("reason").and_then(Value::as_str) == Some("Validation");
                if !status.is_success() && !first.as_ref().is_some_and(is_validation) {
                    return Err(self.server.refused(Family::Shipyard, status, first.as_ref()));
                }
                // No text is an answer too where nothing is to be said.
                let answer = self.server.answer(first.unwrap_or_default())?;
                printer.data(&table(&answer))?;
            }
        }
        Ok(exit(status))
    }

    fn exchange(&self, request: RequestBuilder) -> Result<(StatusCode, String), Failure> {
        database::wait(async {
            let response = self.server.send(request).await?;
            let status = response.status();
            let text = response.text().await;
            Ok((status, text.map_err(|error| self.server.unreachable(error))?))
        })
    }

    /// Prints an answer that is text or documents already.
    fn text(&self, request: RequestBuilder, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
        let (status, text) = self.exchange(request)?;
        if !status.is_success() && self.format == ShipyardFormat::Cli {
            let documents = crate::server::values(&text).unwrap_or_default();
            return Err(self.server.refused(Family::Shipyard, status, documents.first()));
        }
        printer.data(&ended(&text))?;
        Ok(exit(status))
    }

    fn create_action(&self, args: &ShipyardCreateActionArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
        let mut parameters = Map::new();
        for typed in &args.parameters {
            let Some((key, value)) = typed.split_once('=').filter(|(key, _)| !key.is_empty()) else {
                return Err(Failure::Argument {
                    message: format!("--param `{typed}` is not KEY=VALUE"),
                    hint: Some("write it as in --param=target_nodes=a,b".to_owned()),
                });
            };
            parameters.insert(key.to_owned(), Value::String(value.to_owned()));
        }
        let allowed = args.allow_intermediate_commits.to_string();
        let query = [("allow-intermediate-commits", allowed.as_str())];
        let body = NewAction {
            name: args.name.clone(),
            parameters,
        };
        let request = json(self.request(Method::POST, &["actions"], &query), &body);
        self.answer(request, printer, tables::created)
    }

    fn create_configdocs(
        &self,
        args: &ShipyardCreateConfigdocsArgs,
        stdin: &mut dyn Read,
        printer: &mut Printer<'_>,
    ) -> Result<Exit, Failure> {
        let mode = match (args.append, args.replace) {
            (true, _) => "append",
            (_, true) => "replace",
            _ => "rejectoncontents",
        };
        let mut query = vec![("buffermode", mode)];
        let text = if args.empty_collection {
            query.push(("empty-collection", "true"));
            String::new()
        } else {
            let mut paths = args.filenames.clone();
            for folder in &args.directories {
                if args.recurse {
                    paths.push(folder.clone());
                } else {
                    paths.extend(files_in(folder)?);
                }
            }
            match documents::read(&paths, stdin, printer)? {
                Ok(incoming) => incoming.text(),
                Err(exit) => return Ok(exit),
            }
        };
        let request = self
            .request(Method::POST, &["configdocs", &args.collection], &query)
            .header(header::CONTENT_TYPE, "application/x-yaml")
            .header(header::CONTENT_LENGTH, text.len())
            .body(text);
        self.answer(request, printer, |answer| {
            tables::status(answer, "Configuration documents added.")
        })
    }

    fn get(&self, what: ShipyardGet, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
        match what {
            ShipyardGet::Actions(_) => {
                let request = self.request(Method::GET, &["actions"], &[]);
                self.answer(request, printer, tables::actions)
            }
            ShipyardGet::Configdocs(args) => {
                let secrets = args.version.cleartext_secrets.to_string();
                let query = [("version", args.version.name()), ("cleartext-secrets", &secrets)];
                match &args.collection {
                    Some(collection) => {
                        self.text(self.request(Method::GET, &["configdocs", collection], &query), printer)
                    }
                    None => {
                        let request = self.request(Method::GET, &["configdocs"], &[]);
                        self.answer(request, printer, tables::configdocs)
                    }
                }
            }
            ShipyardGet::Renderedconfigdocs(args) => {
                let secrets = args.version.cleartext_secrets.to_string();
                let query = [("version", args.version.name()), ("cleartext-secrets", &secrets)];
                self.text(self.request(Method::GET, &["renderedconfigdocs"], &query), printer)
            }
            ShipyardGet::Workflows(args) => {
                let query: Vec<_> = args
                    .since
                    .as_deref()
                    .map(|since| ("since", since))
                    .into_iter()
                    .collect();
                let request = self.request(Method::GET, &["workflows"], &query);
                self.answer(request, printer, tables::workflows)
            }
            ShipyardGet::SiteStatuses(args) => {
                let types = args.types.join(",");
                let query: Vec<_> = (!types.is_empty())
                    .then_some(("filters", types.as_str()))
                    .into_iter()
                    .collect();
                let request = self.request(Method::GET, &["site_statuses"], &query);
                self.answer(request, printer, tables::site_statuses)
            }
        }
    }

    fn describe(&self, item: &Item, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
        let request = self.request(Method::GET, &item.path(), &[]);
        match item {
            Item::Action(_) => self.answer(request, printer, tables::action),
            Item::Step { .. } => self.answer(request, printer, tables::step),
            Item::Validation { .. } => self.answer(request, printer, tables::validation),
            Item::Workflow(_) => self.answer(request, printer, tables::workflow),
            Item::Note(_) => self.text(request, printer),
        }
    }

    fn control(&self, verb: &str, id: &str, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
        let request = self.request(Method::POST, &["actions", id, "control", verb], &[]);
        self.answer(request, printer, |_: &Value| {
            format!("{verb} successfully submitted for action {id}\n")
        })
    }
}

/// The files of a folder, without those of the folders in it.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |source| Failure::ReadFile {
        path: folder.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_document = path.extension().is_some_and(|it| it == "yaml" || it == "yml");
        if path.is_file() && is_document {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Failure::Argument {
            message: format!("there are no documents in `{}`", folder.display()),
            hint: Some("files must end in .yaml or .yml; `--recurse` looks into folders in it".to_owned()),
        });
    }
    Ok(files)
}

fn exit(status: StatusCode) -> Exit {
    match status.as_u16() {
        ..400 => Exit::Done,
        404 => Exit::Usage,
        500.. => Exit::Unreachable,
        _ => Exit::No,
    }
}

fn ended(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') {
        text.to_owned()
    } else {
        format!("{text}\n")
    }
}

fn help(args: &ShipyardHelpArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let text = match args.topic.as_deref() {
        None => {
            "\
THE SHIPYARD COMMANDS
  create action NAME --param=KEY=VALUE       start an action
  create configdocs COLLECTION --filename=F  load documents into the buffer
  commit configdocs                          validate and commit the buffer
  get actions|configdocs|renderedconfigdocs|workflows|site-statuses
  describe action/ID|step/ID/STEP|validation/ID/V|workflow/ID|notedetails/ID
  logs step/ID/STEP                          what a step has written
  stop|pause|unpause action/ID               steer a running action
  help actions|configdocs                    more about these
"
        }
        Some("actions") => {
            "\
ACTIONS
  update_labels (also relabel_nodes) gives the nodes of the parameter
  target_nodes exactly the labels that the committed documents declare:
    create action update_labels --param=target_nodes=node1,node2
  Every node has its own outcome: describe action/ID shows it.
  Site actions (deploy_site, update_site, update_software) are not Berth's;
  `berth site-action record` says that one took place.
"
        }
        Some("configdocs") => {
            "\
CONFIGURATION DOCUMENTS
  create configdocs loads a collection into the buffer. The buffer must be
  empty, unless --append keeps what is there or --replace empties it first.
  commit configdocs validates the buffer and makes it the committed version.
  get configdocs shows how the collections of both differ.
"
        }
        Some(other) => {
            return Err(Failure::Argument {
                message: format!("there is no help about `{other}`"),
                hint: Some("the topics are actions and configdocs".to_owned()),
            });
        }
    };
    printer.data(text)?;
    Ok(Exit::Done)
}
