import type { StartedProgram } from '../../../drivers/compute/port/started-program.ts'
import type { DoctorLimits } from './doctor-limits.ts'

/** A place in a machine at which a program takes connections, or datagrams. */
export interface Listener {
  protocol: 'tcp' | 'udp'
  address: string
  port: number
}

/**
 * Has a shell read the kernel's own lists of sockets, with what every shell has in itself: an image need not have a
 * program for it.
 */
export const LISTENERS_SCRIPT = `l() { for f in "$1" "\${1}6"; do [ -r $f ] && while read -r n a r s x; do [ "$s" = "$2" ] && echo "$3$a"; done < $f; done; }; l /proc/net/tcp 0A; l /proc/net/udp 07 u; exit 0`

const IPV4_DIGITS = 8
const IPV6_PARTS = 8
/** `::ffff:` as the kernel writes it, before an address of IPv4. */
const MAPPED = '0000000000000000FFFF0000'

/**
 * Asks a machine's shell what listens in it. What the machine says is its customer's word; what is no place is left out.
 * @param program Runs `LISTENERS_SCRIPT`.
 * @returns No more than the bytes allowed hold, each place once.
 */
export async function readListeners(
  program: StartedProgram,
  limits: Pick<DoctorLimits, 'listenersBytesMax'>,
  signal: AbortSignal,
): Promise<Listener[]> {
  if (signal.aborted) {
    program.drop()
    return []
  }
  const pieces: Buffer[] = []
  let bytes = 0
  await new Promise<void>(resolve => {
    const line = program.open({
      onOutput(piece) {
        pieces.push(piece)
        bytes += piece.length
        if (bytes > limits.listenersBytesMax) leave()
      },
      onErrors(piece) {
        bytes += piece.length
        if (bytes > limits.listenersBytesMax) leave()
      },
      onEnd: () => resolve(),
    })
    const leave = () => {
      line.close()
      resolve()
    }
    signal.addEventListener('abort', leave, { once: true })
  })
  return parseListeners(Buffer.concat(pieces).subarray(0, limits.listenersBytesMax).toString('latin1'))
}

/** Reads places as the kernel writes them, one a line, such as `0100007F:1F90`, and those of datagrams with a `u` before. */
export function parseListeners(text: string): Listener[] {
  const found = new Map<string, Listener>()
  for (const line of text.split('\n')) {
    const [, kind, hex = '', port = ''] =
      /^(u?)([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})$/.exec(line.trim()) ?? []
    if (hex === '') continue
    const protocol = kind === 'u' ? ('udp' as const) : ('tcp' as const)
    const listener = { protocol, address: addressOf(hex), port: Number.parseInt(port, 16) }
    if (listener.port > 0) found.set(`${protocol} ${listener.address} ${listener.port}`, listener)
  }
  return [...found.values()]
}

/** Each 32 bits stand in the order of the processor, whose first byte is the last one. */
function addressOf(hex: string): string {
  if (hex.length === IPV4_DIGITS) return dotted(hex)
  if (hex.startsWith(MAPPED)) return dotted(hex.slice(MAPPED.length))
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap(word => (word.match(/../g) ?? []).toReversed()).join('')
  const parts = Array.from({ length: IPV6_PARTS }, (_, index) =>
    Number.parseInt(bytes.slice(4 * index, 4 * index + 4), 16).toString(16),
  )
  // The first row of zeros is enough to be short: nobody compares these.
  return parts.join(':').replace(/(^|:)0(:0)+(:|$)/, '::')
}

function dotted(hex: string): string {
  return (hex.match(/../g) ?? [])
    .toReversed()
    .map(byte => Number.parseInt(byte, 16))
    .join('.')
}
