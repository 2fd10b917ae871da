//! The command line.

use std::path::PathBuf;

use crate::shared;

pub(crate) struct Args {
    pub(crate) ours: String,
    pub(crate) zoekt: Option<String>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) index: Option<String>,
    pub(crate) items: usize,
    pub(crate) seed: u64,
    pub(crate) known: Option<PathBuf>,
    pub(crate) given: Option<PathBuf>,
    pub(crate) checkouts: Option<PathBuf>,
    pub(crate) only: Option<String>,
    pub(crate) details: bool,
    pub(crate) name: String,
}

/// Reads the command line; exits if it is wrong.
pub(crate) fn args() -> Args {
    let mut args = Args {
        ours: String::new(),
        zoekt: None,
        home: None,
        index: None,
        items: 24,
        seed: 1,
        known: None,
        given: None,
        checkouts: None,
        only: None,
        details: false,
        name: "judged".to_owned(),
    };
    let mut given = std::env::args().skip(1);
    while let Some(arg) = given.next() {
        let mut value = || given.next().unwrap_or_else(|| wrong(&format!("{arg} wants a value")));
        match arg.as_str() {
            "--ours" => args.ours = value(),
            "--zoekt" => args.zoekt = Some(value()),
            "--home" => args.home = Some(shared::path(&value())),
            "--index" => args.index = Some(value()),
            "--items" => args.items = number(&arg, &value()) as usize,
            "--seed" => args.seed = number(&arg, &value()),
            "--known" => args.known = Some(shared::path(&value())),
            "--given" => args.given = Some(shared::path(&value())),
            "--checkouts" => args.checkouts = Some(shared::path(&value())),
            "--only" => args.only = Some(value()),
            "--details" => args.details = true,
            "--name" => args.name = value(),
            // Passed by cargo.
            "--bench" => {}
            other => wrong(&format!("{other} is no option")),
        }
    }
    if args.ours.is_empty() {
        wrong("name a running server: cargo bench --bench judged -- --ours http://127.0.0.1:8080");
    }
    if args.given.is_some() != args.checkouts.is_some() {
        wrong("--given wants --checkouts, the folder of the repositories that it is about");
    }
    args
}

fn number(option: &str, text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| wrong(&format!("{option} wants a number, not {text}")))
}

fn wrong(why: &str) -> ! {
    eprintln!("judged: {why}");
    std::process::exit(2);
}
