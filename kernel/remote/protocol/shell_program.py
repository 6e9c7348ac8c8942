r"""Define the program of the remote shell: functions that our commands call, and their undo.

A command is a line `LINES TOKEN` and that many lines of shell text, which `eval` runs. The answer is the raw output
(any bytes), then `\nTOKEN STATUS ERROR-TEXT\nTOKEN\n`. The language is what dash, busybox sh and POSIX have in
common; a write goes through dd, because it passes all its data in one write(2) and names the error, which the printf
of dash does not. At the end of input or at a signal the guarded steps are undone, newest first, each step tried.
"""

from __future__ import annotations

PROGRAM = r"""
LC_ALL=C; export LC_ALL; PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
exec 3>&1 2>/dev/null
guards= watch=
t_end() {
  trap '' HUP INT TERM PIPE QUIT; trap - EXIT
  exec >/dev/null 2>&1 3>&1 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-
  [ -z "$watch" ] || kill "$watch"
  t_undo
  exit 0
}
t_undo() {
  for g in $guards; do
    eval "c=\$g_$g"
    t=0
    while [ -n "$c" ] && [ "$t" -lt 10 ]; do
      e=; eval "$c" && break
      case $e in *busy*) t=$((t+1)); sleep 0.1 || sleep 1;; *) break;; esac
    done
  done
  guards=
}
t_guard() { eval "g_$1=\$2"; guards="$1 $guards"; }
t_unguard() {
  k=
  for g in $guards; do [ "$g" = "$1" ] || k="$k$g "; done
  guards=$k
  unset "g_$1"
}
t_born() { read -r born <"/proc/$$/stat" && born=${born##*) } && set -- $born && shift 19 && born=$1; }
t_kill_below() {
  for d in /proc/[0-9]*; do
    read -r parent <"$d/stat" && parent=${parent##*) } && parent=${parent#* } || continue
    [ "${parent%% *}" != "$1" ] || { ( t_kill_below "${d#/proc/}" ); kill -9 "${d#/proc/}"; }
  done
}
t_watch() {
  [ -z "$watch" ] || kill "$watch"
  # The substitution ends when the watcher lets go of its output: then it has its trap, and no signal can be lost.
  watch=$( (
    # -9, for a fork of ours that is not sleep yet drops any other.
    trap 'kill -9 $!; exit 0' TERM; trap - EXIT HUP INT PIPE QUIT
    exec </dev/null >/dev/null 3>&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-
    t_born; was=$born; step=$(($1 / 12 + 1)); n=$(($1 / step))
    while [ "$n" -gt 0 ]; do
      sleep "$step" & wait $!
      t_born && [ "$born" = "$was" ] || exit 0
      n=$((n-1))
    done
    kill -TERM $$
    sleep 5 & wait $!  # it kills us, unless it waits for a process that writes into a stalled connection
    t_kill_below $$
  ) & echo $! )
}
t_has() {
  while IFS= read -r line; do [ "$line" != "$2" ] || return 0; done <"$1"
  return 1
}
t_there() { [ -e "$1" ] || { e='No such file or directory'; return 1; }; }
t_write() { t_there "$1" || return 1; e=$( { printf '%b' "$2" | dd ibs=4096 obs=65536 >"$1"; } 2>&1 3>&- ); }
t_append() { t_there "$1" || return 1; e=$( { printf '%b' "$2" | dd ibs=4096 obs=65536 >>"$1"; } 2>&1 3>&- ); }
t_empty() { t_there "$1" || return 1; e=$( { : >"$1"; } 2>&1 ); }
t_mkdir() { e=$(mkdir "$1" 2>&1); }
t_rmdir() { e=$(rmdir "$1" 2>&1); }
t_unlink() { e=$(rm "$1" 2>&1); }
t_alone() {  # it is ours, no link, and neither its group nor others may write to it
  [ -O "$1" ] && [ ! -h "$1" ] || return 1
  case $(ls -ld "$1") in ?????w*|????????w*|'') return 1 ;; esac
}
t_own() {  # a journal that someone else may have written, or a pipe, is none of ours
  case $1 in */probewright/undo/*|/run/probewright/*) ;; *) return 0 ;; esac
  [ -f "$1" ] && t_alone "$1" && t_alone "${1%/*}" || { e='Operation not permitted'; return 1; }
}
t_read() {
  t_own "$1" || return 1
  [ ! -d "$1" ] || { e='Is a directory'; return 1; }  # not every head says so
  e=$( { head -c "$2" <"$1" >&3; } 2>&1 )
}
t_read_at() { e=$( { dd if="$1" bs=4096 skip="$2" count="$3" >&3; } 2>&1 ); }
t_pack() { e=$( { gzip -1 -c <"$1" >&3; } 2>&1 ); }
t_list() {
  e=$(ls "$1/" 2>&1 >/dev/null) || return 1
  for f in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    if [ -e "$f" ] || [ -h "$f" ]; then printf '%s\000' "${f##*/}" >&3; fi
  done
}
t_links() {
  e=$(ls "$1/" 2>&1 >/dev/null) || return 1
  for f in "$1"/*; do [ ! -h "$f" ] || { readlink "$f" && printf '\000'; } >&3; done
  return 0
}
t_hold() {
  e=$( { : <"$2"; } 2>&1 ) || return 1
  eval "exec $1<\"\$2\""
}
t_loop() {
  while read -r n token; do
    c=
    while [ "$n" -gt 0 ]; do
      IFS= read -r l || t_end
      c="$c$l
"
      n=$((n-1))
    done
    e=
    eval "$c"
    s=$?
    printf '\n%s %d %s\n%s\n' "$token" "$s" "$e" "$token" >&3 || break
  done
  t_end
}
trap t_end HUP INT TERM PIPE QUIT EXIT
"""
"""Program sent to the shell at first; `t_loop` starts it."""

STREAM = r"""
exec 2>/dev/null
t_run() {
  trap '' PIPE
  exec 5<&0
  # No cat: busybox's does it by sendfile, and the kernel then waits for events with the pipe's lock held. Whoever
  # reads the other end, the ssh server that serves us, would be stuck in the kernel until the next event.
  dd bs=65536 if="$1/trace_pipe" 5<&- & c=$!
  { trap - HUP INT TERM; read -r x <&5; kill $c; } >/dev/null & r=$!
  trap 'kill $c $r; exit' HUP INT TERM
  printf '%s %s %s %s\n' "$2" $$ $c $r
  wait $c
  kill $r
  exit
}
"""
"""Program that reads one trace_pipe; `t_run INSTANCE TOKEN` starts it, any byte on standard input ends it."""
