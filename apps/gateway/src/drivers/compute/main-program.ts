import { COMMAND_PAUSES } from './port/command-end.ts'
import type { CommandEndRule } from './port/machines.ts'

const { first_s, most_s, settled_s } = COMMAND_PAUSES

/** Where the main program says how the command ended. */
export const REPORT_PATH = '/tmp/.berth-command-end'

/**
 * The main program of a machine that is a container. It runs the command in the background and then idles, so that the machine
 * lives on when the command ends, as a computer would; unless `$1` says that it is to be run again, or that the machine
 * ends with it. Asked to stop, it asks every process and waits for the command. What the driver puts before it is the first
 * process, and reaps. It needs no more of its image than a shell and `sleep`: without `date` each pause is longer than the one
 * before, and where nothing can be written nobody hears how the command ended.
 */
export const MAIN_SCRIPT = `
stop() { trap '' TERM INT; kill -TERM -1 2>/dev/null; wait; exit 0; }
trap stop TERM INT
idle() { while :; do sleep 86400 & wait $!; done; }
now() { date +%s 2>/dev/null || echo 0; }
report() { (echo "$*" > ${REPORT_PATH}) 2>/dev/null; }
rule=$1; shift
report
[ $# -gt 0 ] || idle
count=0 pause=${first_s}
while :; do
  began=$(now)
  "$@" < /dev/null &
  wait $!
  code=$?
  [ $rule != unnoticed ] || idle
  count=$((count + 1))
  if [ $rule != restart ]; then
    echo "berth: the start command ended with code $code"
    report $code $count -
    [ $rule != stop ] || exit $code
    idle
  fi
  [ $(($(now) - began)) -lt ${settled_s} ] || pause=${first_s}
  echo "berth: the start command ended with code $code; it is run again in $pause s"
  report $code $count $pause
  sleep $pause & wait $!
  pause=$((pause * 2)); [ $pause -le ${most_s} ] || pause=${most_s}
done
`

/** What the main program is told of an image's own command, whose end is nothing to tell. */
export const UNNOTICED = 'unnoticed'

export const SHELL_WORDS = ['/bin/sh', '-c', MAIN_SCRIPT, 'berth']

/**
 * By which rule a container goes when its machine's command ends; null for an image's own command, and for a container
 * of an earlier version, which does not say how its command ended.
 * @param entrypoint As the engine tells it.
 */
export function ruleOf(entrypoint: string | string[] | undefined | null): CommandEndRule | null {
  const rule = Array.isArray(entrypoint) ? entrypoint[SHELL_WORDS.length] : null
  return rule === 'keep' || rule === 'restart' || rule === 'stop' ? rule : null
}
