#!/bin/sh
# Installs lighthouse on this machine: the package, a starter in bin/ and, unless
# there is one already, a sample configuration.
#
# usage: install.sh [--prefix DIR] [--config FILE] [--dry-run]

set -eu

prefix=/usr/local
config=/etc/lighthouse.toml
dry_run=no

say() {
    printf '%s\n' "$*"
}

die() {
    printf 'install.sh: error: %s\n' "$*" >&2
    exit 1
}

# Runs a command, or only shows it with --dry-run.
act() {
    if [ "$dry_run" = yes ]; then
        say "would run: $*"
    else
        "$@"
    fi
}

while [ $# -gt 0 ]; do
    case $1 in
        --prefix)
            [ $# -ge 2 ] || die "--prefix needs a folder"
            prefix=$2
            shift 2
            ;;
        --config)
            [ $# -ge 2 ] || die "--config needs a file name"
            config=$2
            shift 2
            ;;
        --dry-run)
            dry_run=yes
            shift
            ;;
        -h | --help)
            sed -n '2,5s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        *)
            die "unknown option: $1"
            ;;
    esac
done

here=$(cd "$(dirname "$0")/.." && pwd)
lib=$prefix/lib/lighthouse
starter=$prefix/bin/lighthouse

command -v python3 >/dev/null 2>&1 || die "python3 is not installed"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    die "python3 must be 3.11 or newer, this is $(python3 --version)"

say "copying the package to $lib"
act mkdir -p "$lib" "$prefix/bin"
for file in "$here"/lighthouse/*.py; do
    act install -D -m 644 "$file" "$lib/lighthouse/$(basename "$file")"
done

say "writing $starter"
if [ "$dry_run" = no ]; then
    cat >"$starter" <<STARTER
#!/bin/sh
PYTHONPATH='$lib' exec python3 -m lighthouse.cli "\$@"
STARTER
    chmod 755 "$starter"
fi

if [ -e "$config" ]; then
    say "keeping the configuration in $config"
else
    say "writing a sample configuration to $config"
    if [ "$dry_run" = no ]; then
        cat >"$config" <<'SAMPLE'
[lighthouse]
state = "/var/lib/lighthouse/state.json"

[[check]]
name = "root disk"
kind = "disk"
target = "/"
limit = 90
SAMPLE
    fi
fi

# TODO: offer a systemd timer where there is no cron.
say "done; add this line to a crontab:"
say "*/5 * * * * $starter -c $config run --quiet"
