import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { DISK_RATE_BYTES_PER_S, VERSION_1_LACKS } from '../disk-rate.ts'
import { diskRatesOf } from './disk-rates.ts'
import { ATTACKS, makeCalls } from './kernel-calls.ts'
import { eventually, never, type Subject, text } from './tools.ts'

/** What no machine may see, reach or take, with any engine. */
export function describeWalls(subject: Subject): void {
  subject.inside('[B1] a machine has its own name, users and processes', async () => {
    const engine = subject.engine()
    const marker = `54${randomBytes(3).readUIntBE(0, 3)}`
    const outside = spawn('sleep', [marker])
    try {
      const { id, hostname } = await subject.running()
      expect(await text(engine, id, 'hostname')).toBe(`${hostname}\n`)
      expect(await text(engine, id, 'id -u; echo $HOME; pwd')).toBe('0\n/root\n/root\n')
      const seen = await text(engine, id, 'cat /proc/[0-9]*/cmdline | tr "\\0" " "')
      expect(seen).toContain('cat /proc')
      expect(seen).not.toContain(marker)
      const count = Number(await text(engine, id, 'ls -d /proc/[0-9]* | wc -l'))
      expect(count).toBeLessThan(12)
    } finally {
      outside.kill()
    }
  })

  subject.inside(
    '[B1] a machine sees no file of the gateway, of its computer, or of another machine',
    async () => {
      const engine = subject.engine()
      const secret = `secret-${randomBytes(8).toString('hex')}`
      const folder = await mkdtemp(join(tmpdir(), 'berth-outside-'))
      try {
        await writeFile(join(folder, 'file'), secret, { mode: 0o644 })
        const [one, two] = await Promise.all([subject.running(), subject.running()])
        await text(engine, one.id, `echo ${secret} > /root/mine; echo ${secret} > /tmp/mine`)
        const look = `cat ${join(folder, 'file')} ${import.meta.filename} /root/mine /tmp/mine 2>/dev/null; ls ${tmpdir()}`
        expect(await text(engine, two.id, `${look}; true`)).toBe('')
        const found = await text(engine, two.id, `grep -rsl ${secret} /root /tmp /home /var /run /etc; true`)
        expect(found).toBe('')
      } finally {
        await rm(folder, { recursive: true })
      }
    },
  )

  subject.inside('[B1] a machine cannot change the programs that it shares with others', async () => {
    const engine = subject.engine()
    const one = await subject.running()
    const two = await subject.running()
    await engine.console.exec(one.id, [
      'sh',
      '-c',
      'echo changed > /usr/bin/berth-changed; echo changed > /etc/changed',
    ])
    const seen = await engine.console.exec(two.id, ['sh', '-c', 'cat /usr/bin/berth-changed /etc/changed'])
    expect(seen.stdout).toBe('')
  })

  subject.inside(
    '[B1] nothing that listens on the gateway’s loopback is reachable from a machine',
    async () => {
      const engine = subject.engine()
      const visits: Socket[] = []
      const server = createServer(socket => visits.push(socket)).listen(0, '127.0.0.1')
      try {
        await new Promise(resolve => server.once('listening', resolve))
        const address = server.address()
        const port = typeof address === 'object' && address ? address.port : 0
        const { id } = await subject.running()
        const tried = await engine.console.exec(id, ['bash', '-c', `echo > /dev/tcp/127.0.0.1/${port}`])
        expect(tried.exit_code).not.toBe(0)
        expect(visits).toEqual([])
      } finally {
        server.close()
      }
    },
  )

  subject.inside('the gateway’s environment stays outside, and the machine’s own is there', async () => {
    const engine = subject.engine()
    process.env.BERTH_CONFORMANCE_CANARY = 'outside'
    const { id } = await subject.running({ env: { GIVEN: 'with spaces and "quotes"', EMPTY: '' } })
    const environment = await text(engine, id, 'cat /proc/[0-9]*/environ | tr "\\0" "\\n"; env')
    delete process.env.BERTH_CONFORMANCE_CANARY
    expect(environment).not.toContain('CANARY')
    expect(environment).not.toContain('npm_')
    expect(environment).toContain('GIVEN=with spaces and "quotes"\n')
    expect(environment).toContain('EMPTY=\n')
  })

  subject.inside('a machine has no rights over its kernel and cannot get any', async () => {
    const engine = subject.engine()
    const { id } = await subject.running()
    const status = await text(engine, id, 'cat /proc/self/status')
    expect(status).toMatch(/^NoNewPrivs:\s*1$/m)
    const dangerous = 1n << 21n // CAP_SYS_ADMIN
    const effective = BigInt(`0x${/^CapEff:\s*(\S+)/m.exec(status)?.[1]}`)
    expect(effective & dangerous).toBe(0n)
    const change = 'mount -t tmpfs x /mnt || echo 1 > /proc/sys/kernel/panic || hostname other'
    expect((await engine.console.exec(id, ['sh', '-c', change])).exit_code).not.toBe(0)
  })

  subject.inside('a machine makes no call that attacks on the kernel begin with', async () => {
    const { id } = await subject.running()
    const answers = await makeCalls(subject.engine(), id, ATTACKS)
    expect(Object.entries(answers).filter(([, answer]) => answer === 'done')).toEqual([])
    expect(answers['a new user namespace']).toBe('EPERM')
    expect(answers['a mount']).toBe('EPERM')
  })

  subject.inside(
    'a machine stores no more bytes and no more files than its disk has, and goes on',
    async ctx => {
      const engine = subject.engine()
      const limit = engine.capabilities.disk_limit
      if (!limit.enforced) return ctx.skip(`the disk is not limited here: ${limit.why}`)
      const { id } = await subject.running({ disk_gb: 1 })
      const hog = await engine.console.exec(id, ['fallocate', '-l', '1100M', '/root/hog'])
      expect(hog.stderr).toMatch(/No space left|quota exceeded/)
      await text(engine, id, 'rm -f ~/hog && fallocate -l 500M ~/fits && echo kept > ~/file')
      // A file system of its own has a number of files that does not depend on its computer's.
      // Docker’s storage bounds bytes alone.
      if (engine.driver !== 'docker')
        expect(Number(await text(engine, id, 'stat -f -c %c ~'))).toBeLessThan(200_000)
      // Taken up again after an end without any order, with all that it holds.
      await engine.console.exec(id, ['sh', '-c', 'sync; kill -9 -1']).catch(() => undefined)
      await eventually(async () => expect((await engine.observation.status(id)).state).toBe('stopped'))
      await engine.machines.start(id, never)
      expect(await text(engine, id, 'cat ~/file; stat -c %s ~/fits; stat -c %u ~ ~/file')).toBe(
        `kept\n${500 * 1024 * 1024}\n0\n0\n`,
      )
    },
  )

  subject.inside('reading and writing the disk has a rate, and the machine works within it', async ctx => {
    const engine = subject.engine()
    const limit = engine.capabilities.disk_rate_limit
    const { id } = await subject.running()
    await text(
      engine,
      id,
      'dd if=/dev/zero of="$HOME/written" bs=1M count=8 conv=fsync && cat ~/written > /dev/null',
    )
    const named = `${4_000 + Math.random()}`
    const sleeping = engine.console.exec(id, ['sleep', named]).catch(() => undefined)
    const rates = await eventually(() => diskRatesOf(named))
    await engine.machines.stop(id, never, { at_once: true })
    await sleeping
    // What does not hold everything is set all the same.
    const isSet = limit.enforced || limit.why === VERSION_1_LACKS
    if (!isSet) return ctx.skip(`the disk’s rate is not limited: ${limit.why}`)
    expect(rates).toEqual([DISK_RATE_BYTES_PER_S, DISK_RATE_BYTES_PER_S])
  })

  subject.inside('the memory limit ends what is too big, and the machine goes on', async ctx => {
    const engine = subject.engine()
    const limit = engine.capabilities.memory_limit
    if (!limit.enforced) return ctx.skip(`memory is not limited here: ${limit.why}`)
    const { id } = await subject.running({ memory_mb: 128 })
    const hog = await engine.console.exec(id, ['perl', '-e', '$x = "a" x (400 << 20); print "grew"'])
    expect(hog.stdout).toBe('')
    expect(hog.exit_code).not.toBe(0)
    expect(await text(engine, id, 'echo up')).toBe('up\n')
    expect((await engine.observation.sample(id)).memory_limit_mb).toBe(128)
  })
}
