//! `codesearch monitor`: prints the matches of a query as they appear and disappear, and keeps stored monitors.

use std::io::{IsTerminal, stdout};
use std::sync::Arc;

use answer::FileMatch;
use anyhow::{Context, Result, bail};
use monitor::{Looker, NotMade, Standing};
use query::nearest;
use request::human::count;
use request::{Client, Options};
use search::{Searcher, View};
use serde_json::{Value, json};
use settings::Allowed;
use store::{Epoch, Hit, Monitor, NewMonitor, News, Store};
use tokio::sync::mpsc;

use super::{config, refused};
use crate::cli::{
    AddMonitorArgs, DatabaseArgs, MonitorArgs, MonitorCommand, SettingsArgs, TestMonitorArgs,
};
use crate::database::Database;

/// News and deliveries that `show` prints, and matches of each.
const SHOWN: usize = 20;
const SHOWN_HITS: usize = 50;

/// Files that `test` prints.
const TESTED: usize = 10;

pub(crate) fn run(database: &DatabaseArgs, args: &MonitorArgs) -> Result<u8> {
    let Some(what) = &args.what else { return watch(database, args) };
    let stored = Stored { only_repos: &database.only_repos };
    let opened = Database::open_index(database, 4)?;
    match what {
        MonitorCommand::Add(args) => opened.run(async |store| stored.add(store, args).await),
        MonitorCommand::List(args) => opened.run(async |store| stored.list(store, args.json).await),
        MonitorCommand::Show(args) => {
            opened.run(async |store| stored.show(store, &args.name, args.json).await)
        }
        MonitorCommand::Pause(args) => opened.run(async |store| {
            let done = |of: Monitor| async move { store.pause_monitor(of.id, true, None).await };
            stored.each(store, &args.names, "paused", done).await
        }),
        MonitorCommand::Resume(args) => opened.run(async |store| {
            let done = |of: Monitor| async move { store.pause_monitor(of.id, false, None).await };
            stored.each(store, &args.names, "resumed", done).await
        }),
        MonitorCommand::Remove(args) => opened.run(async |store| {
            let done = |of: Monitor| async move { store.remove_monitor(of.id).await };
            stored.each(store, &args.names, "removed", done).await
        }),
        MonitorCommand::Test(args) => opened.run(async |store| stored.test(store, args).await),
    }
}

/// Lets all stored monitors look at what an ingest has changed, unless a server does. A monitor's problems are in its log.
pub(crate) async fn look(store: &Store) {
    let looking = async {
        let at = store.monitor_epoch().await?;
        if !at.is_needed || at.looked == at.newest {
            return Ok(());
        }
        let mut lock = store.monitor_lock().await?;
        if !lock.try_take().await? {
            return Ok(());
        }
        let searcher = Arc::new(Searcher::new(store.clone(), 1));
        Looker::new(store.clone(), searcher).look().await.map(drop)
    };
    let done: Result<(), store::Error> = looking.await;
    if let Err(error) = done {
        tracing::warn!(
            "monitors have not looked at this ingest yet, the next one tries again: {error}"
        );
    }
}

/// Watches a query: prints what each epoch changes in its matches.
fn watch(database: &DatabaseArgs, args: &MonitorArgs) -> Result<u8> {
    let query = args.query.join(" ");
    let standing = Standing::new(&query)?;
    let opened = Database::open_index(database, 2)?;
    let visible = opened.visible();
    opened.run(async |store| {
        let view = View::new(Arc::new(Searcher::new(store.clone(), 1)), visible);
        Watch { args, standing, view, store }.run().await
    })
}

/// A query that is watched.
struct Watch<'a> {
    args: &'a MonitorArgs,
    standing: Standing,
    view: View,
    store: &'a Store,
}

impl Watch<'_> {
    async fn run(&self) -> Result<u8> {
        // From now on no notification is missed.
        let mut changes = self.store.changes().await?;
        // While the catalog is kept, so are the changes after its epoch.
        let mut catalog = self.view.catalog().await?;
        let mut looked = match self.args.since {
            Some(since) => Epoch(i32::try_from(since).unwrap_or(i32::MAX)),
            None => catalog.epoch,
        };
        if looked > catalog.epoch {
            bail!("the newest epoch is {}; --since must not be larger", catalog.epoch.0);
        }
        if !self.args.once {
            note!("codesearch: watching from epoch {} on; Ctrl-C ends", looked.0);
        }
        let (mut is_found, mut newest) = (false, catalog.epoch);
        loop {
            while looked < newest {
                looked = Epoch(looked.0 + 1);
                is_found |= self.look(looked).await?;
            }
            if self.args.once {
                break;
            }
            // The earlier catalog keeps the changes after its epoch until all up to that of the next one are printed.
            let next = self.view.catalog().await?;
            newest = next.epoch;
            if looked == newest {
                drop(std::mem::replace(&mut catalog, next));
                changes.next().await.context("the watch has ended; start it again")?;
                newest = self.store.monitor_epoch().await?.newest;
            }
        }
        if self.args.json {
            say!("{}", json!({ "type": "end", "epoch": looked.0 }));
        } else {
            note!("codesearch: the newest epoch is {0}; continue with --since {0}", looked.0);
        }
        Ok(if is_found { crate::FOUND } else { crate::NOTHING })
    }

    /// Prints what an epoch changed. Returns whether it changed any match.
    async fn look(&self, epoch: Epoch) -> Result<bool> {
        let changes = match monitor::changes_of(&self.view, self.store, epoch).await? {
            Ok(changes) => changes,
            Err(unkept) => bail!(
                "the changes of epoch {} are no longer kept; begin with --since {} or later, or store the query, which \
                 keeps them: codesearch monitor add NAME QUERY",
                epoch.0,
                unkept.first.0 - 1
            ),
        };
        let (mut appeared, mut disappeared, mut late, mut failed) = (0, 0, 0, None);
        monitor::find(&self.view, &changes, &self.standing, |found| {
            appeared += found.appeared;
            disappeared += found.disappeared;
            late += found.late;
            failed = found.hits.iter().find_map(|hit| self.say(epoch, hit).err());
            failed.is_none()
        })
        .await?;
        if let Some(failed) = failed {
            return Err(failed);
        }
        if self.store.kept_from().await? >= epoch {
            bail!(
                "the changes of epoch {} were deleted while they were read; begin again",
                epoch.0
            );
        }
        for repo in changes.new_repos.iter().filter_map(|id| changes.repos.get(id)) {
            if !self.standing.may_match_in(repo) {
                continue;
            }
            if self.args.json {
                say!(
                    "{}",
                    json!({ "type": "repository", "epoch": epoch.0, "repository": repo.name })
                );
            } else {
                note!("codesearch: new repository, whose matches are no news: {}", repo.name);
            }
        }
        if late > 0 {
            let files = count(late, "changed file");
            note!("codesearch: the query takes too long: {files} not looked at; make it simpler");
        }
        if self.args.json {
            say!(
                "{}",
                json!({
                    "type": "epoch", "epoch": epoch.0, "appeared": appeared, "disappeared": disappeared,
                    "not_looked_at": late,
                })
            );
        }
        Ok(appeared + disappeared > 0)
    }

    fn say(&self, epoch: Epoch, hit: &Hit) -> Result<()> {
        if self.args.json {
            say!("{}", hit_json(hit, Some(epoch)));
        } else {
            say!("{}", hit_line(hit));
        }
        Ok(())
    }
}

fn hit_line(hit: &Hit) -> String {
    let Hit { appeared, name, path, line, text, .. } = hit;
    let sign = if *appeared { '+' } else { '-' };
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    let text = text.as_ref().map(|text| format!(":{text}")).unwrap_or_default();
    format!("{sign}{name}/{path}{line}{text}")
}

fn hit_json(hit: &Hit, epoch: Option<Epoch>) -> Value {
    let Hit { appeared, name, path, line, text, .. } = hit;
    let mut told = json!({
        "type": if *appeared { "appeared" } else { "disappeared" },
        "repository": name, "path": path, "line": line, "text": text,
    });
    if let Some(epoch) = epoch {
        told["epoch"] = epoch.0.into();
    }
    told
}

/// The stored monitors, as far as they may be seen: with a restriction to some repositories, those with the same one.
struct Stored<'a> {
    only_repos: &'a [String],
}

/// Returns where deliveries may go in this machine's network.
fn allowed(args: &SettingsArgs) -> Result<Vec<Allowed>> {
    Ok(config::open(args)?.get().monitor.allow.clone())
}

impl Stored<'_> {
    async fn all(&self, store: &Store) -> Result<Vec<Monitor>> {
        let mut all = store.monitors().await?;
        all.retain(|of| self.only_repos.is_empty() || of.repos == self.only_repos);
        Ok(all)
    }

    async fn of(&self, store: &Store, name: &str) -> Result<Monitor> {
        let all = self.all(store).await?;
        if let Some(found) = all.iter().find(|of| of.name == name) {
            return Ok(found.clone());
        }
        match nearest(name, all.iter().map(|of| of.name.as_str())) {
            Some(near) => bail!("no monitor is named {name}; did you mean {near}?"),
            None => bail!("no monitor is named {name}; codesearch monitor list lists them"),
        }
    }

    async fn add(&self, store: &Store, args: &AddMonitorArgs) -> Result<u8> {
        let allowed = match args.webhook {
            Some(_) => allowed(&args.configuration)?,
            None => Vec::new(),
        };
        let new = NewMonitor {
            name: args.name.clone(),
            query: args.query.join(" "),
            repos: self.only_repos.to_vec(),
            ..NewMonitor::default()
        };
        let made = monitor::make(store, new, args.webhook.as_deref(), &allowed).await;
        let secret = made.map_err(|why| match why {
            NotMade::Store(error) => error.into(),
            NotMade::Query(monitor::Invalid::Query(why)) => refused(why),
            why => anyhow::anyhow!("{why}"),
        })?;
        say!(
            "added {}: its news are at /monitors/{0} and /monitors/{0}.atom of a server",
            args.name
        );
        if let Some(secret) = secret {
            say!("the key of its deliveries' signatures, which is not shown again: {secret}");
        }
        Ok(crate::FOUND)
    }

    async fn list(&self, store: &Store, json: bool) -> Result<u8> {
        let all = self.all(store).await?;
        let waiting = store.waiting_counts().await?;
        let width = all.iter().map(|of| of.name.len()).max().unwrap_or(0);
        for of in &all {
            let waits = waiting.iter().find(|(monitor, ..)| *monitor == of.id);
            if json {
                let mut told = monitor_json(of);
                told["deliveries_waiting"] = waits.map_or(0, |(_, count, _)| *count).into();
                say!("{told}");
                continue;
            }
            let state = if of.paused { "paused" } else { "active" };
            let to = of.address.as_deref().unwrap_or("feed");
            say!("{:<width$}  {state}  {to}  {}", of.name, of.query);
            if let Some(why) = &of.why {
                say!("  {why}");
            }
            if let Some((_, number, said)) = waits {
                let why = said.as_ref().map(|said| format!(": {said}")).unwrap_or_default();
                say!("  {}{why}", count(usize::try_from(*number).unwrap_or(0), "waiting delivery"));
            }
        }
        if all.is_empty() && stdout().is_terminal() {
            note!(
                "codesearch: there are no monitors; make one with: codesearch monitor add NAME QUERY"
            );
        }
        Ok(if all.is_empty() { crate::NOTHING } else { crate::FOUND })
    }

    async fn show(&self, store: &Store, name: &str, json: bool) -> Result<u8> {
        let of = self.of(store, name).await?;
        let news = store.news(of.id, SHOWN, SHOWN_HITS).await?;
        let deliveries = store.deliveries(of.id, SHOWN).await?;
        if json {
            let delivery = |of: &store::Delivery| {
                json!({
                    "id": of.id, "epoch": of.epoch, "state": of.state, "attempts": of.attempts,
                    "tried_at": of.tried_at, "due": of.due, "said": of.said,
                })
            };
            let mut told = monitor_json(&of);
            told["news"] = news.iter().map(news_json).collect();
            told["deliveries"] = deliveries.iter().map(delivery).collect();
            say!("{told}");
            return Ok(crate::FOUND);
        }
        say!("{}: {}", of.name, of.query);
        for one in &news {
            say!("epoch {}, {}", one.epoch.0, one.at);
            if let Some(note) = &one.note {
                say!("  {note}");
            }
            for hit in &one.hits {
                say!("  {}", hit_line(hit));
            }
            let more = (one.appeared + one.disappeared).saturating_sub(one.hits.len());
            if more > 0 {
                say!("  and {more} more");
            }
        }
        for one in &deliveries {
            let attempts = count(usize::try_from(one.attempts).unwrap_or(0), "attempt");
            let said = one.said.as_deref().unwrap_or("not sent yet");
            let next = one.due.as_ref().map(|due| format!("; next: {due}")).unwrap_or_default();
            say!("delivery of epoch {}: {}, {attempts}: {said}{next}", one.epoch, one.state);
        }
        Ok(crate::FOUND)
    }

    /// Does the same to each of some monitors.
    async fn each<F: Future<Output = Result<(), store::Error>>>(
        &self,
        store: &Store,
        names: &[String],
        done: &str,
        act: impl Fn(Monitor) -> F,
    ) -> Result<u8> {
        let mut found = Vec::new();
        for name in names {
            found.push(self.of(store, name).await?);
        }
        for of in found {
            let name = of.name.clone();
            act(of).await?;
            say!("{done} {name}");
        }
        Ok(crate::FOUND)
    }

    /// Prints what the query of a monitor matches now, and checks where it delivers.
    async fn test(&self, store: &Store, args: &TestMonitorArgs) -> Result<u8> {
        let of = self.of(store, &args.name).await?;
        let visible = search::Visible::of(&of.repos).context("CODESEARCH_REPOS")?;
        let view =
            View::new(Arc::new(Searcher::new(store.clone(), crate::database::cores())), visible);
        let (options, client) = (Options::default(), Client::COMMAND_LINE);
        let query = request::parse(&of.query, &options, &client).map_err(refused)?;
        let mut request = request::build(query, &options, &client).map_err(refused)?;
        request.limit = Some(TESTED);
        let (found, mut files) = mpsc::channel::<Vec<FileMatch>>(1);
        let request = Arc::new(request);
        let printing = async {
            while let Some(some) = files.recv().await {
                for file in some {
                    let place = format!("{}/{}", file.repo, file.path);
                    match file.lines.first() {
                        Some(line) => say!("{place}:{}:{}", line.number, line.text),
                        None => say!("{place}"),
                    }
                }
            }
            Ok::<_, anyhow::Error>(())
        };
        let (stats, printed) = tokio::join!(view.search(&request, found), printing);
        printed?;
        let stats = stats?;
        let more = if stats.stopped.is_some() { "at least " } else { "" };
        note!("codesearch: the query matches {more}{} now", count(stats.files, "file"));
        if let Some(address) = &of.address {
            let allowed = allowed(&args.configuration)?;
            if args.send {
                let secret = store.monitor_secret(of.id).await?.unwrap_or_default();
                let sent = monitor::send_test(&of.name, address, &secret, &allowed).await;
                say!("{address} answered {}", sent.map_err(anyhow::Error::msg)?);
            } else {
                monitor::check_address(address, &allowed).await.map_err(anyhow::Error::msg)?;
                say!("{address} may be delivered to; --send sends a test");
            }
        }
        Ok(crate::FOUND)
    }
}

fn monitor_json(of: &Monitor) -> Value {
    json!({
        "name": of.name, "query": of.query, "owner": of.owner, "address": of.address, "paused": of.paused,
        "why": of.why, "created_at": of.created_at,
    })
}

fn news_json(of: &News) -> Value {
    json!({
        "epoch": of.epoch.0, "at": of.at, "appeared": of.appeared, "disappeared": of.disappeared,
        "note": of.note, "hits": of.hits.iter().map(|hit| hit_json(hit, None)).collect::<Vec<_>>(),
    })
}
