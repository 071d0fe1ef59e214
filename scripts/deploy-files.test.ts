import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SETTINGS } from '../apps/gateway/src/platform/config/settings.ts'
import { gatewayFlags } from './lib/gateway-build.mjs'
import { pinnedNode, root } from './lib/paths.mjs'

/** As systemd counts it, of 10: what a service that is held to nothing has is 9.6. */
const EXPOSURE_MAX = 3
/** Names of `deploy/.env.example` that Compose, and no gateway, reads. */
const OF_COMPOSE =
  /^(COMPOSE_|DOCKER_|GATEWAY_IMAGE|POSTGRES_IMAGE|CADDY_IMAGE|HTTPS?_PORT|(WILDCARD_)?TLS$|\w+_DIR$)/

const read = (path: string) => readFileSync(join(root, path), 'utf8')

describe('what runs a gateway', () => {
  test.each(['deploy/image/Dockerfile', 'deploy/systemd/berth.service'])(
    '%s has the flags of npm start',
    path => {
      const flags = [...read(path).matchAll(/--[a-z-]+=\d+/g)].map(([flag]) => flag)
      expect(flags.filter(flag => !flag.startsWith('--interval'))).toEqual(
        expect.arrayContaining([...gatewayFlags]),
      )
    },
  )

  test('the unit is one that systemd takes, and lets the gateway do little', context => {
    const version = tryRun('systemd-analyze', ['--version'])
    if (version === null) return context.skip('there is no systemd-analyze')
    const folder = mkdtempSync(join(tmpdir(), 'berth-unit-'))
    try {
      const file = join(folder, 'berth.service')
      writeFileSync(
        file,
        read('deploy/systemd/berth.service').replaceAll(/\/opt\/berth\/node_modules\S+node\b/g, pinnedNode),
      )
      expect(tryRun('systemd-analyze', ['verify', '--man=no', file])).toBe('')
      const offline = ['security', '--offline=true', '--json=short', `--threshold=${EXPOSURE_MAX * 10}`, file]
      expect(tryRun('systemd-analyze', offline), 'it may do more than it needs').not.toBeNull()
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('the settings in its example are settings', () => {
    const names = [...read('deploy/.env.example').matchAll(/^#?([A-Z][A-Z0-9_]+)=/gm)].map(
      ([, name = '']) => name,
    )
    const unknown = names.filter(name => !OF_COMPOSE.test(name) && !(name.replace(/_FILE$/, '') in SETTINGS))
    expect(unknown).toEqual([])
  })

  test('each variable of the compose files has a value there, or is in the example', () => {
    const files = read('deploy/compose.yaml') + read('deploy/compose.docker.yaml')
    const example = read('deploy/.env.example')
    const open = [...files.matchAll(/\$\{(\w+)(:[-?])?/g)]
      .filter(([, , how]) => how !== ':-')
      .map(([, name = '']) => name)
    expect(open.filter(name => !new RegExp(`^#?${name}=`, 'm').test(example))).toEqual([])
  })
})

/** @returns What it wrote, to either stream; null where it failed or is not here. */
function tryRun(file: string, words: string[]): string | null {
  try {
    return execFileSync(file, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch {
    return null
  }
}
