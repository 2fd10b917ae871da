//! `codesearch serve`: answers searches over HTTP until it is told to stop.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use postgres::Postgres;
use search::Searcher;
use store::Store;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use super::beside::{new_server, stop_signal, while_leading};
use super::keep::Keep;
use super::{config, mirror, serve_identity, symbols};
use crate::cli::{DatabaseArgs, ServeArgs, ServeCommand, machine};
use crate::database::{Database, clones_folder, close_postgres, connections, cores};
use crate::remote::Runner;
use crate::remote::socket::Socket;
use server::{self, Access, Limits, Metrics, Quota, Settings, TokenFile};
use statistics::Recorder;

/// Interval at which the server looks for a newer epoch, and checks its private Postgres and its token file.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Interval at which statistics are written to the database; `LAST_FLUSH` bounds the last write at shutdown.
const FLUSH_EVERY: Duration = Duration::from_mins(1);
const LAST_FLUSH: Duration = Duration::from_secs(5);

/// Interval at which old statistics in the database are merged.
const THIN_EVERY: Duration = Duration::from_hours(6);

/// Most problems of a checked shard that are logged.
const MAX_LOGGED_PROBLEMS: usize = 10;

pub(crate) fn run(database: &DatabaseArgs, command: &ServeCommand) -> Result<u8> {
    let args = &command.serve;
    let told = settings(database, args)?;
    let listener = bind(args.listen)?;
    let opened = Database::open_to_serve(database, connections())?;
    let socket = listen_on_socket(database);
    let into = clones_folder(database)?;
    let how = (command.watch, true);
    let keep = Keep::new(args, how, ingest::MAX_BYTES, opened.disks(), into.clone())?;
    serve(opened, (listener, socket), args, told, Symbols::Leave, (keep, into))
}

/// Validates the operator's settings before anything slow starts. Also returns the token file, which is reread when it
/// changes.
pub(crate) fn settings(
    database: &DatabaseArgs,
    args: &ServeArgs,
) -> Result<(Settings, Option<TokenFile>)> {
    let configuration = Arc::new(config::open(&args.configuration)?);
    let is_public = !args.listen.ip().to_canonical().is_loopback();
    let only_repos = database.only_repos.clone();
    let args = &args.operator;
    let file = configuration.get();
    let identity = serve_identity::identity(args.tokens.is_some(), &args.proxy, &file.identity)?;
    ensure!(
        !is_public
            || args.open
            || args.tokens.is_some()
            || identity.has_jwt()
            || identity.has_proxy(),
        "to listen on an address that other machines can reach, use --tokens FILE (codesearch token makes a token), \
         --trust-user-header or [identity] of the configuration file, or --open to answer everybody"
    );
    let each = Quota {
        at_once: args.client_at_once,
        per_minute: args.client_per_minute,
        mib_per_minute: args.client_mib_per_minute,
    };
    let all = Quota {
        at_once: None,
        per_minute: args.server_per_minute,
        mib_per_minute: args.server_mib_per_minute,
    };
    let mut file = args.tokens.as_deref().map(|file| TokenFile::new(file, each));
    let tokens = file.as_mut().map(TokenFile::read).transpose()?;
    let has_others = identity.has_jwt() || identity.has_proxy();
    let needs_token = (file.is_some() || has_others) && !args.open;
    let is_audited = !args.no_audit && (args.audit || file.is_some() || has_others);
    let at_once = args.server_at_once.map_or_else(server::searches_at_once, |most| most as usize);
    // Each client leaves a quarter of the turns to others.
    let share = (at_once > 1).then(|| at_once - at_once.div_ceil(4));
    let trust_forwarded = args.proxy.trust_forwarded;
    let limits = Limits::new(each, all, share, tokens.unwrap_or_default(), trust_forwarded);
    let limits = if has_others { limits.with_others() } else { limits };
    let settings = Settings {
        at_once,
        slow: Some(args.slow),
        statistics: !args.no_statistics,
        limits,
        // A small container must not spend much of its memory on answers.
        unread_bytes: server::MAX_UNREAD_BYTES.min(postgres::Memory::available().bytes / 8),
        access: Access { needs_token, is_public },
        identity,
        history: !args.no_history,
        commands: Some(Arc::new(Runner)),
        only_repos,
        configuration,
        sql: None,
        audit: is_audited.then(Arc::default),
    };
    Ok((settings, file))
}

/// Binds the port before anything slow starts.
pub(crate) fn bind(address: SocketAddr) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => anyhow::anyhow!(
            "{address} is in use by another program; choose another port with --listen {}:0",
            address.ip()
        ),
        _ => anyhow::anyhow!(
            "cannot listen on {address}: {error}; choose another address with --listen"
        ),
    })?;
    listener.set_nonblocking(true).context("cannot listen")?;
    Ok(listener)
}

/// Listens on the socket for programs of this machine. Without it, they search by themselves.
pub(crate) fn listen_on_socket(database: &DatabaseArgs) -> Option<Socket> {
    Socket::listen(database).unwrap_or_else(|error| {
        tracing::warn!("other codesearch programs cannot use this server: {error}");
        None
    })
}

/// Whether to extract missing symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbols {
    /// Extract them while searches are answered.
    Take,
    /// Leave them to another process.
    Leave,
}

/// Serves until it is told to stop. `into` is the folder for clones of hosts, unless the configuration file names one.
pub(crate) fn serve(
    mut database: Database,
    (listener, socket): (TcpListener, Option<Socket>),
    args: &ServeArgs,
    (mut settings, tokens): (Settings, Option<TokenFile>),
    symbols: Symbols,
    (keep, into): (Keep, PathBuf),
) -> Result<u8> {
    let proxy = &args.operator.proxy;
    let mut sockets = [socket, proxy.proxy_socket.as_deref().map(Socket::of_proxy).transpose()?];
    settings.sql = Some(super::sql::for_agents(&database));
    let within = database.runtime.enter();
    database.store.read_from(&args.read_from, connections())?;
    drop(within);
    let (keeps_watch, keep) = (keep.watches, Arc::new(keep));
    let writes = symbols == Symbols::Take || keep.is_needed(&settings.configuration.get());
    let address = listener.local_addr()?;
    let hosts = server::Hosts::of(address, &args.host, settings.access.needs_token);
    let is_behind_proxy = settings.identity.has_proxy() && proxy.proxy_socket.is_none();
    let bounds = server::Bounds::of(proxy.trust_forwarded || is_behind_proxy);
    let bounds = bounds.finishing_within(args.drain.unwrap_or_default());
    let memory = postgres::Memory::available().bytes;
    let cache = args.cache_bytes.unwrap_or(memory / 4);
    let (store, visible) = (database.store.clone(), database.visible());
    let searcher = Searcher::new(store.clone(), cores())
        .with_cache(cache)
        .within_memory(memory / 2)
        .with_max_time(args.operator.max_time)
        .with_runtime(database.runtime.handle().clone());
    let searcher = Arc::new(searcher);
    let postgres = database.take_postgres().map(Arc::new);
    let watched = postgres.clone();
    // Dropped after the last statement, since some database connections live on these threads.
    let threads = server::Threads::start().context("cannot start threads")?;
    let done = database.runtime.block_on(async {
        let configuration = Arc::clone(&settings.configuration);
        let only_repos = settings.only_repos.clone();
        let settings_audit = settings.audit.clone();
        let days = args.operator.audit_days;
        let server = server::Shared::new(Arc::clone(&searcher), store.clone(), visible, settings);
        let auditing = settings_audit.map(|audit| Auditing::begin(audit, &store, address, days));
        let fellows = Arc::clone(&server.fellows);
        let stop = stop_signal(Arc::clone(&fellows), args.drain)?;
        // Before it answers, others know that they share limits with it.
        let itself = new_server(address);
        let joined = fellows.join(&itself).await;
        say!("serving on http://{address}/");
        let (wanting, wanted_by) = (Arc::clone(&keep), Arc::clone(&configuration));
        let (beside, leads) = (Arc::clone(&fellows), fellows.leads());
        let replicated = store.clone();
        let replicating = tokio::spawn(async move {
            tokio::join!(replicated.follow_replicas(), replicated.follow_local_nodes())
        });
        let joining = tokio::spawn(async move {
            beside.run(&itself, joined, &|| wanting.is_needed(&wanted_by.get())).await;
        });
        let changed = Arc::new(Notify::new());
        let (told, wake) = (Arc::clone(&searcher), Arc::clone(&changed));
        let ingested = Arc::new(Notify::new());
        let told_of_ingest = Arc::clone(&ingested);
        let listening = tokio::spawn(async move {
            loop {
                let changed = || {
                    wake.notify_one();
                    told_of_ingest.notify_one();
                };
                if let Err(error) = told.listen(changed).await {
                    tracing::debug!("the server is not notified of index changes: {error}");
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        });
        let reader = Arc::clone(&searcher);
        let reading = tokio::spawn(async move {
            loop {
                if let Err(error) = reader.read_ahead().await {
                    tracing::debug!("the index could not be preloaded: {error}");
                }
                let _ = tokio::time::timeout(LOOK_EVERY, changed.notified()).await;
            }
        });
        let watch = Arc::clone(&searcher);
        let watching = tokio::spawn(async move { supervise(&watch, watched.as_ref()).await });
        let (kept, keeper) = (store.clone(), server.clone());
        let with_cache =
            tokio::spawn(async move { maintain_store(&kept, keeper.recorder()).await });
        let limits = Arc::clone(&server.limits);
        let rights = match tokens {
            Some(_) => {
                let limits = Arc::clone(&limits);
                monitor::Rights::new(&only_repos, move |name| limits.has_owner(name))
            }
            None => monitor::Rights::default(),
        };
        let named = Arc::clone(&limits);
        let sight = monitor::Sight::new(Arc::clone(server.gate()), Arc::clone(&configuration));
        let rights = rights.with_sight(sight.with_groups(move |name| named.groups_of(name)));
        let told = rights.clone();
        let (identity, identity_file) = (Arc::clone(&server.identity), Arc::clone(&configuration));
        let identifying = tokio::spawn(async move {
            identity.fetch_keys().await;
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                identity.follow(&identity_file.get().identity);
            }
        });
        let (granted, grants_file) = (store.clone(), Arc::clone(&configuration));
        let comparing = tokio::spawn(async move { tell_unmatched(&granted, &grants_file).await });
        let following = tokio::spawn(async move { follow(tokens, &limits, &told).await });
        let (sampled, checked) = (store.clone(), Arc::clone(&server.metrics));
        let every = args.operator.check_every;
        let checking = tokio::spawn(async move { check_samples(&sampled, &checked, every).await });
        let (kept, kept_file) = (store.clone(), Arc::clone(&configuration));
        let leading = leads.clone();
        let keeping = tokio::spawn(async move {
            while_leading(leading, || Box::pin(keep.run(&kept, &kept_file, &ingested))).await
        });
        let (mirrored, hosts_file) = (store.clone(), Arc::clone(&configuration));
        let mirroring = tokio::spawn(async move {
            let mirror = || {
                Box::pin(mirror::beside(mirrored.clone(), Arc::clone(&hosts_file), into.clone()))
            };
            while_leading(leads, mirror).await
        });
        let completed = store.clone();
        let taking = tokio::spawn(async move {
            // Whoever takes changes from the queue extracts symbols, too.
            if symbols == Symbols::Take && !keeps_watch {
                symbols::take_beside(&completed).await;
            }
        });
        let (watched, found) = (store.clone(), Arc::clone(&searcher));
        let allow: monitor::Allow = Arc::new(move || configuration.get().monitor.allow.clone());
        let monitoring = tokio::spawn(async move {
            tokio::select! {
                never = Box::pin(monitor::run(watched, found, allow, rights)) => match never {},
                // Another server goes on.
                () = fellows.drained() => {}
            }
        });
        let ended = server::serve(
            &threads,
            listener,
            listening_on(&mut sockets),
            server::routes_of(server.clone(), hosts),
            bounds,
            stop,
        )
        .await;
        following.abort();
        identifying.abort();
        replicating.abort();
        for task in [watching, with_cache, checking, comparing] {
            task.abort();
            let _ = task.await;
        }
        for task in [reading, listening, taking, monitoring] {
            task.abort();
            let _ = task.await;
        }
        for task in [keeping, mirroring] {
            task.abort();
            let _ = task.await;
        }
        joining.abort();
        let _ = joining.await;
        if let Some(auditing) = auditing {
            auditing.end().await;
        }
        let last = tokio::time::timeout(LAST_FLUSH, server.recorder().flush(&store)).await;
        if !matches!(last, Ok(Ok(()))) {
            tracing::warn!(
                "the statistics of the last minutes are lost: cannot reach the database"
            );
        }
        ended
    });
    drop((sockets, searcher));
    database.close();
    if let Some(postgres) = postgres.and_then(Arc::into_inner) {
        close_postgres(postgres, writes);
    }
    done.context("the server stopped")?;
    Ok(crate::FOUND)
}

/// The task that writes the audit of a server.
struct Auditing {
    stop: Arc<Notify>,
    task: tokio::task::JoinHandle<()>,
}

impl Auditing {
    fn begin(audit: Arc<audit::Audit>, store: &Store, listens: SocketAddr, days: u32) -> Self {
        let name = format!("{} {listens}", machine());
        let (stop, store) = (Arc::new(Notify::new()), store.clone());
        let stopped = Arc::clone(&stop);
        let task = tokio::spawn(async move {
            audit::write(&audit, &store, &name, days, stopped.notified()).await;
        });
        Self { stop, task }
    }

    /// Writes what is left.
    async fn end(self) {
        self.stop.notify_one();
        let _ = self.task.await;
    }
}

/// Takes the listeners of the owner's socket, and of the proxy's.
fn listening_on([owner, proxy]: &mut [Option<Socket>; 2]) -> server::Sockets {
    let take = |socket: &mut Option<Socket>| socket.as_mut().and_then(Socket::take);
    server::Sockets { owner: take(owner), proxy: take(proxy) }
}

/// Rereads the token file when it changes. Tokens on unreadable lines stay as they were; tokens whose lines are gone
/// are revoked.
async fn follow(file: Option<TokenFile>, limits: &Limits, rights: &monitor::Rights) {
    let Some(mut file) = file else { return };
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        // The file may lie on a disk that does not respond.
        let look = tokio::task::spawn_blocking(move || (file.look(), file));
        let Ok((change, looked)) = look.await else { return };
        file = looked;
        let Some(change) = change else { continue };
        if let Some(wrong) = &change.wrong {
            tracing::error!(
                "the token file has errors; tokens that it no longer lists are revoked: {wrong}"
            );
        }
        limits.change_tokens(change);
        rights.notify();
    }
}

/// Logs each glob of `[access]` that matches no repository, whenever the configuration file is read.
async fn tell_unmatched(store: &Store, configuration: &::settings::Watched) -> Infallible {
    let mut told: Option<Arc<::access::Grants>> = None;
    loop {
        let grants = configuration.get().access.clone();
        let is_told = match (&told, &grants) {
            (Some(told), Some(grants)) => Arc::ptr_eq(told, grants),
            (told, grants) => told.is_none() && grants.is_none(),
        };
        // While the database cannot be reached or has no repository, it is tried again.
        if !is_told
            && let Ok(repos) = store.repos().await
            && !repos.is_empty()
        {
            let names: Vec<String> = repos.into_iter().map(|repo| repo.name).collect();
            told.clone_from(&grants);
            // There may be tens of thousands of each.
            let compare = move || grants.map(|grants| super::access::unmatched(&grants, &names));
            let wrong = tokio::task::spawn_blocking(compare).await.ok().flatten();
            for wrong in wrong.unwrap_or_default() {
                tracing::warn!("{wrong}");
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Writes statistics to the database, and keeps some connections open.
async fn maintain_store(store: &Store, recorder: &Recorder) -> Infallible {
    let (mut flushed, mut thinned) = (Instant::now(), None::<Instant>);
    loop {
        // A database that is unreachable now may come back. Until then the counts stay in memory.
        if let Err(error) = store.keep_warm(cores()).await {
            tracing::debug!("cannot keep connections open: {error}");
        }
        if recorder.is_stored() && thinned.is_none_or(|thinned| thinned.elapsed() >= THIN_EVERY) {
            match Recorder::thin(store).await {
                Ok(()) => thinned = Some(Instant::now()),
                Err(error) => tracing::debug!("old statistics could not be thinned out: {error}"),
            }
        }
        if flushed.elapsed() >= FLUSH_EVERY {
            flushed = Instant::now();
            if let Err(error) = recorder.flush(store).await {
                tracing::debug!("statistics could not be stored yet: {error}");
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Checks a random shard at intervals. Problems are logged and counted in `/metrics`, but not repaired.
async fn check_samples(store: &Store, metrics: &Metrics, every: Duration) -> Infallible {
    let options = ingest::check::Options { sample: Some(1), repair: false };
    loop {
        tokio::time::sleep(every).await;
        match ingest::check::check(store, options, |_, _| ()).await {
            Ok(report) => {
                for problem in report.problems.iter().take(MAX_LOGGED_PROBLEMS) {
                    let shard = problem.shard.map_or(String::new(), |n| format!("shard {}: ", n.0));
                    tracing::error!(
                        "the index is damaged: {shard}{}; run: codesearch check",
                        problem.what
                    );
                }
                metrics.checked(report.shards, report.problems.len());
            }
            // An ingest is running, or the database is unreachable; the next round tries again.
            Err(error) => tracing::debug!("no shard was checked: {error}"),
        }
    }
}

/// Looks for a newer epoch at intervals, and restarts the private Postgres if it has stopped.
pub(crate) async fn supervise(searcher: &Searcher, postgres: Option<&Arc<Postgres>>) -> Infallible {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if let Some(postgres) = postgres.cloned() {
            let looked = tokio::task::spawn_blocking(move || postgres.ensure_running()).await;
            if let Ok(Err(error)) = looked {
                tracing::error!("the private Postgres cannot be restarted: {error}");
            }
        }
        // An old epoch that is still in use keeps its rows from being deleted.
        let _ = searcher.refresh().await;
    }
}

/// Resolves on Ctrl-C or SIGTERM. Both signals are caught from the call on.
pub(crate) fn shutdown_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tracing::info!("stopping");
    })
}
