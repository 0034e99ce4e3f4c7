//! `berth drydock` and `berth promenade`: those services' command lines on Berth's server.

use std::time::Duration;

use berth_api::{DesignReference, DesignStatus, FilterSet, FilterType, NodeFilter, Nodes, RevisionList, StatusWord};
use reqwest::{Method, RequestBuilder};
use serde::Serialize;
use serde_json::{Map, Value, json as object};

use crate::{
    args::{
        AirshipServerArgs, DesignValidateArgs, DrydockArgs, DrydockCommand, DrydockDesign, DrydockNode, DrydockTask,
        DrydockTaskCreateArgs, DrydockTaskShowArgs, Output, PromenadeArgs, PromenadeCommand, PromenadeNodeLabels,
    },
    database,
    exit::Exit,
    failure::Failure,
    output::{Printer, Report, Table},
    server::{Answer, Family, Server},
    workflow::json,
};

/// Seconds between two looks at a task, as in Drydock.
const POLL_INTERVAL: u32 = 15;

/// Runs `berth drydock`.
pub(crate) fn run(args: DrydockArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let client = Client::new(args.server)?;
    match args.command {
        DrydockCommand::Task(args) => match args.command {
            DrydockTask::Create(args) => client.create_task(&args, printer),
            DrydockTask::List(_) => client.show(&["tasks"], printer),
            DrydockTask::Show(args) => client.show_task(&args, printer),
            DrydockTask::Resume(args) => {
                let path = ["actions", &args.task_id, "control", "unpause"];
                let request = client.server.request(Method::POST, &path, &[]);
                database::wait(client.server.tell(Family::Shipyard, request))?;
                client.show(&["tasks", &args.task_id], printer)
            }
            DrydockTask::Delete(args) => {
                let days = args.days.to_string();
                let request = client.server.request(Method::DELETE, &["tasks"], &[("days", &days)]);
                client.print(request, printer)
            }
        },
        DrydockCommand::Node(args) => {
            let DrydockNode::List(args) = args.command;
            client.nodes(args.output, printer)
        }
        DrydockCommand::Design(args) => {
            let DrydockDesign::Validate(args) = args.command;
            client.validate(&args, printer)
        }
    }
}

/// Runs `berth promenade`.
pub(crate) fn run_promenade(args: PromenadeArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let client = Client::new(args.server)?;
    match args.command {
        PromenadeCommand::ValidateDesign(args) => client.validate(&args, printer),
        PromenadeCommand::NodeLabels(args) => match args.command {
            PromenadeNodeLabels::Show(args) => client.show(&["node-labels", &args.node], printer),
            PromenadeNodeLabels::Update(args) => {
                let mut labels = Map::new();
                for typed in &args.labels {
                    let Some((key, value)) = typed.split_once('=').filter(|(key, _)| !key.is_empty()) else {
                        return Err(Failure::Argument {
                            message: format!("--label `{typed}` is not KEY=VALUE"),
                            hint: Some("write it as in --label=ceph-osd=enabled".to_owned()),
                        });
                    };
                    labels.insert(key.to_owned(), Value::from(value));
                }
                let query: &[(&str, &str)] = if args.dry_run { &[("dry-run", "true")] } else { &[] };
                let request = client.server.request(Method::PUT, &["node-labels", &args.node], query);
                client.print(json(request, &labels), printer)
            }
        },
    }
}

struct Client {
    server: Server,
}

impl Client {
    fn new(server: AirshipServerArgs) -> Result<Self, Failure> {
        Ok(Self {
            server: Server::required(&server.credentials())?,
        })
    }

    /// Sends a request and prints its answer as JSON, as Drydock's client does.
    fn print(&self, request: RequestBuilder, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
        let answer: Answer<Value> = database::wait(self.server.ask(Family::Shipyard, request))?;
        printer.data(&format!("{:#}\n", answer.into_read()))?;
        Ok(Exit::Done)
    }

    fn show(&self, path: &[&str], printer: &mut Printer<'_>) -> Result<Exit, Failure> {
        self.print(self.server.request(Method::GET, path, &[]), printer)
    }

    /// The address of the committed design, unless another one is given.
    async fn design(&self, given: Option<&String>) -> Result<String, Failure> {
        if let Some(given) = given {
            return Ok(given.clone());
        }
        let revisions = self
            .server
            .request(Method::GET, &["revisions"], &[("tag", "committed")]);
        let revisions: Answer<RevisionList> = self.server.ask(Family::Deckhand, revisions).await?;
        let committed = revisions.results.iter().map(|revision| revision.id).max();
        let committed = committed.ok_or_else(|| Failure::Refused {
            message: "nothing is committed yet, so there is no design".to_owned(),
            hint: Some("`berth configdocs load` and `berth configdocs commit` come first".to_owned()),
        })?;
        let address = self.server.address();
        Ok(format!(
            "deckhand+{address}api/v1.0/revisions/{committed}/rendered-documents"
        ))
    }

    fn create_task(&self, args: &DrydockTaskCreateArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
        let given = |names: &[String]| (!names.is_empty()).then(|| names.to_vec());
        let set = FilterSet {
            node_names: given(&args.node_names),
            node_tags: given(&args.node_tags),
            rack_names: given(&args.rack_names),
            ..FilterSet::any()
        };
        let is_filtered = set.node_names.is_some() || set.node_tags.is_some() || set.rack_names.is_some();
        let filter = NodeFilter {
            filter_set_type: FilterType::Intersection,
            filter_set: vec![set],
        };
        let task = database::wait(async {
            let design_ref = self.design(args.design_ref.as_ref()).await?;
            let filter = is_filtered.then_some(filter);
            let body = object!({"action": args.action, "design_ref": design_ref, "node_filter": filter});
            let request = json(self.server.request(Method::POST, &["tasks"], &[]), &body);
            let task = self.server.ask::<Value>(Family::Shipyard, request).await?.into_read();
            if args.block {
                self.settled(task, args.poll_interval).await
            } else {
                Ok(task)
            }
        })?;
        print_task(&task, args.block, printer)
    }

    fn show_task(&self, args: &DrydockTaskShowArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
        let task = database::wait(async {
            let task = self.task(&args.task_id).await?;
            if args.block {
                self.settled(task, POLL_INTERVAL).await
            } else {
                Ok(task)
            }
        })?;
        print_task(&task, args.block, printer)
    }

    async fn task(&self, id: &str) -> Result<Value, Failure> {
        let request = self.server.request(Method::GET, &["tasks", id], &[]);
        let task = self.server.ask::<Value>(Family::Shipyard, request).await?;
        Ok(task.into_read())
    }

    /// A task once it has ended or waits for a person.
    async fn settled(&self, mut task: Value, poll_interval: u32) -> Result<Value, Failure> {
        while is_open(&task) {
            tokio::time::sleep(Duration::from_secs(poll_interval.into())).await;
            task = self.task(task["task_id"].as_str().unwrap_or_default()).await?;
        }
        Ok(task)
    }

    fn nodes(&self, output: Output, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
        let request = self.server.request(Method::GET, &["nodes"], &[]);
        let nodes: Answer<Nodes> = database::wait(self.server.ask(Family::Shipyard, request))?;
        printer.report(output.format, &NodeList(nodes.into_read()))?;
        Ok(Exit::Done)
    }

    fn validate(&self, args: &DesignValidateArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
        let (exit, text) = database::wait(async {
            let reference = DesignReference {
                rel: Some("design".to_owned()),
                href: self.design(args.design_href.as_ref()).await?,
                media_type: Some("application/x-yaml".to_owned()),
            };
            let request = json(self.server.request(Method::POST, &["validatedesign"], &[]), &reference);
            let response = self.server.send(request).await?;
            let status = response.status();
            let text = response.text().await.map_err(|error| self.server.unreachable(error))?;
            // A design with errors is an answer, too.
            match serde_json::from_str::<DesignStatus>(&text) {
                Ok(answer) if answer.status == StatusWord::Success => Ok((Exit::Done, text)),
                Ok(_) => Ok((Exit::No, text)),
                Err(_) => {
                    let said = serde_json::from_str(&text).ok();
                    Err(self.server.refused(Family::Shipyard, status, said.as_ref()))
                }
            }
        })?;
        let shown = serde_json::from_str::<Value>(&text).unwrap_or_default();
        printer.data(&format!("{shown:#}\n"))?;
        Ok(exit)
    }
}

/// Prints a task. Whoever waited for it also wants to know whether it succeeded.
fn print_task(task: &Value, waited: bool, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    printer.data(&format!("{task:#}\n"))?;
    let failed = waited && task["result"]["status"] != "success";
    Ok(if failed { Exit::No } else { Exit::Done })
}

/// Whether a task goes on by itself.
fn is_open(task: &Value) -> bool {
    matches!(task["status"].as_str(), Some("queued" | "running" | "terminating"))
}

/// The nodes. The fields are a contract.
#[derive(Serialize)]
#[serde(transparent)]
struct NodeList(Nodes);

impl Report for NodeList {
    fn text(&self, _: bool) -> String {
        let mut table = Table::new(["NODE", "STATUS", "POOL", "RACK", "LABELS"]);
        for node in &self.0.0 {
            let labels = node.labels.iter().flatten().count().to_string();
            let word = |text: &Option<String>| text.clone().unwrap_or_default();
            let status = serde_json::to_value(node.status_name).unwrap_or_default();
            table.row([
                node.hostname.clone(),
                status.as_str().unwrap_or_default().to_owned(),
                word(&node.pool),
                word(&node.rack),
                labels,
            ]);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        self.0.0.iter().map(|node| node.hostname.clone()).collect()
    }
}
