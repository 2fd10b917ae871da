//! Reads the comment at the head of a source file, without its licence.

mod languages;
mod phrases;

use super::doc_text::DocText;
use languages::FAMILIES;
use phrases::{DIRECTIVES, GENERATED, LICENCE, PREAMBLE};

/// Lines that count as the head of a file.
const MAX_LINES: usize = 400;

/// Minimum number of words in a comment that is a doc.
const MIN_WORDS: usize = 3;

/// Returns the comment at the head of a source file; `None` if it is missing or has too few words.
pub(crate) fn read(language: &str, text: &str) -> Option<DocText> {
    let language = language.to_lowercase();
    let marks = FAMILIES.iter().find(|marks| marks.languages.contains(&&*language))?;
    let mut lines = text.lines().take(MAX_LINES).peekable();
    let mut block: Vec<&str> = Vec::new();
    // Closing bracket of the list of imports that is being skipped.
    let mut until: Option<char> = None;
    loop {
        let line = lines.next();
        let trimmed = line.map_or("", str::trim);
        let commented = marks.lines.iter().find_map(|mark| trimmed.strip_prefix(mark));
        let commented = commented.filter(|_| !trimmed.starts_with("#!"));
        let opened = marks.blocks.iter().filter_map(|(open, close)| {
            let rest = trimmed.get(..open.len()).filter(|begin| begin.eq_ignore_ascii_case(open));
            rest.map(|_| (&trimmed[open.len()..], *close))
        });
        let opened = opened.max_by_key(|(_, close)| close.len());
        match (opened, commented) {
            (Some((mut rest, close)), _) if until.is_none() => {
                // Line comments above a block comment are a separate comment.
                if let Some(doc) = doc_of(&std::mem::take(&mut block)) {
                    return Some(doc);
                }
                while !rest.contains(close) {
                    block.push(rest);
                    let Some(line) = lines.next() else { break };
                    rest = line.trim();
                }
                block.extend(rest.split_once(close).map(|(inside, _)| inside));
                if let Some(doc) = doc_of(&std::mem::take(&mut block)) {
                    return Some(doc);
                }
            }
            (_, Some(rest)) if until.is_none() => block.push(rest),
            _ => {
                if let Some(doc) = doc_of(&std::mem::take(&mut block)) {
                    return Some(doc);
                }
                line?;
                if let Some(end) = until {
                    until = until.filter(|_| !trimmed.contains(end));
                    continue;
                }
                let small = trimmed.get(..trimmed.len().min(24)).unwrap_or("").to_lowercase();
                if !trimmed.is_empty() && !PREAMBLE.iter().any(|begin| small.starts_with(begin)) {
                    return None;
                }
                let listed =
                    ["import", "export", "use "].iter().any(|begin| small.starts_with(begin));
                let open = |(open, close)| (listed && trimmed.ends_with(open)).then_some(close);
                until = [('(', ')'), ('{', '}')].into_iter().find_map(open);
            }
        }
    }
}

/// Returns the doc in a comment: its paragraphs, except those about rights. `None` if a program wrote the comment, or
/// if it has too few words.
fn doc_of(lines: &[&str]) -> Option<DocText> {
    let mut paragraphs: Vec<String> = vec![String::new()];
    for line in lines {
        let line = bare(line);
        let says = line.contains(char::is_alphanumeric);
        if says && DIRECTIVES.iter().any(|word| line.contains(word)) {
            continue;
        }
        match paragraphs.last_mut() {
            Some(last) if says => {
                last.push_str(line);
                last.push('\n');
            }
            Some(last) if !last.is_empty() => paragraphs.push(String::new()),
            _ => {}
        }
    }
    if paragraphs.iter().any(|text| holds(text, GENERATED)) {
        return None;
    }
    paragraphs.retain(|text| !text.is_empty() && !holds(text, LICENCE));
    let body = paragraphs.join("\n");
    if body.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count() < MIN_WORDS
    {
        return None;
    }
    Some(DocText { comment: true, title: sentence(&body), headings: String::new(), body })
}

fn holds(text: &str, any: &[&str]) -> bool {
    let text = text.to_lowercase();
    any.iter().any(|word| text.contains(word))
}

/// Returns a line of a comment without the marks at its ends.
fn bare(line: &str) -> &str {
    let marks =
        |c: char| matches!(c, '/' | '*' | '!' | '#' | ';' | '%' | '-' | '|' | '=' | '"' | '\'');
    let inside = line.trim().trim_start_matches(marks);
    // One space belongs to the marks; more are indentation.
    let inside = inside.strip_prefix(' ').unwrap_or(inside);
    inside.trim_end().trim_end_matches(['*', '#', '|', '=']).trim_end()
}

/// Returns the first sentence of a text, within its first paragraph.
fn sentence(text: &str) -> String {
    let first = text.split("\n\n").next().unwrap_or(text);
    let mut end = first.len();
    for (at, mark) in first.match_indices(['.', '?', '!']) {
        let behind = at + mark.len();
        let ends = first[behind..].chars().next().is_none_or(char::is_whitespace);
        // A single letter before the mark belongs to an abbreviation such as `e.g.`
        let word = first[..at].rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        if ends && word.chars().count() > 1 {
            end = behind;
            break;
        }
    }
    first[..end].split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the title and the body of a file's comment.
    fn check(language: &str, text: &str, expected: Option<(&str, &str)>) {
        let found = read(language, text);
        let found =
            found.map(|doc| (doc.title, doc.body.split_whitespace().collect::<Vec<_>>().join(" ")));
        let found = found.as_ref().map(|(title, body)| (title.as_str(), body.as_str()));
        assert_eq!(found, expected, "{language}: {text}");
    }

    #[test]
    fn comments_of_many_languages() {
        let both = Some(("Makes tea.", "Makes tea. And more."));
        for (language, text) in [
            ("Rust", "//! Makes tea.\n//! And more.\n\nuse x;\n"),
            ("Go", "// Makes tea.\n// And more.\npackage tea\n"),
            ("C", "/*\n * Makes tea.\n * And more.\n */\n#include <x.h>\n"),
            (
                "Java",
                "package a.b;\n\nimport c.D;\n\n/**\n * Makes tea.\n * And more.\n */\nclass T {}\n",
            ),
            (
                "Python",
                "#!/usr/bin/python\n# -*- coding: utf-8 -*-\n\"\"\"Makes tea.\n\nAnd more.\"\"\"\n",
            ),
            ("Shell", "#!/bin/sh\n#\n# Makes tea.\n# And more.\nset -e\n"),
            ("SQL", "-- Makes tea.\n-- And more.\nselect 1;\n"),
            ("Haskell", "{- |\nMakes tea.\nAnd more.\n-}\nmodule Tea where\n"),
            ("Lua", "--[[ Makes tea.\nAnd more. ]]\nreturn {}\n"),
            ("Emacs Lisp", ";;; Makes tea.\n;; And more.\n(defun x ())\n"),
            ("Erlang", "%% Makes tea.\n%% And more.\n-module(x).\n"),
            ("OCaml", "(* Makes tea.\n   And more. *)\nlet x = 1\n"),
            ("HTML", "<!DOCTYPE html>\n<!-- Makes tea.\nAnd more. -->\n<html>\n"),
            ("PHP", "<?php\n/**\n * Makes tea.\n * And more.\n */\n"),
            ("Vim Script", "\" Makes tea.\n\" And more.\nfinish\n"),
            (
                "Go",
                "package a\n\nimport (\n\t\"x\"\n\t\"y\"\n)\n\n// Makes tea.\n// And more.\ntype T int\n",
            ),
            (
                "JavaScript",
                "'use strict';\nimport {\n  a,\n} from 'b';\n/* Makes tea.\nAnd more. */\n",
            ),
        ] {
            check(language, text, both);
        }
    }

    #[test]
    fn licences_and_what_programs_wrote_are_left_out() {
        let licence = "// Copyright 2020 The Authors.\n// Licensed under the Apache License.\n";
        check(
            "Go",
            &format!("{licence}\n//go:build linux\n\n// Package tea makes it.\npackage tea\n"),
            Some(("Package tea makes it.", "Package tea makes it.")),
        );
        check("Go", &format!("{licence}\npackage tea\n"), None);
        check("Go", &format!("{licence}package tea\nfunc x() {{}}\n// Not at the head.\n"), None);
        check(
            "C",
            "// SPDX-License-Identifier: GPL-2.0\n/*\n * kettle.c - drives the kettle\n *\n * Copyright (C) 1999 A. B.\n *\n * This program is free software.\n *\n * It boils. Slowly.\n */\n",
            Some((
                "kettle.c - drives the kettle",
                "kettle.c - drives the kettle It boils. Slowly.",
            )),
        );
        check("Go", "// Code generated by a tool. DO NOT EDIT.\npackage x\n", None);
        check("Shell", "#!/bin/sh\n# short\n", None);
        check("Python", "\"\"\"", None);
        check(
            "C",
            "/* never closed and goes on",
            Some(("never closed and goes on", "never closed and goes on")),
        );
        check("JSON", "// not a comment here", None);
        check("Rust", "", None);
    }

    #[test]
    fn a_sentence_ends_where_a_reader_pauses() {
        for (text, expected) in [
            ("One. Two.", "One."),
            ("See a.b for e.g. more\nof it. Two", "See a.b for e.g. more of it."),
            ("No end", "No end"),
            ("First\n\nSecond.", "First"),
        ] {
            assert_eq!(sentence(text), expected);
        }
    }
}
