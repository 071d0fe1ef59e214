/**
 * A stand-in for the gateway that tests may kill or run as another user: makes a driver on the folder that is
 * its first argument, creates and starts the machine that is its second, and writes one line for each step.
 * With a third argument, `--round`, it uses the machine in every way, removes it, and ends; with `--users` it looks at the
 * machine's users instead. A fourth argument is an
 * image of a registry, which it fetches and makes the machine of; a fifth one names a launcher.
 */
import { lstatSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import pino from 'pino'
import { smallMachine } from '../conformance/small-machine.ts'
import { openLine } from '../port/console-line.ts'
import { createSandboxEngine } from './sandbox-engine.ts'

const [dataDir = '', id = '', mode = '', reference = '', launcher] = process.argv.slice(2)
const say = (line: string) => process.stdout.write(`${line}\n`)
const never = new AbortController().signal
const image = { id: 'image', parts: { sandbox: reference === '' ? 'host' : { image: reference } } }
const spec = smallMachine(id, image)

// It is killed, and would leave nothing of what it compiled to the next one.
flushCompileCache()
const engine = await createSandboxEngine({
  dataDir,
  log: pino({ level: 'silent' }),
  ...(launcher === 'unshare' && { launcher }),
  ...(mode === '--users' && { outbound: { opened: [] } }),
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
} else if (mode === '--users') {
  const inside = async (line: string) => (await engine.console.exec(id, ['sh', '-c', line])).stdout.trim()
  say(`users ${engine.capabilities.own_users.enforced}`)
  say(`theirs ${await inside('id -u; stat -c "%u:%g %a" /srv/theirs')}`.replace('\n', ' '))
  const closed = 'umask 77; mkdir /srv/folder/a; touch /srv/folder/a/b; chown -R 1000:1000 /srv/folder/a'
  await inside(`touch /srv/mine; chown 5:6 /srv/mine; ${closed}; chmod 0 /srv/folder/a`)
  await engine.machines.stop(id, never)
  await engine.machines.start(id, never)
  await engine.machines.begin(id, never)
  say(`kept ${await inside('stat -c %u:%g /srv/mine /srv/folder/a')}`.replace('\n', ' '))
  say(`owner\n${lstatSync(join(dataDir, 'machines', id, 'home')).uid}`)
  await engine.machines.remove(id, never)
  say(`left ${JSON.stringify(await engine.machines.list())}`)
  await engine.shutdown()
} else {
  // Stays until it is killed.
  setInterval(() => undefined, 1000)
}
