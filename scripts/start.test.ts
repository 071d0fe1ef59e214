import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { pinnedNode, root } from './lib/paths.mjs'

// A clone in miniature: the real scripts, beside stand-ins for what they call: npm, Vite, Rolldown and the gateway.
let clone: string
const started: ChildProcess[] = []

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'berth-start-'))
  cpSync(join(root, 'scripts'), join(clone, 'scripts'), { recursive: true })
  write('package.json', '{ "type": "module" }')
  write('package-lock.json', '{ "packages": {} }')
  write('npm-stand-in.mjs', NPM)
  write('vite-stand-in.mjs', VITE)
  write('rolldown-stand-in.mjs', ROLLDOWN)
  write('apps/gateway/src/main.ts', GATEWAY)
  write('apps/console/index.html', '<!doctype html>')
})

afterEach(() => {
  for (const child of started.splice(0)) signalGroup(child, 'SIGKILL')
  rmSync(clone, { recursive: true, force: true })
})

describe('preparing', () => {
  test('the first start installs, builds and runs the gateway; the second only runs it', async () => {
    const first = await run({ GATEWAY_EXIT: '0' })
    expect(first.output).toMatch(/Installing packages \(first run only, about a minute\) … done in \d+ s/)
    expect(first.output).toMatch(/Building the console … done in \d+ s/)
    expect(first.output).toMatch(/Building the gateway … done in \d+ s/)
    expect(first.output).toContain('gateway runs')
    expect(first.code).toBe(0)

    const second = await run({ GATEWAY_EXIT: '0' })
    expect(second.output).toBe('gateway runs\n')
    expect(calls('npm')).toHaveLength(1)
    expect(calls('vite')).toHaveLength(1)
    expect(calls('rolldown')).toHaveLength(1)
  })

  test('a changed lockfile installs and builds again, a changed source only builds', async () => {
    await run({ GATEWAY_EXIT: '0' })
    write('packages/contract/src/money.ts', 'export const cents = 100\n')
    await run({ GATEWAY_EXIT: '0' })
    expect([calls('npm').length, calls('vite').length, calls('rolldown').length]).toEqual([1, 2, 2])

    write('apps/gateway/src/other.ts', 'export const other = 1\n')
    await run({ GATEWAY_EXIT: '0' })
    expect([calls('npm').length, calls('vite').length, calls('rolldown').length]).toEqual([1, 2, 3])

    write('package-lock.json', '{ "packages": { "node_modules/absent": { "version": "1.0.0" } } }')
    await run({ GATEWAY_EXIT: '0' })
    expect([calls('npm').length, calls('vite').length, calls('rolldown').length]).toEqual([2, 3, 4])
  })

  test('packages that somebody installed by hand from the same lockfile are taken as they are', async () => {
    const lockfile = '{ "packages": { "node_modules/vite": { "version": "1.0.0" } } }'
    execFileSync(process.execPath, ['npm-stand-in.mjs', 'by-hand'], {
      cwd: clone,
      env: { PINNED_NODE: pinnedNode },
    })
    write('package-lock.json', lockfile)
    write('node_modules/.package-lock.json', lockfile)
    await run({ GATEWAY_EXIT: '0' })
    expect(calls('npm')).toEqual(['by-hand'])

    write('package-lock.json', lockfile.replace('1.0.0', '1.0.1'))
    await run({ GATEWAY_EXIT: '0' })
    expect(calls('npm')).toHaveLength(2)
  })

  test('development packages and install scripts are asked for, whatever the environment says', async () => {
    await run({ GATEWAY_EXIT: '0', NODE_ENV: 'production', npm_config_ignore_scripts: 'true' })
    expect(calls('npm')[0]).toContain('--include=dev')
    expect(calls('npm')[0]).toContain('--ignore-scripts=false')
  })

  test('an install that fails shows what npm said, starts nothing, and is tried again', async () => {
    const failed = await run({ NPM_FAILS: 'registry is out to lunch' })
    expect(failed.output).toContain('registry is out to lunch')
    expect(failed.output).not.toContain('gateway runs')
    expect(failed.code).toBe(1)

    expect((await run({ GATEWAY_EXIT: '0' })).output).toContain('gateway runs')
  })

  test('two starts at once install once', async () => {
    const both = await Promise.all([
      run({ GATEWAY_EXIT: '0', NPM_MS: '1000' }),
      run({ GATEWAY_EXIT: '0', NPM_MS: '1000' }),
    ])
    for (const { output, code } of both) expect([output.includes('gateway runs'), code]).toEqual([true, 0])
    expect(calls('npm')).toHaveLength(1)
    expect(calls('vite')).toHaveLength(1)
    expect(both.map(({ output }) => output).join('')).toMatch(/Process \d+ is installing or building/)
  })

  test('a lock that a killed start left behind is taken over', async () => {
    const dead = spawn(process.execPath, ['-e', ''])
    await new Promise(resolve => dead.once('exit', resolve))
    write('.berth-prepare.lock', `${dead.pid} 1`)
    expect((await run({ GATEWAY_EXIT: '0' })).output).toContain('gateway runs')
    expect(existsSync(join(clone, '.berth-prepare.lock'))).toBe(false)
  })
})

describe('running', () => {
  test('the exit code is the gateway’s', async () => {
    expect((await run({ GATEWAY_EXIT: '2' })).code).toBe(2)
  })

  test('.env sets what the environment does not', async () => {
    write('.env', 'FROM_FILE=file\nFROM_BOTH=file\n')
    const { output } = await run({
      GATEWAY_EXIT: '0',
      GATEWAY_SHOWS: 'FROM_FILE,FROM_BOTH',
      FROM_BOTH: 'shell',
    })
    expect(output).toContain('FROM_FILE=file')
    expect(output).toContain('FROM_BOTH=shell')
  })

  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s to the whole process group, twice, tells the gateway once, and start waits for it',
    async signal => {
      const child = launch({})
      const output = collect(child)
      await until(() => output().includes('gateway runs'))
      signalGroup(child, signal)
      signalGroup(child, signal)
      expect(await exit(child)).toBe(0)
      expect(output().match(/told SIG\w+/g)).toEqual([`told ${signal}`])
      expect(output()).toContain('gateway ends')
    },
  )

  test('a start that is killed outright takes the gateway with it', async () => {
    const child = launch({})
    const output = collect(child)
    await until(() => /pid \d+/.test(output()))
    const pid = Number(/pid (\d+)/.exec(output())?.[1])
    child.kill('SIGKILL')
    await until(() => !isAlive(pid))
  })

  test('an npm that is killed takes the gateway with it: it passes no signal on', async () => {
    const npm = `import { spawn } from 'node:child_process'
      spawn(process.execPath, ['scripts/start.mjs'], { stdio: 'inherit' })`
    const child = launch({ npm_lifecycle_event: 'start' }, ['--input-type=module', '--eval', npm])
    const output = collect(child)
    await until(() => /pid \d+/.test(output()))
    child.kill('SIGKILL')
    await until(() => output().includes('gateway ends'))
    expect(output()).toContain('told SIGTERM')
  })
})

const NPM = `
import { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
appendFileSync('npm.log', process.argv.slice(2).join(' ') + '\\n')
rmSync('node_modules', { recursive: true, force: true })
await new Promise(resolve => setTimeout(resolve, Number(process.env.NPM_MS ?? 0)))
if (process.env.NPM_FAILS) {
  console.error(process.env.NPM_FAILS)
  process.exit(1)
}
for (const folder of ['.bin', 'vite', 'node/bin']) mkdirSync('node_modules/' + folder, { recursive: true })
symlinkSync(process.env.PINNED_NODE, 'node_modules/node/bin/node')
for (const tool of ['vite', 'rolldown']) symlinkSync('../../' + tool + '-stand-in.mjs', 'node_modules/.bin/' + tool)
`

const VITE = `
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
appendFileSync('../../vite.log', process.argv.slice(2).join(' ') + '\\n')
mkdirSync('dist', { recursive: true })
writeFileSync('dist/index.html', '')
`

const ROLLDOWN = `
import { appendFileSync, cpSync } from 'node:fs'
appendFileSync('../../rolldown.log', process.argv.slice(2).join(' ') + '\\n')
cpSync('src/main.ts', 'dist/main.mjs')
`

const GATEWAY = `
// Before a word is said: whoever reads it may send a signal at once.
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    console.log('told ' + signal)
    // Long enough for a second telling to arrive, if there were one.
    setTimeout(() => { console.log('gateway ends'); process.exit(0) }, 400)
  })
}
console.log('gateway runs')
for (const name of (process.env.GATEWAY_SHOWS ?? '').split(',').filter(Boolean)) {
  console.log(name + '=' + process.env[name])
}
if (process.env.GATEWAY_EXIT) process.exit(Number(process.env.GATEWAY_EXIT))
console.log('pid ' + process.pid)
setInterval(() => {}, 1000)
`

function launch(env: Record<string, string>, args: readonly string[] = ['scripts/start.mjs']): ChildProcess {
  const npm = { npm_execpath: join(clone, 'npm-stand-in.mjs'), PINNED_NODE: pinnedNode }
  const child = spawn(process.execPath, args, {
    cwd: clone,
    env: { ...process.env, ...npm, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  started.push(child)
  return child
}

async function run(env: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const child = launch(env)
  const output = collect(child)
  const code = await exit(child)
  return { code, output: output() }
}

function collect(child: ChildProcess): () => string {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  return () => output
}

function exit(child: ChildProcess): Promise<number | null> {
  return new Promise(resolve => child.once('close', resolve))
}

/** The arguments of each call of a stand-in. */
function calls(tool: 'npm' | 'vite' | 'rolldown'): string[] {
  const log = join(clone, `${tool}.log`)
  return existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []
}

async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!holds()) {
    if (performance.now() > deadline) throw new Error('It did not come true within a minute')
    await delay(20)
  }
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal)
  } catch {
    // It has ended.
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function write(path: string, content: string): void {
  mkdirSync(dirname(join(clone, path)), { recursive: true })
  writeFileSync(join(clone, path), content)
}
