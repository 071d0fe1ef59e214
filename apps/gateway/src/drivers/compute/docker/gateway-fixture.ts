/**
 * A stand-in for the gateway that a test may kill: opens the engine at the socket that is its first argument, for the
 * cloud that is its second, and a shell in the machine that is its third; writes the shell's process id, and stays.
 */
import { pino } from 'pino'
import { openLine } from '../port/console-line.ts'
import { createDockerEngine } from './docker-engine.ts'

const [socket_path = '', cloudId = '', id = ''] = process.argv.slice(2)
const place = { kind: 'unix', socket_path } as const
const engine = await createDockerEngine({ place, cloudId, egress: null, log: pino({ level: 'silent' }) })
const stream = await engine.console.attach(id, 'web', { cols: 80, rows: 24 })
const ignore = () => undefined
let shown = ''
let isTold = false
const line = openLine(stream, {
  onReplayBegin: ignore,
  onReplayEnd: ignore,
  onDrain: ignore,
  onEnd: ignore,
  onOutput: bytes => {
    shown += bytes.toString()
    line.ack(bytes.length)
    const [, number] = /shell-(\d+)\r\n/.exec(shown) ?? []
    if (number === undefined || isTold) return
    isTold = true
    process.stdout.write(`${number}\n`)
  },
})
line.type(Buffer.from('echo shell-$$\n'))
// Stays until it is killed.
setInterval(ignore, 1_000)
