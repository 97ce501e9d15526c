#!/bin/sh
# Installs Twig for Linux on x86-64: install.sh [--prefix FOLDER]
# FOLDER is ~/.local by default. The archive and SHA256SUMS are taken from the folder of this script, or from TWIG_FROM:
# a folder, or an https address that has them. Nothing is installed if the checksum is not the one in SHA256SUMS.
set -eu

usage="usage: install.sh [--prefix FOLDER]"
fail() {
  echo "error: $*" >&2
  exit 1
}

prefix="${HOME:+$HOME/.local}"
while [ $# -gt 0 ]; do
  case $1 in
    --prefix)
      [ $# -ge 2 ] || fail "--prefix needs a folder; $usage"
      prefix=$2
      [ -n "$prefix" ] || fail "the folder of --prefix is empty; $usage"
      shift 2
      ;;
    --prefix=?*) prefix=${1#*=}; shift ;;
    -h | --help) echo "$usage"; exit ;;
    *) fail "unknown argument \`$1\`; $usage" ;;
  esac
done
[ -n "$prefix" ] || fail "HOME is not set; name a folder with --prefix"
case $prefix in
  /*) ;;
  *) prefix=$PWD/$prefix ;;
esac
case $(uname -s)-$(uname -m) in
  Linux-x86_64) ;;
  *) fail "this program is for Linux on x86-64, and this machine is $(uname -s) on $(uname -m); see docs/installing.md for other ways" ;;
esac

from=${TWIG_FROM:-$(dirname "$(readlink -f "$0")")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
get() {
  case $from in
    https://*)
      if command -v curl >/dev/null; then
        curl --proto '=https' --tlsv1.2 -fsSL -o "$work/$1" "$from/$1"
      else
        wget -q --https-only -O "$work/$1" "$from/$1"
      fi || fail "cannot get $1 from $from"
      ;;
    *://*) fail "TWIG_FROM is \`$from\`: it has to be a folder, or an address that begins with https://" ;;
    *)
      [ -f "$from/$1" ] || fail "there is no $1 in $from; run install.sh in the folder that has it, or name that folder with TWIG_FROM"
      cp "$from/$1" "$work/$1"
      ;;
  esac
}

get SHA256SUMS
line=$(grep -E '^[0-9a-f]{64}  twig-[0-9][^ /]*-x86_64-linux\.tar\.gz$' "$work/SHA256SUMS") || fail "SHA256SUMS of $from names no archive"
[ "$(echo "$line" | wc -l)" -eq 1 ] || fail "SHA256SUMS of $from names several archives"
archive=${line#*  }
get "$archive"
(cd "$work" && echo "$line" | sha256sum -c - >/dev/null 2>&1) || fail "$archive does not have the checksum in SHA256SUMS; nothing was installed"
new=$work/unpacked
mkdir "$new"
tar -xzf "$work/$archive" -C "$new" --strip-components=1 --no-same-owner

mkdir -p "$prefix/bin" 2>/dev/null && [ -w "$prefix/bin" ] || fail "cannot write to $prefix/bin; name another folder with --prefix"
# Each file takes the place of the old one and is not written into it: a running server keeps its program, and a symlink
# its target. `installed.txt` lists them, itself among them.
list=share/twig/installed.txt
[ ! -f "$prefix/$list" ] || cp "$prefix/$list" "$work/before"
while IFS= read -r file; do
  to=$prefix/$file
  [ ! -d "$to" ] || fail "$to is a folder; remove it, or name another folder with --prefix"
  mkdir -p "${to%/*}"
  cp -p "$new/$file" "$to.new"
  mv -f "$to.new" "$to"
done <"$new/$list"
# What only the version before had.
if [ -f "$work/before" ]; then
  grep -vxF -f "$new/$list" "$work/before" | while IFS= read -r file; do
    case $file in
      bin/* | share/*) rm -f "$prefix/$file" ;;
    esac
  done
fi

twig=$prefix/bin/twig
version=$("$twig" -V) || fail "$twig is installed, and does not run here"
echo "installed $version in $prefix"
found=$(command -v twig || true)
if [ -z "$found" ]; then
  echo "next: add $prefix/bin to PATH, then: twig demo"
elif [ "$found" -ef "$twig" ]; then
  echo "next: twig demo"
else
  echo "next: $found is another program; put $prefix/bin before its folder in PATH, then: twig demo"
fi
