#!/bin/sh
# Installs Twig for Linux on x86-64: install.sh [--prefix FOLDER]
# FOLDER is ~/.local by default. The archive and SHA256SUMS are taken from the folder of this script, or from TWIG_FROM:
# a folder, or an https address that has them. Nothing is installed if the checksum is not the one in SHA256SUMS.
set -eu

fail() {
  echo "error: $*" >&2
  exit 1
}

prefix="${HOME:-}/.local"
while [ $# -gt 0 ]; do
  case $1 in
    --prefix) [ $# -ge 2 ] || fail "--prefix needs a folder"; prefix=$2; shift 2 ;;
    *) fail "unknown argument \`$1\`; usage: install.sh [--prefix FOLDER]" ;;
  esac
done
[ "$prefix" != "/.local" ] || fail "HOME is not set; name a folder with --prefix"
case $(uname -s)-$(uname -m) in
  Linux-x86_64) ;;
  *) fail "this program is for Linux on x86-64, and this machine is $(uname -s) on $(uname -m); see docs/installing.md for other ways" ;;
esac

from=${TWIG_FROM:-$(dirname "$0")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
get() {
  case $from in
    https://*)
      if command -v curl >/dev/null; then
        curl --proto '=https' --tlsv1.2 -fsSL -o "$work/$1" "$from/$1"
      else
        wget -q --https-only -O "$work/$1" "$from/$1"
      fi
      ;;
    *) cp "$from/$1" "$work/$1" ;;
  esac || fail "cannot get $1 from $from"
}

get SHA256SUMS
line=$(grep -E '^[0-9a-f]{64}  twig-[0-9][^ /]*-x86_64-linux\.tar\.gz$' "$work/SHA256SUMS") || fail "SHA256SUMS of $from names no archive"
[ "$(echo "$line" | wc -l)" -eq 1 ] || fail "SHA256SUMS of $from names several archives"
archive=${line#*  }
get "$archive"
(cd "$work" && echo "$line" | sha256sum -c - >/dev/null 2>&1) || fail "$archive does not have the checksum in SHA256SUMS; nothing was installed"

mkdir -p "$work/unpacked" "$prefix/bin" "$prefix/share"
tar -xzf "$work/$archive" -C "$work/unpacked" --strip-components=1 --no-same-owner
# A running server keeps its program: the new one takes its place, and is not written into it.
cp "$work/unpacked/bin/twig" "$prefix/bin/.twig.new"
mv -f "$prefix/bin/.twig.new" "$prefix/bin/twig"
cp "$work/unpacked/bin/twig-mcp" "$prefix/bin/twig-mcp"
cp -R "$work/unpacked/share/." "$prefix/share/"

echo "installed $("$prefix/bin/twig" -V) in $prefix"
case :$PATH: in
  *:"$prefix/bin":*) echo "next: twig demo" ;;
  *) echo "next: add $prefix/bin to PATH, then: twig demo" ;;
esac
