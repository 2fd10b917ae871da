//! Languages that share an extension, and the signs in files that tell them apart.
//!
//! `gengo-language` knows few of these extensions and looks at the contents only for some; it recognises 104 of the 277
//! files of `tests/recognised.txt`. This module has a table of signs, each with a weight.

/// Number of lines of a file that are examined.
const LINES: usize = 300;

/// A property of a line.
#[derive(Clone, Copy)]
enum Sign {
    /// It begins with this, after spaces.
    Begins(&'static str),
    /// It contains this.
    Has(&'static str),
    /// It ends with this, before spaces.
    Ends(&'static str),
    /// It begins with the first and ends with the second.
    Both(&'static str, &'static str),
}

use Sign::{Begins as B, Both, Ends as E, Has as H};

/// A language, and its signs with their weights.
type Signs = (&'static str, &'static [(u8, Sign)]);

/// An extension that languages share.
struct Shared {
    extensions: &'static [&'static str],
    /// The language of a file without a sign; `None` if it may be any.
    default: Option<&'static str>,
    /// Whether lines that begin with `//`, `/*` or `*` are comments, which are not examined.
    slashes: bool,
    languages: &'static [Signs],
}

/// The signs of C++ and of Objective-C in a header. Signs that are likely in headers of C have low weights.
const OF_CPP: Signs = (
    "C++",
    &[
        (2, B("namespace ")),
        (2, B("template")),
        (2, B("class ")),
        (2, B("Q_OBJECT")),
        (2, B("public:")),
        (2, B("private:")),
        (2, B("protected:")),
        (2, B("using namespace ")),
        (2, Both("using ", ";")),
        (2, B("virtual ")),
        (2, B("friend ")),
        (2, B("explicit ")),
        (2, B("constexpr ")),
        (2, H("std::")),
        (2, H(" noexcept")),
        (2, H("static_cast<")),
        (2, Both("#include <", "vector>")),
        (2, Both("#include <", "string>")),
        (2, Both("#include <", "map>")),
        (2, Both("#include <", "memory>")),
        (2, B("#include <cstdint>")),
        (2, B("#include <cstddef>")),
        (2, B("#include <cstring>")),
        (1, H("::")),
    ],
);
const OF_OBJECTIVE_C: Signs = (
    "Objective-C",
    &[
        (3, B("@interface")),
        (3, B("@implementation")),
        (3, B("@protocol")),
        (3, B("@property")),
        (3, B("@class ")),
        (3, B("@import ")),
        (2, B("@end")),
        (3, B("#import ")),
        (2, H("NS_ASSUME_NONNULL")),
        (2, H("NS_ENUM(")),
        (2, B("#include <Foundation/")),
        (1, Both("- (", ";")),
        (1, Both("+ (", ";")),
    ],
);
const OF_PERL: Signs = (
    "Perl",
    &[
        (3, B("use strict")),
        (3, B("use warnings")),
        (2, B("use Test::")),
        (2, B("use base ")),
        (2, B("use parent ")),
        (1, B("use 5")),
        (2, Both("package ", ";")),
        (2, B("my $")),
        (2, B("my @")),
        (2, B("my %")),
        (2, B("my (")),
        (2, B("our ")),
        (1, B("sub ")),
        (1, B("require ")),
        (1, B("=head1")),
        (1, B("print ")),
        (1, H("->")),
        (1, H("=~")),
        (1, B("__END__")),
    ],
);
const OF_RAKU: Signs = (
    "Raku",
    &[
        (6, B("use v6")),
        (6, Both("use Test", "Test;")),
        (4, B("unit ")),
        (3, B("multi ")),
        (3, B("has $")),
        (3, B("say ")),
        (3, B("method ")),
        (3, B("grammar ")),
        (2, B("=begin pod")),
        (2, B("class ")),
        (2, B("role ")),
    ],
);
const OF_PROLOG: Signs = (
    "Prolog",
    &[
        (3, B(":- ")),
        (3, B(":-")),
        (3, E(":-")),
        (2, H(") :- ")),
        (2, H(" :- ")),
        (1, E(").")),
        (1, B("%")),
        (1, B("?- ")),
    ],
);
const OF_XML: Signs = (
    "XML",
    &[(9, B("<?xml")), (9, B("<!DOCTYPE TS")), (9, B("<TS ")), (9, B("<map ")), (9, B("<!ENTITY"))],
);

const SHARED: &[Shared] = &[
    Shared {
        extensions: &["h"],
        default: Some("C"),
        slashes: true,
        languages: &[OF_CPP, OF_OBJECTIVE_C],
    },
    Shared {
        extensions: &["m"],
        default: Some("Objective-C"),
        slashes: false,
        languages: &[
            OF_OBJECTIVE_C,
            ("Objective-C", &[(2, B("#include ")), (1, B("//")), (1, B("/*")), (1, B("#define "))]),
            (
                "MATLAB",
                &[
                    (3, B("function ")),
                    (3, B("classdef ")),
                    (2, B("%")),
                    (2, B("end")),
                    (2, B("clear")),
                    (2, B("close all")),
                    (2, B("clc")),
                    (1, B("for ")),
                    (1, E("...")),
                    (2, H("disp(")),
                    (2, H("fprintf('")),
                    (2, H("zeros(")),
                    (2, H("plot(")),
                    (1, H(" = [")),
                    (1, H("'")),
                    (1, E(";")),
                ],
            ),
            ("Mercury", &[(9, B(":- module")), (5, B(":- interface")), (5, B(":- pred "))]),
            (
                "Wolfram",
                &[
                    (5, B("BeginPackage[")),
                    (4, B("(*")),
                    (3, H("Module[")),
                    (3, H("_] :=")),
                    (3, H("_]:=")),
                    (2, B("Begin[")),
                    (2, H("Needs[")),
                    (2, H("::usage")),
                ],
            ),
        ],
    },
    Shared {
        extensions: &["mm"],
        default: Some("Objective-C++"),
        slashes: false,
        languages: &[("Objective-C++", &[(1, B("#"))]), OF_XML],
    },
    Shared {
        extensions: &["fs"],
        default: Some("F#"),
        slashes: true,
        languages: &[
            (
                "F#",
                &[
                    (3, B("module ")),
                    (3, B("namespace ")),
                    (3, B("open ")),
                    (2, B("let ")),
                    (2, B("type ")),
                    (2, B("[<")),
                    (2, B("member ")),
                    (1, B("|")),
                    (1, H("->")),
                ],
            ),
            (
                "GLSL",
                &[
                    (5, B("#version ")),
                    (4, B("uniform ")),
                    (4, B("varying ")),
                    (4, B("attribute ")),
                    (4, B("precision ")),
                    (4, B("layout")),
                    (4, B("void main")),
                    (3, H("gl_")),
                    (3, H("vec4(")),
                    (2, B("in ")),
                    (2, B("out ")),
                ],
            ),
            (
                "Forth",
                &[
                    (4, Both(": ", ";")),
                    (3, B(": ")),
                    (3, B("\\ ")),
                    (2, B("variable ")),
                    (2, H(" dup ")),
                    (2, B("require ")),
                    (2, B("include ")),
                ],
            ),
        ],
    },
    Shared {
        extensions: &["f", "for"],
        default: Some("FORTRAN Legacy"),
        slashes: false,
        languages: &[
            (
                "FORTRAN Legacy",
                &[
                    (3, B("subroutine ")),
                    (3, B("SUBROUTINE ")),
                    (3, B("program ")),
                    (3, B("PROGRAM ")),
                    (3, B("implicit ")),
                    (3, B("IMPLICIT ")),
                    (2, B("integer ")),
                    (2, B("INTEGER ")),
                    (2, B("call ")),
                    (2, B("CALL ")),
                    (2, B("end")),
                    (2, B("END")),
                ],
            ),
            (
                "Forth",
                &[
                    (4, Both(": ", ";")),
                    (3, B(": ")),
                    (3, B("\\ ")),
                    (2, B("variable ")),
                    (2, H(" dup ")),
                ],
            ),
        ],
    },
    Shared {
        extensions: &["t"],
        default: Some("Perl"),
        slashes: false,
        languages: &[
            OF_PERL,
            OF_RAKU,
            (
                "Turing",
                &[
                    (3, B("put \"")),
                    (3, B("put ")),
                    (3, B("get ")),
                    (3, Both("var ", "int")),
                    (3, H(" : int")),
                    (2, B("end for")),
                    (2, B("end loop")),
                    (2, B("loop")),
                    (2, B("proc ")),
                ],
            ),
            (
                "Terra",
                &[
                    (5, B("terra ")),
                    (2, B("local ")),
                    (2, B("end")),
                    (2, H("terralib")),
                    (1, B("--")),
                ],
            ),
        ],
    },
    Shared {
        extensions: &["pl"],
        default: Some("Perl"),
        slashes: false,
        languages: &[OF_PERL, OF_PROLOG, OF_RAKU],
    },
    Shared {
        extensions: &["pm"],
        default: Some("Perl"),
        slashes: false,
        languages: &[OF_PERL, OF_RAKU, ("X PixMap", &[(9, B("/* XPM */"))])],
    },
    Shared {
        extensions: &["pro"],
        default: None,
        slashes: false,
        languages: &[
            (
                "QMake",
                &[
                    (3, B("QT ")),
                    (3, B("TEMPLATE")),
                    (3, B("SOURCES")),
                    (3, B("HEADERS")),
                    (3, B("TARGET")),
                    (3, B("CONFIG")),
                    (3, B("SUBDIRS")),
                    (1, H(" += ")),
                ],
            ),
            OF_PROLOG,
            (
                "IDL",
                &[
                    (4, B("pro ")),
                    (4, B("PRO ")),
                    (3, B("function ")),
                    (3, B("FUNCTION ")),
                    (3, B("compile_opt")),
                    (2, B("endif")),
                    (2, B("endfor")),
                    (1, B(";")),
                ],
            ),
        ],
    },
    Shared {
        extensions: &["v"],
        default: Some("Verilog"),
        slashes: true,
        languages: &[
            (
                "Verilog",
                &[
                    (4, B("endmodule")),
                    (3, Both("module ", "(")),
                    (3, Both("module ", ";")),
                    (3, B("`")),
                    (3, B("always ")),
                    (3, B("always@")),
                    (3, B("assign ")),
                    (2, B("wire ")),
                    (2, B("reg ")),
                    (2, B("input ")),
                    (2, B("output ")),
                    (1, B("initial ")),
                ],
            ),
            (
                "Coq",
                &[
                    (4, B("Require ")),
                    (4, B("From ")),
                    (4, B("Lemma ")),
                    (4, B("Theorem ")),
                    (4, B("Proof")),
                    (4, B("Qed.")),
                    (4, B("Definition ")),
                    (4, B("Inductive ")),
                    (4, B("Fixpoint ")),
                    (4, B("Section ")),
                    (3, B("Import ")),
                    (2, B("(*")),
                ],
            ),
            (
                "V",
                &[
                    (4, Both("fn ", "{")),
                    (4, Both("pub fn ", "{")),
                    (3, Both("import ", "os")),
                    (3, Both("module ", "main")),
                    (2, B("import ")),
                    (2, Both("struct ", "{")),
                    (3, H(" := ")),
                    (3, B("mut ")),
                    (2, B("println(")),
                ],
            ),
        ],
    },
    Shared {
        extensions: &["r"],
        default: Some("R"),
        slashes: false,
        languages: &[
            ("R", &[(2, H("<-")), (2, B("library(")), (2, H("function(")), (1, B("#"))]),
            ("Rebol", &[(9, B("REBOL [")), (9, B("Rebol [")), (9, B("REBOL[")), (9, B("rebol ["))]),
        ],
    },
    Shared {
        extensions: &["ts"],
        default: Some("TypeScript"),
        slashes: false,
        languages: &[("TypeScript", &[(1, B("import "))]), OF_XML],
    },
    Shared {
        extensions: &["md"],
        default: Some("Markdown"),
        slashes: false,
        languages: &[
            ("Markdown", &[(1, B("# "))]),
            (
                "GCC Machine Description",
                &[
                    (9, B("(define_insn")),
                    (9, B("(define_expand")),
                    (9, B("(define_attr")),
                    (4, B("(define_")),
                    (1, B(";;")),
                ],
            ),
        ],
    },
    Shared {
        extensions: &["cls"],
        default: Some("TeX"),
        slashes: false,
        languages: &[
            ("TeX", &[(4, B("\\")), (1, B("%"))]),
            (
                "Visual Basic",
                &[
                    (9, B("VERSION 1.0 CLASS")),
                    (4, B("Attribute VB_")),
                    (2, B("End Sub")),
                    (2, B("Option Explicit")),
                ],
            ),
            (
                "Apex",
                &[
                    (4, B("public class ")),
                    (4, B("global class ")),
                    (4, B("private class ")),
                    (4, B("public with sharing ")),
                    (4, B("public without sharing ")),
                    (4, B("global with sharing ")),
                    (4, B("@isTest")),
                    (4, B("@IsTest")),
                    (2, B("public ")),
                    (2, B("}")),
                ],
            ),
            ("ObjectScript", &[(5, B("Class ")), (3, B("ClassMethod ")), (3, B("Property "))]),
        ],
    },
    Shared {
        extensions: &["inc"],
        default: None,
        slashes: false,
        languages: &[
            ("PHP", &[(9, B("<?php")), (9, B("<?"))]),
            ("HTML", &[(4, B("<div")), (4, B("<html")), (4, B("<!DOCTYPE")), (2, B("<"))]),
            (
                "BitBake",
                &[
                    (4, B("SRC_URI")),
                    (4, B("DEPENDS")),
                    (3, B("LICENSE =")),
                    (3, B("inherit ")),
                    (3, B("do_")),
                    (3, B("PV ")),
                    (2, B("require ")),
                ],
            ),
            (
                "C++",
                &[
                    (3, B("namespace ")),
                    (3, B("template")),
                    (3, B("class ")),
                    (2, H("std::")),
                    (1, B("#include")),
                ],
            ),
            (
                "C",
                &[
                    (2, B("#include")),
                    (2, B("#define ")),
                    (2, B("#if")),
                    (2, B("static ")),
                    (1, B("/*")),
                    (1, B("{")),
                ],
            ),
            (
                "Pascal",
                &[
                    (4, B("procedure ")),
                    (4, B("{$")),
                    (3, B("uses ")),
                    (3, B("begin")),
                    (2, B("end;")),
                ],
            ),
            (
                "Assembly",
                &[
                    (4, B("%define")),
                    (4, B("%macro")),
                    (4, B(".macro")),
                    (4, B("%include")),
                    (3, H(" equ ")),
                    (3, H(" EQU ")),
                    (2, B(".equ")),
                    (2, B("mov ")),
                    (1, B(";")),
                ],
            ),
            ("SQL", &[(3, B("CREATE ")), (3, B("SELECT ")), (3, B("INSERT ")), (1, B("--"))]),
            ("Makefile", &[(3, B("ifeq")), (3, B("endif")), (2, H(" := ")), (2, H(" += "))]),
        ],
    },
    Shared {
        extensions: &["d"],
        default: Some("D"),
        slashes: true,
        languages: &[
            (
                "D",
                &[
                    (3, Both("module ", ";")),
                    (3, Both("import ", ";")),
                    (2, B("void main")),
                    (1, B("class ")),
                    (1, B("struct ")),
                ],
            ),
            (
                "DTrace",
                &[
                    (9, B("#pragma D")),
                    (9, B("#!/usr/sbin/dtrace")),
                    (4, H("::entry")),
                    (4, B("syscall:")),
                    (4, B("dtrace:")),
                    (4, B("BEGIN")),
                    (4, B("provider ")),
                ],
            ),
            ("Makefile", &[(5, H(".o: ")), (5, H(".o : ")), (2, E(" \\"))]),
        ],
    },
    Shared {
        extensions: &["rs"],
        default: Some("Rust"),
        slashes: true,
        languages: &[
            ("Rust", &[(2, B("use ")), (2, B("fn ")), (2, B("pub ")), (2, B("#["))]),
            ("RenderScript", &[(9, B("#pragma version(")), (9, B("#pragma rs"))]),
        ],
    },
    Shared {
        extensions: &["cl"],
        default: Some("Common Lisp"),
        slashes: false,
        languages: &[
            ("Common Lisp", &[(3, B("(")), (1, B(";"))]),
            (
                "OpenCL",
                &[
                    (5, B("__kernel")),
                    (5, B("kernel ")),
                    (4, H("__global")),
                    (3, H("get_global_id")),
                    (1, B("#")),
                    (1, B("//")),
                ],
            ),
            ("Cool", &[(5, Both("class ", "{")), (3, H(" inherits ")), (3, E("};")), (1, B("--"))]),
        ],
    },
    Shared {
        extensions: &["asc"],
        default: Some("AsciiDoc"),
        slashes: false,
        languages: &[
            ("AsciiDoc", &[(2, B("= ")), (2, B("== ")), (2, B("----")), (1, B(":"))]),
            ("Public Key", &[(9, B("-----BEGIN "))]),
            ("AGS Script", &[(4, B("function ")), (3, B("#ifdef")), (2, B("import "))]),
        ],
    },
    Shared {
        extensions: &["mod"],
        default: None,
        slashes: false,
        languages: &[
            (
                "Modula-2",
                &[
                    (5, B("MODULE ")),
                    (5, B("IMPLEMENTATION MODULE")),
                    (5, B("DEFINITION MODULE")),
                    (3, B("FROM ")),
                    (2, B("BEGIN")),
                    (2, B("PROCEDURE ")),
                ],
            ),
            (
                "AMPL",
                &[
                    (4, B("param ")),
                    (4, B("minimize ")),
                    (4, B("maximize ")),
                    (4, B("subject to ")),
                    (3, Both("set ", ";")),
                    (2, B("var ")),
                ],
            ),
            OF_XML,
            ("go.mod", &[(3, B("module ")), (3, B("go 1")), (3, B("require "))]),
        ],
    },
    Shared {
        extensions: &["gd"],
        default: Some("GDScript"),
        slashes: false,
        languages: &[
            (
                "GDScript",
                &[
                    (3, B("extends ")),
                    (3, B("func ")),
                    (2, B("var ")),
                    (2, B("onready ")),
                    (2, B("signal ")),
                ],
            ),
            (
                "GAP",
                &[
                    (5, B("DeclareOperation(")),
                    (5, B("DeclareCategory(")),
                    (5, B("DeclareGlobalFunction(")),
                    (4, B("Declare")),
                    (2, B("##")),
                ],
            ),
        ],
    },
    Shared {
        extensions: &["g"],
        default: None,
        slashes: true,
        languages: &[
            (
                "ANTLR",
                &[
                    (5, Both("grammar ", ";")),
                    (4, Both("lexer grammar ", ";")),
                    (4, Both("parser grammar ", ";")),
                    (3, B("@header")),
                    (3, B("options ")),
                ],
            ),
            (
                "GAP",
                &[
                    (3, B("InstallMethod(")),
                    (3, H(":= function")),
                    (3, E("end );")),
                    (3, B("Read(")),
                    (2, B("local ")),
                    (2, B("##")),
                ],
            ),
        ],
    },
    Shared {
        extensions: &["sc"],
        default: Some("Scala"),
        slashes: true,
        languages: &[
            ("Scala", &[(3, B("import ")), (3, B("object ")), (2, B("def ")), (2, B("val "))]),
            (
                "SuperCollider",
                &[
                    (5, H("SynthDef")),
                    (4, B("~")),
                    (3, H(".play")),
                    (3, H(".ar(")),
                    (3, B("+ ")),
                    (3, B("s.boot")),
                ],
            ),
        ],
    },
    Shared {
        extensions: &["st"],
        default: Some("Smalltalk"),
        slashes: false,
        languages: &[
            (
                "Smalltalk",
                &[
                    (4, H("subclass:")),
                    (4, H("methodsFor:")),
                    (2, B("!")),
                    (1, B("\"")),
                    (1, B("^")),
                ],
            ),
            (
                "Structured Text",
                &[
                    (5, B("PROGRAM ")),
                    (5, B("FUNCTION_BLOCK ")),
                    (5, B("END_VAR")),
                    (5, B("VAR")),
                    (2, B("END_IF")),
                ],
            ),
        ],
    },
    Shared {
        extensions: &["e"],
        default: None,
        slashes: false,
        languages: &[
            (
                "Eiffel",
                &[
                    (4, B("feature")),
                    (3, B("class")),
                    (3, B("note")),
                    (2, B("inherit")),
                    (2, B("local")),
                    (1, B("--")),
                ],
            ),
            (
                "Euphoria",
                &[
                    (5, B("include std/")),
                    (4, B("namespace ")),
                    (4, B("public function")),
                    (4, B("global function")),
                    (3, B("end function")),
                ],
            ),
        ],
    },
    Shared {
        extensions: &["b"],
        default: None,
        slashes: false,
        languages: &[
            ("Limbo", &[(5, Both("implement ", ";")), (4, B("include \"sys.m\""))]),
            ("Brainfuck", &[(4, H("+++")), (4, H("[>")), (4, H("<<<")), (2, H("[-]"))]),
        ],
    },
    Shared {
        extensions: &["as"],
        default: Some("ActionScript"),
        slashes: true,
        languages: &[
            (
                "ActionScript",
                &[
                    (4, B("package")),
                    (3, B("import flash")),
                    (3, B("public function ")),
                    (3, B("public class ")),
                    (2, B("var ")),
                ],
            ),
            (
                "AngelScript",
                &[
                    (4, B("void ")),
                    (3, B("shared ")),
                    (3, H("@ ")),
                    (2, B("funcdef ")),
                    (2, B("class ")),
                    (1, B("#include")),
                ],
            ),
        ],
    },
    Shared {
        extensions: &["ml"],
        default: Some("OCaml"),
        slashes: false,
        languages: &[
            (
                "OCaml",
                &[
                    (3, B("let ")),
                    (3, B("open ")),
                    (2, B("module ")),
                    (2, B("type ")),
                    (1, H("->")),
                ],
            ),
            (
                "Standard ML",
                &[
                    (4, B("fun ")),
                    (4, B("structure ")),
                    (4, B("signature ")),
                    (4, B("functor ")),
                    (3, B("datatype ")),
                    (3, B("val ")),
                ],
            ),
        ],
    },
    Shared {
        extensions: &["pp"],
        default: None,
        slashes: false,
        languages: &[
            (
                "Puppet",
                &[
                    (4, Both("class ", "{")),
                    (4, Both("class ", "(")),
                    (4, Both("define ", "{")),
                    (4, B("node ")),
                    (3, B("file {")),
                    (3, B("package {")),
                    (3, B("service {")),
                    (2, B("include ")),
                    (2, H(" => ")),
                ],
            ),
            (
                "Pascal",
                &[
                    (4, Both("unit ", ";")),
                    (4, Both("program ", ";")),
                    (3, B("uses ")),
                    (3, B("interface")),
                    (2, B("begin")),
                    (2, B("{$")),
                ],
            ),
        ],
    },
];

/// What the contents of a file tell about its language.
pub(super) enum Told {
    /// It is in this language.
    Language(&'static str),
    /// It may be in any of the languages that share its extension, or in another one.
    Nothing,
    /// Its extension is not shared.
    NotShared,
}

/// Returns the languages that share an extension.
pub(super) fn sharing(extension: &str) -> Option<impl Iterator<Item = &'static str>> {
    let shared = SHARED.iter().find(|shared| shared.extensions.contains(&extension))?;
    let signed = shared.languages.iter().map(|(name, _)| *name);
    Some(signed.chain(shared.default))
}

/// Returns the language of a file by its extension, if languages share that: the one with most signs in the text.
pub(super) fn language(extension: &str, text: &str) -> Told {
    let found = SHARED.iter().find(|shared| shared.extensions.contains(&extension));
    let Some(shared) = found else { return Told::NotShared };
    let mut seen = vec![0_u64; shared.languages.len()];
    let mut in_comment = false;
    for line in text.lines().take(LINES) {
        let line = line.trim();
        if shared.slashes {
            if in_comment {
                in_comment = !line.contains("*/");
                continue;
            }
            in_comment = line.starts_with("/*") && !line.contains("*/");
            if in_comment || line.starts_with("//") || line.starts_with("/*") {
                continue;
            }
        }
        if line.is_empty() {
            continue;
        }
        for ((_, signs), seen) in shared.languages.iter().zip(&mut seen) {
            for (n, (_, sign)) in signs.iter().enumerate() {
                if *seen & 1 << n == 0 && sign.is_in(line) {
                    *seen |= 1 << n;
                }
            }
        }
    }
    let mut scores: Vec<(&str, u32)> = Vec::new();
    // Without a sign it is the default; a weak sign does not change that.
    scores.extend(shared.default.map(|name| (name, 1)));
    for ((name, signs), seen) in shared.languages.iter().zip(seen) {
        let weights = signs.iter().enumerate().filter(|(n, _)| seen & 1 << n != 0);
        let score = weights.map(|(_, (weight, _))| u32::from(*weight)).sum();
        match scores.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known += score,
            None => scores.push((*name, score)),
        }
    }
    let mut best: Option<(&str, u32)> = None;
    for (name, score) in scores {
        if score > best.map_or(0, |(_, best)| best) {
            best = Some((name, score));
        }
    }
    best.map_or(Told::Nothing, |(name, _)| Told::Language(name))
}

impl Sign {
    fn is_in(self, line: &str) -> bool {
        match self {
            B(start) => line.starts_with(start),
            H(part) => line.contains(part),
            E(end) => line.ends_with(end),
            Both(start, end) => line.starts_with(start) && line.ends_with(end),
        }
    }
}

/// Returns the language in a modeline for an editor, in the first or last lines of a text: `-*- C++ -*-`, `vim:
/// ft=perl`.
pub(super) fn modeline(text: &str) -> Option<&'static str> {
    let named = text.lines().take(2).find_map(|line| {
        let (_, rest) = line.split_once("-*-")?;
        let (mode, _) = rest.split_once("-*-")?;
        let of_mode = |part: &'_ str| {
            let (key, value) = part.split_once(':')?;
            key.trim().eq_ignore_ascii_case("mode").then(|| value.trim().to_owned())
        };
        if mode.contains(':') {
            mode.split(';').find_map(of_mode)
        } else {
            Some(mode.trim().to_owned())
        }
    });
    let named = named.or_else(|| {
        text.lines().take(5).find_map(|line| {
            let at = ["vim:", "vi:", "ex:"].iter().find_map(|word| line.find(word))?;
            let words = line[at..].split([' ', ':', '\t']);
            let value = |word: &str| {
                let value = ["ft=", "filetype=", "syntax="]
                    .iter()
                    .find_map(|key| word.strip_prefix(key))?;
                Some(value.to_owned())
            };
            words.filter(|word| !word.is_empty()).find_map(value)
        })
    })?;
    Some(match named.to_ascii_lowercase().as_str() {
        "c" => "C",
        "c++" | "cpp" => "C++",
        "objc" | "objective-c" => "Objective-C",
        "matlab" | "octave" => "MATLAB",
        "mercury" => "Mercury",
        "python" => "Python",
        "perl" | "cperl" => "Perl",
        "raku" | "perl6" => "Raku",
        "prolog" => "Prolog",
        "ruby" => "Ruby",
        "sh" | "shell-script" | "bash" | "zsh" => "Shell",
        "tcl" => "Tcl",
        "lisp" | "common-lisp" => "Common Lisp",
        "emacs-lisp" | "elisp" => "Emacs Lisp",
        "scheme" => "Scheme",
        "verilog" => "Verilog",
        "coq" => "Coq",
        "fsharp" => "F#",
        "forth" => "Forth",
        "fortran" => "FORTRAN Legacy",
        "glsl" => "GLSL",
        "javascript" | "js" => "JavaScript",
        "java" => "Java",
        "lua" => "Lua",
        "php" => "PHP",
        "r" => "R",
        "rust" => "Rust",
        "go" => "Go",
        "sql" => "SQL",
        "xml" | "nxml" => "XML",
        "make" | "makefile" | "makefile-gmake" => "Makefile",
        "yaml" => "YAML",
        _ => return None,
    })
}
