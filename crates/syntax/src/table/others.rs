//! All other languages, and texts that are not programs.

use super::{
    CODE, DOUBLE, DOUBLE_LINES, SCRIPT, SINGLE, SLASHES, SQL_STRING, STARS, THREE, THREE_SINGLE,
    XML, quote,
};
use crate::languages::Escape::{Doubled, None};
use crate::languages::trait_bits::{
    ANY_CASE, CAPITALS, CHARS, COMMANDS, DIRECTIVES, LINE_START, LISP, NESTED, PRIMES, SPACED,
    SYMBOLS,
};
use crate::languages::{Form, Syntax};

pub(super) static OTHERS: &[Syntax] = &[
    Syntax {
        names: &["yaml", "github workflow"],
        form: Form::Colons,
        keywords: &[],
        constants: &["true false null yes no on off"],
        ..SCRIPT
    },
    Syntax {
        names: &["toml", ".env", "python requirements file", "ignore list"],
        form: Form::Equations,
        quotes: &[THREE, THREE_SINGLE, DOUBLE, quote("'", "'", None, false)],
        keywords: &[],
        constants: &["true false inf nan"],
        ..SCRIPT
    },
    Syntax {
        names: &["ini"],
        form: Form::Equations,
        lines: &[";", "#"],
        quotes: &[DOUBLE],
        keywords: &[],
        constants: &["true false yes no on off"],
        traits: SPACED,
        ..SCRIPT
    },
    Syntax {
        names: &["haskell", "elm", "purescript", "idris", "agda"],
        lines: &["--"],
        blocks: &[("{-", "-}")],
        quotes: &[THREE, DOUBLE],
        keywords: &[
            "as case class data default deriving do else exposing family forall foreign hiding if import in infix infixl \
             infixr instance let mdo module newtype of open pattern port proc qualified rec record role then type where",
        ],
        constants: &[],
        types: &["data newtype class"],
        traits: CHARS | CAPITALS | NESTED | PRIMES,
        ..CODE
    },
    Syntax {
        names: &["lua"],
        lines: &["--"],
        blocks: &[("--[[", "]]"), ("--[=[", "]=]")],
        quotes: &[quote("[[", "]]", None, true), quote("[=[", "]=]", None, true), DOUBLE, SINGLE],
        keywords: &[
            "and break do else elseif end for function goto if in local not or repeat return self then until while",
        ],
        constants: &["true false nil"],
        functions: &["function"],
        ..CODE
    },
    Syntax {
        names: &["sql"],
        lines: &["--"],
        quotes: &[SQL_STRING, quote("\"", "\"", Doubled, false)],
        keywords: &[
            "add all alter analyze and any as asc begin between by cascade case cast check collate column commit \
             constraint create cross current database declare default deferrable delete desc distinct do drop else end \
             except execute exists explain fetch for foreign from full function grant group having if ilike in index \
             inner insert intersect into is join key language lateral left like limit loop materialized natural not \
             notnull of offset on only or order outer over partition perform primary procedure raise references replace \
             return returning returns revoke right rollback row rows schema select sequence set show similar table \
             temporary then to transaction trigger truncate union unique update using values view volatile when where \
             while window with bigint boolean bytea char character date decimal double float int integer interval json \
             jsonb numeric precision real serial smallint text time timestamp timestamptz uuid varchar",
        ],
        constants: &["true false null"],
        traits: ANY_CASE,
        ..CODE
    },
    Syntax {
        names: &["ada", "vhdl"],
        lines: &["--"],
        blocks: &[],
        quotes: &[quote("\"", "\"", Doubled, false)],
        keywords: &[
            "abort abs accept access after all and architecture array assert at attribute begin block body buffer bus \
             case component configuration constant declare delay delta digits do downto else elsif end entity entry \
             exception exit file for function generate generic goto if impure in inout is label library limited linkage \
             literal loop map mod new next not of on open or others out overriding package port pragma private \
             procedure process protected pure raise range record register rem renames report return reverse select \
             separate severity shared signal some subtype synchronized tagged task terminate then to type until use \
             variable wait when while with xor",
        ],
        constants: &["null true false"],
        functions: &["function procedure"],
        types: &["package type subtype entity architecture"],
        traits: ANY_CASE | CHARS,
        ..CODE
    },
    Syntax {
        names: &["clojure", "common lisp", "emacs lisp", "racket", "scheme"],
        lines: &[";"],
        blocks: &[("#|", "|#")],
        quotes: &[DOUBLE_LINES],
        keywords: &[
            "and begin case cond declare def defclass defcustom define define-record-type defconst defface defgeneric \
             defmacro defmethod defmulti defn defn- defparameter defprotocol defrecord defstruct deftype defun \
             defvar defsubst do dolist dotimes dynamic-wind else fn flet for if if-let labels lambda let let* letrec \
             loop not ns or progn prog1 provide quote recur require save-excursion set! setf setq unless unwind-protect \
             use-modules when when-let while with-current-buffer interactive",
        ],
        constants: &["nil t true false"],
        functions: &["defun defmacro defn defn- defmethod defmulti defsubst"],
        types: &["defclass defstruct defrecord defprotocol deftype ns"],
        traits: LISP | SYMBOLS,
        ..CODE
    },
    Syntax {
        names: &["llvm", "webassembly", "autohotkey"],
        lines: &[";"],
        blocks: STARS,
        quotes: &[DOUBLE],
        keywords: &[
            "align alloca attributes bitcast br call constant declare define external getelementptr global icmp internal \
             invoke label landingpad load metadata mul nounwind null phi private ptr ret select sext store sub switch \
             target to trunc type undef unnamed_addr unreachable zext i1 i8 i16 i32 i64 float double void module func \
             param result local import export memory data table elem if else return loop",
        ],
        ..CODE
    },
    Syntax {
        names: &["assembly"],
        lines: &["//", ";"],
        quotes: &[DOUBLE],
        keywords: &[],
        constants: &[],
        traits: DIRECTIVES,
        ..CODE
    },
    Syntax {
        names: &["erlang", "prolog", "oz"],
        lines: &["%"],
        blocks: &[],
        quotes: &[DOUBLE_LINES, SINGLE],
        keywords: &[
            "after and andalso band begin bnot bor bsl bsr bxor case catch cond div else end fun if is let maybe not of \
             or orelse query receive rem try when xor module export import include record define spec type behaviour",
        ],
        constants: &["true false undefined ok error"],
        traits: 0,
        ..CODE
    },
    Syntax {
        names: &["tex"],
        lines: &["%"],
        blocks: &[],
        quotes: &[],
        keywords: &[],
        constants: &[],
        traits: COMMANDS,
        ..CODE
    },
    Syntax {
        names: &["ocaml", "coq", "wolfram"],
        lines: &[],
        blocks: &[("(*", "*)")],
        quotes: &[quote("{|", "|}", None, true), DOUBLE_LINES],
        keywords: &[
            "and as assert begin class constraint do done downto else end exception external for fun function functor if \
             in include inherit initializer land lazy let lor lsl lsr lxor match method mod module mutable new nonrec \
             object of open or private rec sig struct then to try type val virtual when while with Definition Fixpoint \
             Inductive Lemma Proof Qed Theorem forall exists Require Import int bool string unit float char list \
             option array",
        ],
        constants: &["true false None"],
        types: &["module class"],
        traits: CHARS | CAPITALS | NESTED | PRIMES,
        ..CODE
    },
    Syntax {
        names: &["f#"],
        lines: SLASHES,
        blocks: &[("(*", "*)")],
        quotes: &[THREE, DOUBLE_LINES],
        keywords: &[
            "abstract and as assert async base begin class default delegate do done downcast downto elif else end \
             exception extern finally fixed for fun function global if in inherit inline interface internal lazy let \
             match member module mutable namespace new not of open or override private public rec return static struct \
             then to try type upcast use val void when while with yield int string bool float unit",
        ],
        constants: &["true false null None"],
        types: &["type module namespace"],
        traits: CHARS | CAPITALS | NESTED | PRIMES,
        ..CODE
    },
    Syntax {
        names: &["pascal"],
        blocks: &[("(*", "*)"), ("{", "}")],
        quotes: &[quote("'", "'", Doubled, false)],
        keywords: &[
            "and array as asm begin case class const constructor destructor div do downto else end except exit file \
             finally for function goto if implementation in inherited initialization interface is label mod nil not \
             object of on operator or out override packed private procedure program property protected public raise \
             record repeat set shl shr string then to try type unit until uses var virtual while with xor integer \
             boolean char real",
        ],
        constants: &["true false nil"],
        functions: &["function procedure constructor destructor"],
        types: &["unit program"],
        traits: ANY_CASE,
        ..CODE
    },
    Syntax {
        names: &["fortran modern", "fortran legacy"],
        lines: &["!"],
        blocks: &[],
        quotes: &[quote("\"", "\"", Doubled, false), quote("'", "'", Doubled, false)],
        keywords: &[
            "allocatable allocate assign associate block call case character class close common complex contains \
             continue cycle data deallocate dimension do double elemental else elseif end enddo endif entry \
             equivalence exit external format function go goto if implicit import in inout include integer intent \
             interface intrinsic kind logical module none only open optional out parameter pointer precision print \
             private procedure program public pure read real recursive result return save select sequence stop \
             subroutine target then to type use where while write",
        ],
        constants: &[],
        functions: &["function subroutine"],
        types: &["module program"],
        traits: ANY_CASE,
        ..CODE
    },
    Syntax {
        names: &["visual basic"],
        lines: &["'"],
        blocks: &[],
        quotes: &[quote("\"", "\"", Doubled, false)],
        keywords: &[
            "addhandler and as boolean byref byte byval call case catch class const date decimal declare default dim do \
             double each else elseif end enum event exit false finally for friend function get global handles if \
             implements imports in inherits integer interface is let lib like long loop me mod module mustinherit \
             mybase namespace new next not nothing object of on operator option optional or overridable overrides \
             partial private property protected public raiseevent redim return select set shared single static step \
             string structure sub then throw to try until using wend when while with withevents",
        ],
        constants: &["true false nothing"],
        functions: &["function sub"],
        types: &["class module structure interface enum namespace"],
        traits: ANY_CASE,
        ..CODE
    },
    Syntax {
        names: &["vim script"],
        lines: &["\""],
        blocks: &[],
        quotes: &[DOUBLE, quote("'", "'", Doubled, false)],
        keywords: &[
            "abort augroup autocmd break call catch command continue def echo echomsg else elseif end enddef endfor \
             endfunction endif endtry endwhile exe execute export finally finish for fun func function hi highlight if \
             import in let map nmap nnoremap noremap return runtime set setlocal silent source syn syntax throw try \
             unlet vim9script vmap vnoremap while au var const",
        ],
        constants: &[],
        functions: &["function func fun def"],
        traits: LINE_START,
        ..CODE
    },
    Syntax { names: &["xml", "svg", "xaml", "xsl"], ..XML },
    Syntax { names: &["html", "vue", "svelte", "astro", "coldfusion", "jinja-like"], ..XML },
    Syntax {
        names: &["css"],
        form: Form::Styles,
        lines: &[],
        keywords: &[],
        constants: &[],
        ..CODE
    },
    Syntax { names: &["sass"], form: Form::Styles, keywords: &[], constants: &[], ..CODE },
    Syntax {
        names: &["markdown", "org", "restructured text"],
        form: Form::Prose,
        lines: &[],
        blocks: &[("<!--", "-->")],
        quotes: &[],
        keywords: &[],
        constants: &[],
        ..CODE
    },
];
