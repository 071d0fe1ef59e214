import { COMMAND_PAUSES } from '../port/command-end.ts'
import type { MachineSpec } from '../port/machines.ts'
import { shellQuote } from '../sandbox/enter-script.ts'
import { isoImage } from './iso-image.ts'
import { REPORT_PORT } from './keeper/keeper-orders.ts'
import { mountScript } from './mount-script.ts'

/** The name by which cloud-init and its like find the disk. */
const LABEL = 'cidata'

/**
 * The disk that a guest is told by who it is, as cloud-init's source `NoCloud` reads it. What it is told is JSON, which
 * is YAML, and one script; names and values are quoted, so that nothing in them is more than a value.
 */
export function guestSeed(spec: MachineSpec): Buffer {
  const facts = {
    'instance-id': `berth-${spec.id}`,
    'local-hostname': spec.hostname,
    'public-keys': [...(spec.ssh_keys ?? []), ...(spec.ssh_access ? [spec.ssh_access.key] : [])],
  }
  return isoImage(LABEL, {
    'meta-data': `${asYaml(facts)}\n`,
    'user-data': bootScript(spec),
    ...(spec.ssh_access && { 'vendor-data': `#cloud-config\n${asYaml(sshSettings(spec.ssh_access))}\n` }),
  })
}

/**
 * What cloud-init is told of the machine's SSH server, which it does once in a machine's life: the server has the key that
 * the gateway knows it by, and the keys above let in as root, as the serial line does, beside the user that an image names.
 */
function sshSettings({ host_key }: NonNullable<MachineSpec['ssh_access']>) {
  return {
    disable_root: false,
    ssh_keys: { ed25519_private: host_key.private, ed25519_public: `${host_key.public}\n` },
  }
}

/** JSON is YAML but for signs that YAML takes from nobody as they are; what is not ASCII is escaped in both alike. */
function asYaml(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^ -~]/g,
    sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/**
 * Runs at each start of the guest, early: what else cloud-init does, it does once in a machine's life. So a machine
 * takes on another command and environment when it starts next. What takes longer is done behind it.
 */
function bootScript(spec: MachineSpec): string {
  const variables = Object.entries(spec.env).filter(([name]) => VARIABLE.test(name))
  const exports = variables.map(([name, value]) => `export ${name}=${shellQuote(value)}\n`).join('')
  return `#cloud-boothook
#!/bin/sh
environment=${shellQuote(exports)}
${REPORT}
${OPEN_CONSOLE}
${mountScript(spec.volumes ?? [])}
${PREPARED}
${spec.command ? commandScript(spec.command, spec.on_command_end === 'restart') : 'run() { prepared; }'}
run < /dev/null > "$console" 2>&1 &
`
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Says one line to the gateway. */
const REPORT = `
report() {
  for port in /sys/class/virtio-ports/*; do
    [ "$(cat "$port/name" 2>/dev/null)" = ${REPORT_PORT} ] && printf '%s\\n' "$1" > "/dev/\${port##*/}"
  done
}
console=/dev/console
[ -c /dev/ttyS0 ] && console=/dev/ttyS0`

/**
 * Whoever is let to the serial line is the machine's owner: there is a shell, which knows the environment. That is kept in
 * memory, so that it is in no image that is made of the machine.
 */
const OPEN_CONSOLE = `
if [ -d /etc/profile.d ]; then
  (umask 077; printf '%s' "$environment" > /run/berth-environment)
  echo '[ ! -r /run/berth-environment ] || . /run/berth-environment' > /etc/profile.d/berth.sh
fi
if [ -d /run/systemd/system ]; then
  getty=/run/systemd/system/serial-getty@ttyS0.service.d
  mkdir -p "$getty"
  printf '[Service]\\nExecStart=\\nExecStart=-/sbin/agetty --autologin root --noclear --keep-baud 115200,57600,38400,9600 - $TERM\\n' > "$getty/berth.conf"
  systemctl daemon-reload
fi`

/**
 * Waits until cloud-init is through, and tells where it failed: by what it says under the last of its headings that are for
 * that, where it has any.
 */
const PREPARED = `
prepared() {
  command -v cloud-init > /dev/null || return 0
  said=$(cloud-init status --wait --long 2>&1) || report "setup failed $(printf '%s' "$said" | tr '\\n\\t' '  ' |
    sed -e 's/ recoverable_errors:.*//' -e 's/^.* detail: *//' -e 's/^.* errors: *//' | cut -c 1-400)"
}`

function commandScript(argv: readonly string[], isRunAgain: boolean): string {
  const { first_s, most_s, settled_s } = COMMAND_PAUSES
  const once = `
${argv.map(shellQuote).join(' ')}
code=$?
count=$((count + 1))`
  const again = `
while :; do
  began=$(cut -d . -f 1 /proc/uptime)
  ${once}
  [ $(($(cut -d . -f 1 /proc/uptime) - began)) -ge ${settled_s} ] && pause=${first_s}
  report "end $code $count $pause"
  sleep "$pause"
  pause=$((pause * 2))
  [ "$pause" -gt ${most_s} ] && pause=${most_s}
done`
  return `
run() {
  prepared
  eval "$environment"
  cd /root 2>/dev/null || cd /
  count=0
  pause=${first_s}
  ${isRunAgain ? again : `${once}\nreport "end $code $count -"`}
}`
}
