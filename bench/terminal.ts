// A key press and a flood through the web terminal, beside a bare pty behind a bare WebSocket.
import { once } from 'node:events'
import { startWebTerminal } from '@berth/contract/instances'
import {
  encodeClientFrame,
  TERMINAL_ACK_BYTES,
  TERMINAL_FRAME,
  TERMINAL_SUBPROTOCOL,
  TERMINAL_TICKET_PREFIX,
} from '@berth/contract/terminal'
import { WebSocket } from 'ws'
import { startChildServer } from './lib/child-server.ts'
import { median, printFigure, quantile } from './lib/figures.ts'
import { type GatewayProcess, startGatewayProcess } from './lib/gateway-process.ts'

const KEYS = 2_000
const KEYS_WARM = 200
/** Between two key presses, so that each finds a machine at rest, as a typist's does. */
const KEY_PAUSE_MS = 2
const FLOODS = 9
const FLOOD_BYTES = 50_000_000
const AIM_P50_MS = 1
const AIM_THROUGHPUT = 0.7

/** One end of a terminal, ours or bare. */
interface Terminal {
  type(text: string): void
  /** Calls back with each piece of output. One listener at a time. */
  listen(onOutput: (bytes: Buffer) => void): void
  close(): void
}

const gateway = await startGatewayProcess()
const bareServer = await startChildServer('bench/bare-terminal-server.ts', /ready on (\S+)/, {})
try {
  const id = await gateway.deploy()
  await gateway.until(id, 'running')
  const ours = await openOurs(gateway, id)
  const bare = await openBare(bareServer.ready[1] ?? '')
  await compareKeys(ours, bare)
  await compareFloods(ours, bare)
  ours.close()
  bare.close()
  await gateway.terminate(id)
} finally {
  await bareServer.stop()
  await gateway.stop()
}

async function compareKeys(ours: Terminal, bare: Terminal): Promise<void> {
  // The terminal itself echoes: what is measured is the way there and back, not a program.
  for (const terminal of [ours, bare])
    await run(terminal, 'stty -icanon; echo "rea""dy"; cat > /dev/null', 'ready')
  const oursMs: number[] = []
  const bareMs: number[] = []
  for (let key = -KEYS_WARM; key < KEYS; key++) {
    const one = await pressKey(ours)
    const other = await pressKey(bare)
    if (key < 0) continue
    oursMs.push(one)
    bareMs.push(other)
  }
  for (const terminal of [ours, bare]) terminal.type('\x03')
  const show = (values: number[]) =>
    `p50 ${quantile(values, 0.5).toFixed(3)} ms, p99 ${quantile(values, 0.99).toFixed(3)} ms`
  const p50 = median(oursMs) - median(bareMs)
  const p99 = quantile(oursMs, 0.99) - quantile(bareMs, 0.99)
  printFigure({
    what: 'key press and its echo',
    ours: show(oursMs),
    bare: show(bareMs),
    compared: `p50 +${p50.toFixed(3)} ms, p99 +${p99.toFixed(3)} ms, p50 ratio ${(median(oursMs) / median(bareMs)).toFixed(2)}`,
    aim: { says: `p50 within ${AIM_P50_MS} ms`, met: p50 <= AIM_P50_MS },
  })
}

async function pressKey(terminal: Terminal): Promise<number> {
  await new Promise(resolve => setTimeout(resolve, KEY_PAUSE_MS))
  const startedAt = performance.now()
  const echo = new Promise<void>(resolve => terminal.listen(() => resolve()))
  terminal.type('a')
  await echo
  return performance.now() - startedAt
}

async function compareFloods(ours: Terminal, bare: Terminal): Promise<void> {
  const file = '/tmp/berth-bench-flood'
  const line = 'the quick brown fox jumps over the lazy dog 0123456789 '.repeat(2).slice(0, 99)
  const make = `stty icanon; yes '${line}' | head -c ${FLOOD_BYTES} > ${file}; echo "ma""de"`
  for (const terminal of [ours, bare]) await run(terminal, make, 'made')
  const oursMb: number[] = []
  const bareMb: number[] = []
  // The first round of each warms it up and is not counted.
  for (let round = 0; round <= FLOODS; round++) {
    const one = await flood(ours, file)
    const other = await flood(bare, file)
    if (round === 0) continue
    oursMb.push(one)
    bareMb.push(other)
    console.log(`flood ${round}: ours ${one.toFixed(1)} MB/s, bare ${other.toFixed(1)} MB/s`)
  }
  for (const terminal of [ours, bare]) await run(terminal, `rm ${file}; echo "go""ne"`, 'gone')
  const ratio = median(oursMb) / median(bareMb)
  printFigure({
    what: 'output',
    ours: `${median(oursMb).toFixed(1)} MB/s`,
    bare: `${median(bareMb).toFixed(1)} MB/s`,
    compared: `ratio ${ratio.toFixed(2)}`,
    aim: { says: `at least ${AIM_THROUGHPUT}`, met: ratio >= AIM_THROUGHPUT },
  })
}

/** @returns MB of output a second, as they arrive. */
async function flood(terminal: Terminal, file: string): Promise<number> {
  const startedAt = performance.now()
  const bytes = await run(terminal, `cat ${file}; echo "en""ded"`, 'ended')
  if (bytes < FLOOD_BYTES) throw new Error(`only ${bytes} bytes of ${FLOOD_BYTES} came`)
  return bytes / 1e6 / ((performance.now() - startedAt) / 1_000)
}

/** Types a line and waits until the output holds the word. Gives the bytes of output. */
function run(terminal: Terminal, line: string, word: string): Promise<number> {
  return new Promise(resolve => {
    let bytes = 0
    let tail = ''
    terminal.listen(chunk => {
      bytes += chunk.length
      tail = (tail + chunk.subarray(-200).toString('latin1')).slice(-200)
      if (tail.includes(word)) resolve(bytes)
    })
    terminal.type(`${line}\r`)
  })
}

async function openOurs({ call, origin }: GatewayProcess, id: string): Promise<Terminal> {
  const { ticket, path } = await call(startWebTerminal, { body: { instance_id: id } })
  const socket = new WebSocket(
    origin.replace('http', 'ws') + path,
    [TERMINAL_SUBPROTOCOL, `${TERMINAL_TICKET_PREFIX}${ticket}`],
    { perMessageDeflate: false },
  )
  await once(socket, 'open')
  let onOutput: (bytes: Buffer) => void = () => undefined
  let unackedBytes = 0
  socket.on('message', data => {
    const message = data as Buffer
    if (message[0] !== TERMINAL_FRAME.output) return
    unackedBytes += message.length - 1
    if (unackedBytes >= TERMINAL_ACK_BYTES) {
      socket.send(encodeClientFrame({ kind: 'ack', bytes: unackedBytes }))
      unackedBytes = 0
    }
    onOutput(message.subarray(1))
  })
  socket.send(encodeClientFrame({ kind: 'resize', cols: 80, rows: 24 }))
  return {
    type: text => socket.send(encodeClientFrame({ kind: 'input', bytes: Buffer.from(text) })),
    listen: listener => {
      onOutput = listener
    },
    close: () => socket.close(),
  }
}

async function openBare(url: string): Promise<Terminal> {
  const socket = new WebSocket(url, { perMessageDeflate: false })
  await once(socket, 'open')
  let onOutput: (bytes: Buffer) => void = () => undefined
  socket.on('message', data => onOutput(data as Buffer))
  return {
    type: text => socket.send(Buffer.from(text)),
    listen: listener => {
      onOutput = listener
    },
    close: () => socket.close(),
  }
}
