//! Languages whose comments begin with `#`.

use super::{
    CODE, DOUBLE, DOUBLE_LINES, HASH, SCRIPT, SINGLE, SINGLE_LINES, STARS, THREE, THREE_SINGLE,
    quote,
};
use crate::languages::Escape::{Doubled, None};
use crate::languages::Syntax;
use crate::languages::trait_bits::{
    ANNOTATIONS, ANY_CASE, CAPITALS, CHARS, DOCSTRINGS, HEREDOCS, LINE_START, NESTED, REGEX,
    SPACED, SYMBOLS, TARGETS,
};

pub(super) static SCRIPTS: &[Syntax] = &[
    Syntax {
        names: &["python", "ren'py", "gdscript"],
        quotes: &[THREE, THREE_SINGLE, DOUBLE, SINGLE],
        lines: HASH,
        blocks: &[],
        keywords: &[
            "and as assert async await break case class continue def del elif else except finally for from global if \
             import in is lambda match nonlocal not or pass raise return self cls try while with yield func var \
             extends signal export onready",
        ],
        constants: &["True False None NotImplemented Ellipsis true false null"],
        functions: &["def func"],
        types: &["class"],
        traits: ANNOTATIONS | CAPITALS | DOCSTRINGS,
        ..CODE
    },
    Syntax {
        names: &["ruby", "crystal"],
        blocks: &[("=begin", "=end")],
        keywords: &[
            "BEGIN END alias and begin break case class def defined do else elsif end ensure for if in include extend \
             module next not or private protected public raise redo require require_relative rescue retry return self \
             super then undef unless until when while yield attr_reader attr_writer attr_accessor abstract fun lib \
             macro struct enum",
        ],
        constants: &["true false nil"],
        functions: &["def macro fun"],
        types: &["class module struct enum"],
        traits: SPACED | REGEX | CAPITALS | SYMBOLS | HEREDOCS,
        ..SCRIPT
    },
    Syntax {
        names: &["perl", "raku"],
        blocks: &[
            ("=pod", "=cut"),
            ("=head", "=cut"),
            ("=over", "=cut"),
            ("=item", "=cut"),
            ("=encoding", "=cut"),
        ],
        keywords: &[
            "BEGIN END and bless class cmp continue default die do else elsif eq for foreach ge given gt has if is last \
             le local lt method multi my ne next no not only or our package print redo require return role say self \
             state sub unless until use when while xor defined delete exists keys push ref shift wantarray",
        ],
        constants: &["undef True False"],
        functions: &["sub method"],
        types: &["package class role"],
        traits: SPACED | REGEX,
        ..SCRIPT
    },
    Syntax {
        names: &["elixir"],
        quotes: &[THREE, THREE_SINGLE, DOUBLE, SINGLE],
        keywords: &[
            "after alias and case catch cond def defdelegate defexception defguard defimpl defmacro defmacrop defmodule \
             defp defprotocol defstruct do else end fn for if import in not or quote raise receive require rescue super \
             try unless unquote use when with",
        ],
        constants: &["true false nil"],
        functions: &["def defp defmacro defmacrop defdelegate defguard"],
        types: &["defmodule defprotocol defimpl"],
        traits: ANNOTATIONS | CAPITALS | SYMBOLS,
        ..SCRIPT
    },
    Syntax {
        names: &["nim"],
        quotes: &[THREE, DOUBLE],
        blocks: &[("#[", "]#")],
        keywords: &[
            "addr and as asm bind block break case cast concept const continue converter defer discard distinct div do \
             elif else end enum except export finally for from func if import in include interface is isnot iterator \
             let macro method mixin mod nil not notin object of or out proc ptr raise ref return shl shr static \
             template try tuple type using var when while xor yield bool int float string char",
        ],
        constants: &["true false nil"],
        functions: &["proc func method iterator template macro converter"],
        traits: CHARS | CAPITALS,
        ..SCRIPT
    },
    Syntax {
        names: &["julia"],
        quotes: &[THREE, DOUBLE],
        blocks: &[("#=", "=#")],
        keywords: &[
            "abstract baremodule begin break catch const continue do else elseif end export finally for function global \
             if import in isa let local macro module mutable primitive quote return struct try type using where while",
        ],
        constants: &["true false nothing missing NaN Inf"],
        functions: &["function macro"],
        types: &["struct module type"],
        traits: CHARS | ANNOTATIONS | CAPITALS | SYMBOLS | NESTED,
        ..SCRIPT
    },
    Syntax {
        names: &["r"],
        keywords: &["break else for function if in next repeat return while library require"],
        constants: &["TRUE FALSE NULL NA NaN Inf"],
        traits: 0,
        ..SCRIPT
    },
    Syntax {
        names: &["shell"],
        quotes: &[DOUBLE_LINES, SINGLE_LINES],
        keywords: &[
            "alias break case cd continue declare do done echo elif else esac eval exec exit export fi for function if \
             in local printf read readonly return select set shift source then trap typeset unset until while",
        ],
        constants: &["true false"],
        functions: &["function"],
        traits: SPACED | HEREDOCS,
        ..SCRIPT
    },
    Syntax {
        names: &["powershell"],
        blocks: &[("<#", "#>")],
        quotes: &[
            quote("@\"", "\"@", None, true),
            quote("@'", "'@", None, true),
            quote("\"", "\"", Doubled, false),
            quote("'", "'", Doubled, false),
        ],
        keywords: &[
            "begin break catch class continue data do dynamicparam else elseif end enum exit filter finally for foreach \
             from function if in param process return switch throw trap try until using var while workflow",
        ],
        functions: &["function filter"],
        types: &["class enum"],
        traits: ANY_CASE,
        ..SCRIPT
    },
    Syntax {
        names: &["batch file"],
        lines: &["rem ", "REM ", "@rem ", "::"],
        blocks: &[],
        quotes: &[quote("\"", "\"", None, false)],
        keywords: &[
            "call cd do echo else endlocal exit for goto if in not pause set setlocal shift start exist defined",
        ],
        constants: &[],
        traits: ANY_CASE | LINE_START,
        ..CODE
    },
    Syntax {
        names: &["tcl"],
        quotes: &[DOUBLE_LINES],
        keywords: &[
            "append break catch continue else elseif error eval expr for foreach global if incr lappend list namespace \
             package proc puts return set source switch then unset upvar variable while",
        ],
        constants: &[],
        functions: &["proc"],
        traits: SPACED,
        ..SCRIPT
    },
    Syntax {
        names: &["makefile"],
        keywords: &[
            "define else endef endif export ifdef ifeq ifndef ifneq include override private sinclude undefine unexport \
             vpath",
        ],
        quotes: &[],
        constants: &[],
        traits: SPACED | TARGETS,
        ..SCRIPT
    },
    Syntax {
        names: &["cmake"],
        blocks: &[("#[[", "]]")],
        quotes: &[DOUBLE_LINES],
        keywords: &[
            "if elseif else endif foreach endforeach while endwhile function endfunction macro endmacro return break \
             continue and or not strequal matches defined version_less version_greater exists",
        ],
        constants: &["on off true false"],
        traits: ANY_CASE,
        ..SCRIPT
    },
    Syntax {
        names: &["docker"],
        keywords: &[
            "from run cmd label maintainer expose env add copy entrypoint volume user workdir arg onbuild stopsignal \
             healthcheck shell as",
        ],
        traits: SPACED | ANY_CASE,
        ..SCRIPT
    },
    Syntax {
        names: &["hcl", "graphql", "nix"],
        lines: &["#", "//"],
        blocks: STARS,
        quotes: &[THREE, quote("''", "''", None, true), DOUBLE],
        keywords: &[
            "assert data directive else enum extend for fragment if implements import in inherit input interface let \
             locals module mutation on output provider query rec resource scalar schema subscription terraform then \
             type union variable with",
        ],
        constants: &["true false null"],
        types: &["type interface enum input union scalar"],
        traits: ANNOTATIONS,
        ..SCRIPT
    },
    Syntax {
        names: &["coffeescript"],
        blocks: &[("###", "###")],
        quotes: &[THREE, THREE_SINGLE, DOUBLE, SINGLE],
        keywords: &[
            "and break by case catch class continue debugger delete do else extends finally for if in instanceof is \
             isnt loop new not of or own return super switch then this throw try typeof unless until when while yield",
        ],
        constants: &["true false null undefined yes no on off"],
        types: &["class"],
        traits: REGEX | SPACED,
        ..SCRIPT
    },
];
