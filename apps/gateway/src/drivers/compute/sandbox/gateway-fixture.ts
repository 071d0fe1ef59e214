/**
 * A stand-in for the gateway that tests may kill or run as another user: makes a driver on the folder that is
 * its first argument, creates and starts the machine that is its second, and writes one line for each step.
 * With a third argument, `--round`, it uses the machine in every way, removes it, and ends. A fourth argument is an
 * image of a registry, which it fetches and makes the machine of; a fifth one names a launcher.
 */
import pino from 'pino'
import { smallMachine } from '../conformance/small-machine.ts'
import { openLine } from '../port/console-line.ts'
import { createSandboxEngine } from './sandbox-engine.ts'

const [dataDir = '', id = '', mode = '', reference = '', launcher] = process.argv.slice(2)
const say = (line: string) => process.stdout.write(`${line}\n`)
const never = new AbortController().signal
const image = { id: 'image', parts: { sandbox: reference === '' ? 'host' : { image: reference } } }
const spec = smallMachine(id, image)

const engine = await createSandboxEngine({
  dataDir,
  log: pino({ level: 'silent' }),
  ...(launcher === 'unshare' && { launcher }),
})
say('made')
if (reference !== '') {
  await engine.images.pull(image, () => undefined, never)
  say('pulled')
}
await engine.machines.create(spec, never)
say('created')
await engine.machines.start(id, never)
say('running')
if (mode === '--round') {
  say(`limits ${JSON.stringify(engine.capabilities.memory_limit)}`)
  say(
    `user ${(await engine.console.exec(id, ['sh', '-c', 'id -u; touch ~/mine && stat -c %u ~/mine'])).stdout}`,
  )
  const stream = await engine.console.attach(id, 'web', { cols: 80, rows: 24 })
  const ended = new Promise<number | null>(resolve => {
    const ignore = () => undefined
    const line = openLine(stream, {
      onReplayBegin: ignore,
      onReplayEnd: ignore,
      onDrain: ignore,
      onOutput: ignore,
      onEnd: ({ code }) => resolve(code),
    })
    line.type(Buffer.from('exit 4\n'))
  })
  say(`shell ${await ended}`)
  const stats = await engine.observation.sample(id)
  say(`memory ${stats.memory_used_mb !== null && stats.memory_used_mb > 1}`)
  await engine.machines.stop(id, never)
  say(`state ${(await engine.observation.status(id)).state}`)
  await engine.machines.remove(id, never)
  say(`left ${JSON.stringify(await engine.machines.list())}`)
} else {
  // Stays until it is killed.
  setInterval(() => undefined, 1000)
}
