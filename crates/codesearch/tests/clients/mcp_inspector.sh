#!/bin/sh
# MCP's inspector, which is made with its TypeScript SDK, as a client of `codesearch mcp`.
#
#     npm install @modelcontextprotocol/inspector
#     INSPECTOR="npx mcp-inspector" sh mcp_inspector.sh target/debug/codesearch --index NAME
#
# What follows the program are its options. The index must hold at least one file with a letter in it. Ends with 0 if all
# is as it should be.
set -eu

program=$1
shift
inspector=${INSPECTOR:-npx mcp-inspector}

ask() {
    # The inspector takes words: each becomes what the schema of the tool says.
    method=$1
    shift
    # shellcheck disable=SC2086
    $inspector --cli "$program" mcp $options --method "$method" "$@"
}

holds() {
    case $1 in
        *"$2"*) ;;
        *)
            printf 'no %s in: %s\n' "$2" "$1" >&2
            exit 1
            ;;
    esac
}

options=$*
holds "$(ask tools/list)" '"symbol"'
holds "$(ask tools/call --tool-name search --tool-arg 'query=[a-z]' --tool-arg limit=1)" 'matching line'
holds "$(ask tools/call --tool-name search --tool-arg 'query=[a-z]' --tool-arg limit=5 --tool-arg order=exhaustive)" 'matching line'
holds "$(ask tools/call --tool-name list_repos --tool-arg limit=1)" 'files'
holds "$(ask tools/call --tool-name find_file --tool-arg typed=a --tool-arg limit=2 --tool-arg offset=0)" 'file'
echo "MCP's inspector: all is as it should be"
