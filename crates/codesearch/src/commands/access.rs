//! `codesearch grant`, `revoke`, `grants` and `access`.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::access::{Grants, HostShows, Principal, Rules, Who, Why, check_glob, matching_none};
use ::settings::Settings;
use anyhow::{Context, Result, anyhow};
use request::hints::near_name;
use request::human::count;
use search::{Gate, Visible};
use serde_json::json;
use store::Store;

use crate::as_user::principal;
use crate::cli::{AccessArgs, DatabaseArgs, GrantArgs, GrantsArgs, RevokeArgs};
use crate::database::Database;

/// Most globs that match no repository that are told of at once.
const MAX_UNMATCHED: usize = 100;

pub(crate) fn grant(database: &DatabaseArgs, args: &GrantArgs) -> Result<u8> {
    let who = who(&args.who)?;
    for pattern in &args.patterns {
        check_glob(pattern).map_err(|why| anyhow!(why))?;
    }
    Database::open_to_add(database, 1)?.run(async |store| {
        let was_open = rules(store, None).await?.stored.is_none();
        let names: Vec<String> = store.repos().await?.into_iter().map(|repo| repo.name).collect();
        for pattern in &args.patterns {
            let is_new = store.grant(&who, pattern).await?;
            let matched = names.iter().filter(|name| ::access::is_match(pattern, name)).count();
            let what = if is_new { "granted" } else { "already granted" };
            say!("{what} to {who}: {pattern} ({} now)", count(matched, "repository"));
            if matched == 0 {
                note!("codesearch: {pattern} matches no repository{}", meant(pattern, &names));
            }
        }
        if was_open {
            note!(
                "codesearch: from now on, nobody but the owner of this index's folder sees what is not granted"
            );
        }
        Ok(crate::FOUND)
    })
}

pub(crate) fn revoke(database: &DatabaseArgs, args: &RevokeArgs) -> Result<u8> {
    let who = who(&args.who)?;
    Database::open_to_add(database, 1)?.run(async |store| {
        let mut gone = Vec::new();
        if args.all {
            gone = store.revoke(&who, None).await?;
        }
        for pattern in &args.patterns {
            let one = store.revoke(&who, Some(pattern)).await?;
            if one.is_empty() {
                note!("codesearch: {pattern} was not granted to {who}; codesearch grants lists what was");
            }
            gone.extend(one);
        }
        for pattern in &gone {
            say!("taken back from {who}: {pattern}");
        }
        if !gone.is_empty() && store.grants().await?.is_empty() {
            note!(
                "codesearch: no command grants anything now, and nobody sees what the configuration file and hosts do not \
                 grant; to show everybody all: codesearch grant '*' '**'"
            );
        }
        Ok(if gone.is_empty() { crate::NOTHING } else { crate::FOUND })
    })
}

pub(crate) fn grants(database: &DatabaseArgs, args: &GrantsArgs) -> Result<u8> {
    let of = |one: &str| match one.parse::<Who>() {
        Ok(who @ Who::User(_)) if !database.as_groups.is_empty() => {
            let mut all = vec![who];
            all.extend(database.as_groups.iter().cloned().map(Who::Group));
            all
        }
        Ok(who) => vec![who],
        // A name alone is a user's, with all that it has as such.
        Err(_) => Who::all_of(&Principal::named(one, database.as_groups.clone())),
    };
    let wanted: Option<Vec<Who>> = args.of.as_deref().map(of);
    let settings = Settings::find(args.configuration.settings.as_deref())?;
    let is_wanted = |who: &Who| wanted.as_ref().is_none_or(|all| all.contains(who));
    Database::open_index(database, 1)?.run(async |store| {
        let mut rows: Vec<(String, String, String)> = Vec::new();
        for (who, globs) in settings.access.iter().flat_map(|grants| grants.all()) {
            if is_wanted(who) {
                let row = |glob: &Arc<str>| (who.to_string(), glob.to_string(), "file".to_owned());
                rows.extend(globs.iter().map(row));
            }
        }
        for grant in store.grants().await? {
            if grant.who.parse::<Who>().is_ok_and(|who| is_wanted(&who)) {
                rows.push((grant.who, grant.pattern, grant.granted_at));
            }
        }
        rows.sort();
        let width = rows.iter().map(|(who, ..)| who.chars().count()).max().unwrap_or_default();
        for (who, pattern, source) in &rows {
            let is_file = source == "file";
            if args.json {
                let at = (!is_file).then_some(source);
                let from = if is_file { "configuration" } else { "command" };
                say!(
                    "{}",
                    json!({ "who": who, "pattern": pattern, "from": from, "granted_at": at })
                );
            } else if is_file {
                say!("{who:<width$}  {pattern}  (configuration file)");
            } else {
                say!("{who:<width$}  {pattern}  ({source})");
            }
        }
        if rows.is_empty() {
            let is_restricted = rules(store, settings.access.clone()).await?.is_restricted();
            note!(
                "codesearch: {}",
                match &args.of {
                    Some(of) => format!("nothing is granted to {of}"),
                    None if is_restricted => "nothing is granted to anybody".to_owned(),
                    None =>
                        "nothing was ever granted, so everybody sees all repositories".to_owned(),
                }
            );
            return Ok(crate::NOTHING);
        }
        Ok(crate::FOUND)
    })
}

pub(crate) fn access(database: &DatabaseArgs, args: &AccessArgs) -> Result<u8> {
    let asked = principal(&args.user, &database.as_groups)?;
    let settings = Settings::find(args.configuration.settings.as_deref())?;
    Database::open_index(database, 1)?.run(async |store| {
        let repos = store.repos().await?;
        let named = repos.iter().find(|repo| repo.name == args.repo);
        let repo = named.with_context(|| {
            let near = near_name(
                &args.repo,
                &repos.iter().map(|repo| repo.name.as_str()).collect::<Vec<_>>(),
            );
            match near {
                Some(near) => format!("no repository is named {}; did you mean {near}?", args.repo),
                None => {
                    format!("no repository is named {}; codesearch repos lists them", args.repo)
                }
            }
        })?;
        let rules = rules(store, settings.access.clone()).await?;
        let (user, name) = (&args.user, &repo.name);
        let Some(why) = rules.why(&asked, name, &repo.source) else {
            let said = match rules.hosts.get(&repo.source) {
                Some(HostShows::Members) => "; its host shows it to members only",
                Some(HostShows::Users) => "; its host shows it to those who have an account",
                Some(HostShows::Everybody) | None => "",
            };
            say!("{user} does not see {name}: nothing that is granted names it{said}");
            return Ok(crate::NOTHING);
        };
        let why = match why {
            Why::Unrestricted => "nothing was ever granted, so everybody sees all".to_owned(),
            Why::Owner => "the owner of the index's folder sees all".to_owned(),
            Why::Configured(who, glob) => format!("the configuration file grants {glob} to {who}"),
            Why::Stored(who, glob) => format!("{glob} is granted to {who}"),
            Why::Host(HostShows::Users) => {
                "its host shows it to everybody who has an account".to_owned()
            }
            Why::Host(_) => "its host shows it to everybody".to_owned(),
        };
        say!("{user} sees {name}: {why}");
        Ok(crate::FOUND)
    })
}

/// Returns a sentence for each glob of the configuration file that matches no repository; of very many, for the first.
pub(crate) fn unmatched(grants: &Grants, names: &[String]) -> Vec<String> {
    // The members of a large group may all have the same globs.
    let mut granted: BTreeMap<&str, (&Who, usize)> = BTreeMap::new();
    for (who, globs) in grants.all() {
        for glob in globs {
            granted.entry(&**glob).or_insert((who, 0)).1 += 1;
        }
    }
    let sorted = names.iter().map(String::as_str).collect();
    let all = matching_none(granted.keys().copied(), &sorted);
    let sentence = |glob: &&str| {
        let (who, all) = granted[*glob];
        let others =
            if all > 1 { format!(" and {}", count(all - 1, "other")) } else { String::new() };
        let meant = meant(glob, names);
        format!("access: {glob}, granted to {who}{others}, matches no repository{meant}")
    };
    let mut wrong: Vec<String> = all.iter().take(MAX_UNMATCHED).map(sentence).collect();
    if let more @ 1.. = all.len().saturating_sub(MAX_UNMATCHED) {
        let globs = if more == 1 { "glob matches" } else { "globs match" };
        wrong.push(format!("access: {more} more {globs} no repository"));
    }
    wrong
}

async fn rules(store: &Store, configured: Option<Arc<Grants>>) -> Result<Rules> {
    Ok(Gate::new(store.clone(), Visible::ALL).rules(configured).await?)
}

fn who(text: &str) -> Result<Who> {
    text.parse().map_err(|why: String| anyhow!(why))
}

/// Says what a glob that matches nothing was probably meant to be.
fn meant(glob: &str, names: &[String]) -> String {
    let below = format!("{}/", glob.trim_end_matches('/'));
    if names.iter().any(|name| name.starts_with(&below)) {
        return format!("; did you mean {below}**?");
    }
    let lower = glob.to_lowercase();
    match names.iter().find(|name| name.to_lowercase() == lower) {
        Some(name) => format!("; did you mean {name}?"),
        None => String::new(),
    }
}
