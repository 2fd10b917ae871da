//! Languages with braces and comments as in C.

use super::{
    BACK, BRACES, C_WORDS, CODE, CPP_WORDS, DOUBLE, DOUBLE_LINES, OBJECTS, RAW_BACK, SINGLE,
    SLASHES, THREE, THREE_SINGLE, quote,
};
use crate::languages::Escape::{Backslash, Doubled, None};
use crate::languages::Syntax;
use crate::languages::trait_bits::{
    ANNOTATIONS, CAPITALS, CHARS, DIRECTIVES, MACROS, NESTED, REGEX, T_TYPES,
};

pub(super) static BRACED: &[Syntax] = &[
    Syntax {
        names: &["c", "glsl", "hlsl", "holyc", "openscad"],
        quotes: &[DOUBLE],
        keywords: &[BRACES, C_WORDS],
        constants: &["true false NULL nullptr"],
        types: &["struct union enum"],
        traits: CHARS | DIRECTIVES | T_TYPES,
        ..CODE
    },
    Syntax {
        names: &["c++", "arduino", "processing"],
        quotes: &[quote("R\"(", ")\"", None, true), DOUBLE],
        keywords: &[BRACES, C_WORDS, CPP_WORDS],
        constants: &["true false NULL nullptr"],
        types: &["struct union enum class namespace typename concept"],
        traits: CHARS | DIRECTIVES | T_TYPES,
        ..CODE
    },
    Syntax {
        names: &["objective-c"],
        quotes: &[DOUBLE],
        keywords: &[
            BRACES,
            C_WORDS,
            "id self super in instancetype nonatomic strong weak copy assign readonly",
        ],
        constants: &["true false NULL nil YES NO nullptr"],
        types: &["struct union enum"],
        traits: CHARS | DIRECTIVES | T_TYPES | ANNOTATIONS,
        ..CODE
    },
    Syntax {
        names: &["c#"],
        quotes: &[
            THREE,
            quote("$@\"", "\"", Doubled, true),
            quote("@\"", "\"", Doubled, true),
            DOUBLE,
        ],
        keywords: &[
            BRACES,
            OBJECTS,
            "as async await base bool byte checked const decimal delegate double event explicit extern fixed float \
             foreach get goto implicit in init int internal is lock long namespace object operator out params partial \
             readonly record ref required sbyte sealed set short sizeof stackalloc string struct uint ulong unchecked \
             unsafe ushort using value var virtual when where yield",
        ],
        types: &["class struct interface enum record namespace"],
        traits: CHARS | DIRECTIVES | CAPITALS,
        ..CODE
    },
    Syntax {
        names: &["java"],
        quotes: &[THREE, DOUBLE],
        keywords: &[
            BRACES,
            OBJECTS,
            "assert boolean byte char const double float goto int long native non-sealed permits record sealed short \
             strictfp synchronized transient var yield module requires exports",
        ],
        types: &["class interface enum record"],
        traits: CHARS | ANNOTATIONS | CAPITALS,
        ..CODE
    },
    Syntax {
        names: &["groovy"],
        quotes: &[THREE, THREE_SINGLE, DOUBLE, SINGLE],
        keywords: &[
            BRACES,
            OBJECTS,
            "as assert boolean byte char def double float in int long short trait var",
        ],
        types: &["class interface enum trait"],
        traits: ANNOTATIONS | CAPITALS,
        ..CODE
    },
    Syntax {
        names: &["kotlin"],
        quotes: &[quote("\"\"\"", "\"\"\"", None, true), DOUBLE],
        keywords: &[
            BRACES,
            "abstract actual annotation as by catch class companion const constructor crossinline data enum expect \
             external final finally fun get import in infix init inline inner interface internal is lateinit noinline \
             object open operator out override package private protected public reified sealed set super suspend \
             tailrec this throw try typealias val var vararg when where",
        ],
        functions: &["fun"],
        types: &["class interface object typealias"],
        traits: CHARS | ANNOTATIONS | CAPITALS | NESTED,
        ..CODE
    },
    Syntax {
        names: &["scala"],
        quotes: &[quote("\"\"\"", "\"\"\"", None, true), DOUBLE],
        keywords: &[
            BRACES,
            "abstract as catch class derives end enum export extends extension final finally forSome given implicit \
             import infix inline lazy match new object opaque open override package private protected sealed super \
             then this throw trait transparent try type using val var with yield",
        ],
        functions: &["def"],
        types: &["class trait object enum type"],
        traits: CHARS | ANNOTATIONS | CAPITALS | NESTED,
        ..CODE
    },
    Syntax {
        names: &["swift"],
        quotes: &[THREE, DOUBLE],
        keywords: &[
            BRACES,
            "actor any as associatedtype async await catch class defer deinit didSet dynamic enum extension fallthrough \
             fileprivate final func get guard import in indirect infix init inout internal is isolated lazy let mutating \
             nonisolated open operator optional override postfix precedencegroup prefix private protocol public repeat \
             required rethrows self Self set some static struct subscript super throw throws try typealias unowned var \
             weak where willSet",
        ],
        constants: &["true false nil"],
        functions: &["func"],
        types: &["class struct enum protocol extension actor typealias associatedtype"],
        traits: DIRECTIVES | ANNOTATIONS | CAPITALS | NESTED,
        ..CODE
    },
    Syntax {
        names: &["dart"],
        quotes: &[THREE, THREE_SINGLE, DOUBLE, SINGLE],
        keywords: &[
            BRACES,
            OBJECTS,
            "as assert async await base bool const covariant deferred double dynamic export extension external factory \
             get hide in int is late library mixin num on operator part required rethrow sealed set show sync typedef \
             var when with yield",
        ],
        types: &["class mixin enum extension typedef"],
        traits: ANNOTATIONS | CAPITALS,
        ..CODE
    },
    Syntax {
        names: &["go", "go.mod"],
        quotes: &[RAW_BACK, DOUBLE],
        keywords: &[
            BRACES,
            "chan const defer fallthrough func go goto import interface map package range select struct type var any \
             bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string \
             uint uint8 uint16 uint32 uint64 uintptr module require replace exclude retract toolchain",
        ],
        constants: &["true false nil iota"],
        functions: &["func"],
        types: &["type"],
        traits: CHARS,
        ..CODE
    },
    Syntax {
        names: &["rust"],
        quotes: &[
            quote("r##\"", "\"##", None, true),
            quote("r#\"", "\"#", None, true),
            quote("r\"", "\"", None, true),
            DOUBLE_LINES,
        ],
        keywords: &[
            BRACES,
            "as async await box const crate dyn enum extern fn impl in let loop match mod move mut pub ref self Self \
             static struct super trait type unsafe use where yield union macro_rules bool char f32 f64 i8 i16 i32 i64 \
             i128 isize str u8 u16 u32 u64 u128 usize",
        ],
        constants: &["true false"],
        functions: &["fn"],
        types: &["struct enum trait type union mod"],
        traits: CHARS | CAPITALS | MACROS | NESTED,
        ..CODE
    },
    Syntax {
        names: &["zig"],
        quotes: &[quote("\\\\", "\n", None, false), DOUBLE],
        blocks: &[],
        keywords: &[
            BRACES,
            "align allowzero and anyframe anytype asm async await catch comptime const defer enum errdefer error export \
             extern fn inline linksection noalias noinline nosuspend opaque or orelse packed pub resume struct suspend \
             test threadlocal try union unreachable usingnamespace var volatile bool void type anyerror noreturn u8 u16 \
             u32 u64 u128 usize i8 i16 i32 i64 i128 isize f16 f32 f64",
        ],
        constants: &["true false null undefined"],
        functions: &["fn"],
        traits: CHARS | ANNOTATIONS | CAPITALS,
        ..CODE
    },
    Syntax {
        names: &["d", "vala", "haxe", "odin", "jule", "moonbit", "gleam", "ats", "typespec", "qml"],
        quotes: &[THREE, RAW_BACK, DOUBLE],
        keywords: &[
            BRACES,
            OBJECTS,
            "alias as assert auto bool byte cast char const delegate double dynamic fn float foreach function get goto \
             import in int internal invariant is let long macro map match mixin module mut namespace out owned \
             property proc pub ref scope set shared short signal string struct template test throw type typedef \
             typeof uint ulong union unittest use using var virtual weak when where with yield",
        ],
        constants: &["true false null nil undefined"],
        functions: &["fn function proc"],
        types: &["class struct interface enum union type"],
        traits: CHARS | ANNOTATIONS | CAPITALS,
        ..CODE
    },
    Syntax {
        names: &["solidity"],
        keywords: &[
            BRACES,
            "abstract address anonymous as assembly bool bytes bytes32 calldata catch constant constructor contract \
             emit enum error event external fallback fixed from function immutable import indexed int int256 interface \
             internal is library mapping memory modifier new override payable pragma private public pure receive \
             returns storage string struct this throw try type uint uint8 uint256 unchecked using var view virtual",
        ],
        functions: &["function modifier event error"],
        types: &["contract interface library struct enum"],
        traits: CAPITALS,
        ..CODE
    },
    Syntax {
        names: &["protocol buffer"],
        keywords: &[
            "syntax edition package import option message enum service rpc returns stream oneof map repeated optional \
             required reserved extend extensions group to max double float int32 int64 uint32 uint64 sint32 sint64 \
             fixed32 fixed64 sfixed32 sfixed64 bool string bytes public weak",
        ],
        constants: &["true false inf nan"],
        functions: &["rpc"],
        types: &["message enum service extend"],
        ..CODE
    },
    Syntax {
        names: &["javascript", "typescript", "json with comments", "jsonnet"],
        quotes: &[BACK, DOUBLE, SINGLE],
        keywords: &[
            BRACES,
            "abstract any as asserts async await bigint boolean catch class const constructor debugger declare delete \
             enum export extends finally from function get global implements import in infer instanceof interface is \
             keyof let module namespace never new number object of override package private protected public readonly \
             require satisfies set static string super symbol this throw try type typeof unique unknown var void with \
             yield local assert",
        ],
        constants: &["true false null undefined NaN Infinity"],
        functions: &["function"],
        types: &["class interface enum namespace"],
        traits: REGEX | ANNOTATIONS | CAPITALS,
        ..CODE
    },
    Syntax {
        names: &["json", "jupyter notebook"],
        lines: SLASHES,
        quotes: &[DOUBLE],
        keywords: &[],
        ..CODE
    },
    Syntax {
        names: &["php"],
        lines: &["//", "#"],
        quotes: &[DOUBLE_LINES, quote("'", "'", Backslash, true)],
        keywords: &[
            BRACES,
            OBJECTS,
            "and array as bool callable clone const declare echo elseif empty endfor endforeach endif endswitch endwhile \
             exit float fn foreach function global goto include include_once insteadof int isset iterable list match \
             mixed namespace object or parent print readonly require require_once self string trait unset use var xor \
             yield",
        ],
        constants: &["true false null TRUE FALSE NULL"],
        functions: &["function fn"],
        types: &["class interface trait enum namespace"],
        traits: CAPITALS,
        ..CODE
    },
    Syntax {
        names: &["verilog", "systemverilog"],
        quotes: &[DOUBLE],
        keywords: &[
            "always always_comb always_ff always_latch and assign automatic begin bit byte case casex casez class const \
             constraint covergroup default disable do else end endcase endclass endfunction endgenerate endinterface \
             endmodule endpackage endproperty endtask enum extends extern final for forever fork function generate \
             genvar if import initial inout input int integer interface join localparam logic longint modport module \
             negedge new not or output package packed parameter posedge property rand real reg repeat return shortint \
             signed static string struct super task this time typedef union unique unsigned virtual void wait while \
             wire",
        ],
        constants: &["null"],
        types: &["module interface class package"],
        functions: &["task"],
        ..CODE
    },
];
