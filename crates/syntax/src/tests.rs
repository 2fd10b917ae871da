//! Lines and the classes of their characters.

use crate::languages::Syntax;
use crate::{Class, Lexer};

/// Checks the classes of all characters, given below each line by their first letters.
fn check(language: &str, expected: &[&str]) {
    let mut lexer = Lexer::new(Syntax::of(language).unwrap());
    for pair in expected.chunks(2) {
        let mut classes = vec![b' '; pair[0].len()];
        for (range, class) in lexer.line(pair[0]) {
            let letter = format!("{class:?}").to_ascii_lowercase().as_bytes()[0];
            // Constants are `n`, since comments are `c`.
            classes[range].fill(if class == Class::Constant { b'n' } else { letter });
        }
        let classes = String::from_utf8(classes).unwrap();
        assert_eq!(classes.trim_end(), pair[1], "{language}: {}", pair[0]);
    }
}

#[test]
fn programs() {
    check(
        "C",
        &[
            "#include <stdio.h> /* a",
            "kkkkkkkk sssssssss cccc",
            "b */ size_t n = 0x1fUL; // \"x\"",
            "cccc tttttt     nnnnnn  cccccc",
            "struct foo *p = f(\"a\\n\", '\\'', 'x');",
            "kkkkkk ttt      f ssnns  ssss  sss",
        ],
    );
    check(
        "Rust",
        &[
            "fn run<'a>(x: &'a str) -> Vec<u8> { /* a /* b */ c */ vec![b'x'] }",
            "kk fff            kkk     ttt kk    ccccccccccccccccc ffff  sss",
            "let raw = r#\"a\" // b\"#; x.type.await",
            "kkk       ssssssssssss",
            "\"of several \\",
            "ssssssssssssn",
            "lines\" // end",
            "ssssss cccccc",
        ],
    );
    check(
        "Python",
        &[
            "\"\"\"A doc",
            "cccccccc",
            "of lines.\"\"\"",
            "cccccccccccc",
            "@app.route('/')",
            "ffff fffff sss",
            "def f(self): return f'{x}' # why",
            "kkk f kkkk   kkkkkk  sssss ccccc",
        ],
    );
    check(
        "TypeScript",
        &[
            "const re = /[/\"]+/g.test(a / b / c) as Foo;",
            "kkkkk      ssssssss ffff            kk ttt",
            "return `a ${b}",
            "kkkkkk sssssss",
            "c` + 1.5e-3",
            "ss   nnnnnn",
        ],
    );
    check(
        "Shell",
        &[
            "if [ $# -gt 1 ]; then cat <<'EOF'",
            "kk          n    kkkk       sssss",
            "it's # text",
            "sssssssssss",
            "EOF",
            "sss",
            "echo \"a # b\" # c",
            "kkkk sssssss ccc",
        ],
    );
    check(
        "Ruby",
        &[
            "x = <<~SQL # a",
            "           ccc",
            "it's",
            "ssss",
            "SQL",
            "sss",
            "class A << B",
            "kkkkk t",
        ],
    );
    check("SQL", &["select 'it''s' FROM t -- x", "kkkkkk sssssss kkkk   cccc"]);
    check("Haskell", &["f' x = {- a {- b -} -} 'c' -- d", "       ccccccccccccccc sss cccc"]);
    check("Scheme", &["(define (go-on? x) \"a\") ; b", " kkkkkk            sss  ccc"]);
    check(
        "Go",
        &[
            "func (s *Server) Run() error {",
            "kkkk             fff   kkkkk",
            "x := `a",
            "     ss",
            "b`",
            "ss",
        ],
    );
    check("Makefile", &["all: a.o # b", "fff      ccc", "\tgcc -c $<", ""]);
    check("Lua", &["--[[ a", "cccccc", "b ]] local s = [[x]] -- y", "cccc kkkkk     sssss cccc"]);
    check("TeX", &["\\section{a} % b", "kkkkkkkk    ccc"]);
}

#[test]
fn texts_that_are_no_programs() {
    check(
        "HTML",
        &[
            "<a href=\"x\" id=y>it's &amp; so</a><!-- b",
            " k ffff sss ff s      nnnnn     k cccccc",
            "c --><br>",
            "ccccc kk",
        ],
    );
    check(
        "CSS",
        &[
            "a.b:hover {",
            "kff",
            "  margin-top: 1em; /* c */",
            "  tttttttttt  nnn  ccccccc",
            "}",
            "",
        ],
    );
    check(
        "YAML",
        &[
            "- name: it's \"a\" # b",
            "  kkkk           ccc",
            "  on: [true, 1.5]",
            "  kk   nnnn  nnn",
        ],
    );
    check(
        "TOML",
        &["[package]", "ttttttttt", "a.b = \"c\" # d", "kkk   sss ccc", "n = 12", "k   nn"],
    );
    check("JSON", &["{\"a\": [1, true, null]}", " sss   n  nnnn  nnnn"]);
    check(
        "Markdown",
        &[
            "# It's a `b`",
            "kkkkkkkkkkkk",
            "some `code` here",
            "     ssssss",
            "```",
            "",
            "# no",
            "",
            "```",
            "",
            "## B",
            "kkkk",
        ],
    );
}

#[test]
fn declarations_in_one_line() {
    check("CSS", &["a{top:1px;left:#fff}b{top:0}", "k ttt nnn tttt nnnn k ttt n"]);
}

#[test]
fn any_text_is_read_to_its_end() {
    for syntax in crate::table::all() {
        let mut lexer = Lexer::new(syntax);
        for line in [
            "",
            " ",
            "é\\",
            "'",
            "\"",
            "\\",
            "<<",
            "<<é",
            "'\\",
            "/",
            "/*",
            "#",
            "@",
            ":",
            "$",
            "é'é",
            "<",
            "&",
            "[",
            "=",
            "`",
            "{",
            "}",
            "-",
            "'é'",
            "0x",
            "1e+",
            "- ",
            ": ",
            "\u{2028}\u{a0}x",
        ] {
            let line = line.repeat(3);
            let mut from = 0;
            for (range, _) in lexer.line(&line) {
                assert!(range.start >= from && line.get(range.clone()).is_some(), "{line:?}");
                from = range.end;
            }
        }
    }
}

#[test]
fn languages_and_their_words_are_listed_once() {
    let mut names: Vec<&str> = crate::table::all().flat_map(|one| one.names).copied().collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(names.iter().all(|name| *name == name.to_lowercase()));
}
