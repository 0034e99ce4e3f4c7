//! Everything together: the set-up, the course of the test, and what must hold in the end.

use std::{path::PathBuf, sync::Arc, time::Duration};

use berth_resources::{Berth, CrdSet, MachineConfigPool, crds};
use berth_testing::{ControlPlane, Identity, Options, Programs, load_report, load_seed, load_time};
use k8s_openapi::{
    api::core::v1::Node, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, PostParams},
    runtime::wait::{await_condition, conditions},
};
use tokio::{
    task::AbortHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::{
    disturbance::{COMPACTION, Disturbance, Disturber, leader},
    figures::{Count, Figures},
    fleet::{Fleet, Kind, PROGRAM},
    observer::Observer,
    people::{Person, register},
    postgres_server,
    proxy::Proxy,
    random::Random,
    say,
    site::{self, Group, Site},
    traffic::{Actions, Asking, Committer},
};

/// Far longer than it takes; the machine may be busy.
const PATIENCE: Duration = Duration::from_mins(5);

const SAMPLE_EVERY: Duration = Duration::from_secs(2);

/// Everything that runs.
struct World {
    disturber: Disturber,
    client: Client,
    fleet: Fleet,
    observer: Observer,
    figures: Arc<Figures>,
    random: Random,
    folder: PathBuf,
    started: Instant,
    seed: u64,
}

impl World {
    async fn start(programs: &Programs, database: &str, seed: u64) -> Self {
        // It stays when the test fails: the logs are in it.
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("load-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("site")).unwrap();
        // What is started later is the same program, also where somebody builds another one meanwhile.
        std::fs::hard_link(env!("CARGO_BIN_EXE_berth"), folder.join(PROGRAM)).unwrap();
        let mut random = Random::new(seed);
        let figures = Arc::new(Figures::default());
        let options = Options {
            api_server_arguments: vec![format!("--etcd-compaction-interval={}s", COMPACTION.as_secs())],
            ..Options::default()
        };
        let plane = ControlPlane::start(programs, options).await.unwrap();
        let client = plane.client(&Identity::admin()).await.unwrap();
        define(&client).await;
        let observer = Observer::start(client.clone(), Arc::clone(&figures));
        let through = plane.client(&Identity::admin()).await.unwrap();
        let proxy = Proxy::start(through, random.fork(), Arc::clone(&figures)).await;
        std::fs::write(folder.join("kubeconfig"), proxy.kubeconfig()).unwrap();
        std::fs::write(folder.join("site/site.yaml"), Site::default().folder()).unwrap();
        let fleet = Fleet::start(&folder, database);
        Self {
            disturber: Disturber {
                plane,
                client: client.clone(),
                proxy,
                fleet: fleet.clone(),
                figures: Arc::clone(&figures),
                random: random.fork(),
            },
            client,
            fleet,
            observer,
            figures,
            random,
            folder,
            started: Instant::now(),
            seed,
        }
    }

    /// The first problem that anybody saw.
    fn check(&self) {
        let seen = self.observer.see().problems.first().cloned();
        if let Some(problem) = seen {
            self.fail(&problem);
        }
        if let Some(problem) = self.fleet.sample(self.started.elapsed().as_secs()) {
            self.fail(&problem);
        }
    }

    fn fail(&self, problem: &str) -> ! {
        panic!("seed {}, logs in {}: {problem}", self.seed, self.folder.display());
    }

    /// Puts what the cluster has and what the controllers count beside the logs.
    async fn keep_state(&self) {
        let berths: Api<Berth> = Api::all(self.client.clone());
        let nodes: Api<Node> = Api::all(self.client.clone());
        let berths = berths.list(&ListParams::default()).await.unwrap();
        let nodes = nodes.list(&ListParams::default()).await.unwrap();
        for (name, list) in [
            ("berths.json", serde_json::to_string_pretty(&berths)),
            ("nodes.json", serde_json::to_string_pretty(&nodes)),
        ] {
            std::fs::write(self.folder.join(name), list.unwrap()).unwrap();
        }
        for address in self.fleet.addresses(Kind::Controller) {
            let metrics = reqwest::get(format!("http://{address}/metrics")).await.unwrap();
            let path = self.folder.join(format!("metrics-{}", address.port()));
            std::fs::write(path, metrics.text().await.unwrap()).unwrap();
        }
    }

    /// Tries until it is so.
    async fn wait_for(&self, mut problem: impl FnMut(&Self) -> Option<String>) {
        let start = Instant::now();
        while let Some(problem) = problem(self) {
            if start.elapsed() > PATIENCE {
                self.keep_state().await;
                self.fail(&problem);
            }
            self.check();
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// The first Node that is not as the site declares it.
    fn deviation(&self, site: &Site, groups: &[Group]) -> Option<String> {
        let seeing = self.observer.see();
        let mut names = groups.iter().flat_map(|group| group.names());
        names.find_map(|name| match seeing.nodes.get(&name) {
            None => Some(format!("{name} is not there")),
            Some(seen) => site.problem(&name, &seen.labels),
        })
    }

    /// Disturbs for as long as is asked for, or once with everything.
    ///
    /// Ends early where something that is to go on has ended.
    async fn disturb(&mut self, time: Option<Duration>, going_on: &[AbortHandle]) {
        for disturbance in Disturbance::all(&mut self.random) {
            self.disturber.disturb(disturbance).await;
            self.check();
        }
        let Some(time) = time else { return };
        while self.started.elapsed() < time && !going_on.iter().any(AbortHandle::is_finished) {
            // In the last third nobody is killed, so that there are long series of everybody's memory.
            let kills = self.started.elapsed() < time * 2 / 3;
            let next = Disturbance::any(&mut self.random, kills);
            self.disturber.disturb(next).await;
            let calm = Instant::now() + Duration::from_secs(self.random.between(5, 40));
            while Instant::now() < calm {
                self.check();
                sleep(SAMPLE_EVERY).await;
            }
        }
    }

    /// How often the API server told a controller that it has forgotten what a watch should begin with.
    fn expired(&self) -> usize {
        let logs = ["controller-a.log", "controller-b.log"].map(|log| std::fs::read_to_string(self.folder.join(log)));
        logs.iter()
            .flatten()
            .map(|log| log.matches(": Expired error").count())
            .sum()
    }

    /// What is written to the page about campaigns.
    fn report(&self, actions: usize) -> String {
        let minutes = self.started.elapsed().as_secs() / 60;
        let mut lines = vec![
            format!(
                "{minutes} minutes of load with seed {}: {} Nodes that two controllers keep and {} that two servers on \
                 PostgreSQL relabel. No label that is declared at all times went missing, none that a person set was changed or \
                 removed, every action had exactly one outcome for each of its nodes, all Nodes were as declared in the end, \
                 and {}.",
                self.seed,
                Group::Kept.names().len(),
                Group::Acted.names().len(),
                if self.fleet.memory(crate::memory::Memory::is_judged) {
                    "memory was flat"
                } else {
                    "no process ran long enough to say that its memory is flat"
                },
            ),
            String::new(),
            "| what | how often |".to_owned(),
            "|---|---|".to_owned(),
        ];
        let all = self.figures.all();
        lines.extend(all.iter().map(|(count, number)| format!("| {count} | {number} |")));
        lines.push(format!("| actions on record in the end | {actions} |"));
        lines.push(format!(
            "| compactions of etcd's history | {} |",
            self.disturber.compactions()
        ));
        lines.push(format!(
            "| watches of controllers that began anew, because their history was gone | {} |",
            self.expired()
        ));
        lines.push(String::new());
        lines.extend(self.fleet.memory(crate::memory::Memory::lines));
        lines.join("\n")
    }
}

/// Brings the definitions and the pool.
async fn define(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in [CrdSet::Berth, CrdSet::MachineConfig].into_iter().flat_map(crds) {
        definitions.create(&PostParams::default(), &definition).await.unwrap();
        let name = definition.name_any();
        let established = await_condition(definitions.clone(), &name, conditions::is_crd_established());
        tokio::time::timeout(PATIENCE, established).await.unwrap().unwrap();
    }
    let pools: Api<MachineConfigPool> = Api::all(client.clone());
    let pool = serde_json::from_value(site::pool()).unwrap();
    pools.create(&PostParams::default(), &pool).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_under_load() {
    let Some(programs) = Programs::for_test() else { return };
    let Some(database) = postgres_server::database().await else {
        return;
    };
    let seed = load_seed().unwrap_or_else(|| getrandom::u64().unwrap());
    let time = load_time();
    say(&format!("seed {seed}"));
    let mut world = World::start(&programs, &database, seed).await;
    for name in Group::Acted.names() {
        register(&world.client, &name).await;
    }
    let asking = Asking::new(world.fleet.clone());
    let mut committer = Committer {
        asking: asking.clone(),
        folder: world.folder.clone(),
        figures: Arc::clone(&world.figures),
        random: world.random.fork(),
        site: Site::default(),
    };
    committer.commit().await;
    let first = committer.site.clone();
    world.wait_for(|world| world.deviation(&first, &[Group::Kept])).await;
    say("all Nodes are there");

    let actions = Actions::new(asking, Arc::clone(&world.figures));
    let stop = CancellationToken::new();
    let every = if time.is_some() { 15 } else { 4 };
    let committing = tokio::spawn(committer.work(Duration::from_secs(every), stop.clone()));
    let submitting = tokio::spawn(actions.clone().submit(world.random.fork(), stop.clone()));
    let person = Person {
        client: world.client.clone(),
        observer: world.observer.clone(),
        figures: Arc::clone(&world.figures),
        random: world.random.fork(),
        stop: stop.clone(),
    };
    let labelling = tokio::spawn(person.work());
    let (looked, looking) = (actions.clone(), stop.clone());
    let tracking = tokio::spawn(async move {
        let mut server = 0;
        while !looking.is_cancelled() {
            looked.look(server).await?;
            server += 1;
            sleep(Duration::from_secs(1)).await;
        }
        Ok::<(), String>(())
    });
    let (fleet, client, started, looking) = (world.fleet.clone(), world.client.clone(), world.started, stop.clone());
    let following = tokio::spawn(async move {
        while !looking.is_cancelled() {
            if let Some(leader) = leader(&client).await {
                fleet.is_led_by(&leader, started.elapsed().as_secs());
            }
            sleep(Duration::from_secs(1)).await;
        }
    });
    let going_on = [
        committing.abort_handle(),
        submitting.abort_handle(),
        labelling.abort_handle(),
        tracking.abort_handle(),
        following.abort_handle(),
    ];
    world.disturb(time, &going_on).await;
    stop.cancel();
    let mut committer = committing.await.unwrap();
    submitting.await.unwrap();
    labelling.await.unwrap();
    tracking.await.unwrap().unwrap();
    following.await.unwrap();
    finish(&world, &mut committer, &actions).await;
}

/// The weather is fine: everything comes to its end.
async fn finish(world: &World, committer: &mut Committer, actions: &Actions) {
    let ended = async || {
        let start = Instant::now();
        let mut server = 0;
        loop {
            match actions.look(server).await {
                Ok(0) => return,
                Ok(left) if start.elapsed() > PATIENCE => world.fail(&format!("{left} actions do not end")),
                Ok(_) => {}
                Err(problem) => world.fail(&problem),
            }
            server += 1;
            world.check();
            sleep(Duration::from_millis(300)).await;
        }
    };
    committer.commit().await;
    ended().await;
    actions.submit_for_all().await;
    ended().await;
    let site = &committer.site;
    world
        .wait_for(|world| world.deviation(site, &[Group::Kept, Group::Acted]))
        .await;
    if let Err(problem) = actions.verify().await {
        world.fail(&problem);
    }
    world.check();
    if let Some(problem) = world.fleet.memory(crate::memory::Memory::problem) {
        world.fail(&problem);
    }
    for count in [
        Count::Actions,
        Count::OutcomesGood,
        Count::HandWrites,
        Count::LeaderKills,
        Count::ServerKills,
        Count::Blindfolds,
        Count::TooMany,
        Count::Conflict,
        Count::Unavailable,
        Count::LostAnswers,
        Count::LostRequests,
    ] {
        assert!(world.figures.of(count) > 0, "there were no {count}");
    }
    assert!(world.expired() > 0, "no watch was too old");
    let report = world.report(actions.asking.all().await.len());
    say(&report);
    if let Some(path) = load_report() {
        std::fs::write(path, report).unwrap();
    }
    std::fs::remove_dir_all(&world.folder).unwrap();
}
