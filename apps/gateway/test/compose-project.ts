import { execFile, execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../../../scripts/lib/paths.mjs'

const COMMANDS = [['docker', 'compose'], ['docker-compose']]
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/** The command of Docker Compose that is here; null where there is none. */
export function findCompose(): string[] | null {
  const works = ([file = '', ...words]: string[]) => {
    try {
      execFileSync(file, [...words, 'version'], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  }
  return COMMANDS.find(works) ?? null
}

/** The compose files of `deploy`, as an operator has them, in a folder of a test's own. */
export interface ComposeProject {
  /** Runs Compose there. @returns What it wrote to standard output. @throws Where it fails, with what it said. */
  run(...words: string[]): Promise<string>
  /** A file out of a container. */
  read(service: string, path: string): Promise<Buffer>
  /** Ends and removes all of it, volumes included. */
  remove(): Promise<void>
}

/**
 * @param compose As `findCompose` found it. @param settings Lines of `.env`, over those of its example.
 * @param catalogue The text of the catalogue.
 */
export function createComposeProject(
  compose: readonly string[],
  settings: Readonly<Record<string, string>>,
  catalogue: string,
): ComposeProject {
  const folder = mkdtempSync(join(tmpdir(), 'berth-compose-'))
  const deploy = join(folder, 'deploy')
  for (const part of ['compose.yaml', 'compose.docker.yaml', 'caddy']) {
    cpSync(join(root, 'deploy', part), join(deploy, part), { recursive: true })
  }
  cpSync(join(root, 'config'), join(folder, 'config'), { recursive: true })
  writeFileSync(join(folder, 'config/catalogue.yaml'), catalogue)
  for (const name of ['secrets', 'certificates']) mkdirSync(join(deploy, name))
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
  // The last of two lines with one name counts.
  const example = readFileSync(join(root, 'deploy/.env.example'), 'utf8')
  const names = new Set(Object.keys(settings))
  const kept = example.split('\n').filter(line => !names.has(line.split('=')[0] ?? ''))
  writeFileSync(join(deploy, '.env'), `${kept.join('\n')}\n${lines.join('')}`)
  const [file = '', ...first] = compose
  const execute = promisify(execFile)
  const options = { cwd: deploy, maxBuffer: OUTPUT_BYTES_MAX }

  async function run(...words: string[]): Promise<string> {
    const { stdout } = await execute(file, [...first, ...words], options)
    return stdout
  }

  return {
    run,
    async read(service, path) {
      const [id = ''] = (await run('ps', '-q', service)).trim().split('\n')
      const to = join(folder, 'copied')
      await execute('docker', ['cp', `${id}:${path}`, to], options)
      return readFileSync(to)
    },
    async remove() {
      await run('down', '--volumes', '--timeout', '20')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
